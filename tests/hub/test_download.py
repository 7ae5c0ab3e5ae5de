"""What is downloaded is what `tamis select` and `tamis export` would have left: same rows, same columns."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest

import pools
from tamis.dataset_folder import export
from tamis.errors import UsageError, WorkError
from tamis.hub.bundle import gather
from tamis.hub.configs import merged
from tamis.hub.download import Downloaded, download
from tamis.hub.front_matter import join, split
from tamis.permalink import read
from tamis.recipe import DownloadRecipe, ExportRecipe, SelectRecipe
from tamis.selection import Selection, read_selection, select

N, LEFT_OUT = 120, (4, 77)
KEEP, REMOVE = ("0", "3", "8", "30", "31"), ("1", "2", "6", "9")
RATIOS = (0.0, 0.13, 0.29, 0.5, 0.99, 1.0)
Subset = dict[str, list[str]]
SUBSETS: dict[str, Subset] = {
    "all": {},
    "one": {"source": ["maths"]},
    "two": {"source": ["code", "maths"]},
    "language": {"language": ["de"]},
    "both": {"source": ["chat"], "language": ["en"]},
}


@dataclass(frozen=True)
class Made:
    """Scores with ties, and what was published of them; with lists of ids to keep and to remove, or none."""

    folder: Path
    lists: bool

    @property
    def published(self) -> Path:
        return self.folder / "published"

    def selection(self, ratio: float, subset: Subset) -> Selection:
        """A selection of the same scores, made anew."""
        lists = {}
        if self.lists:  # a row outside the subset cannot be removed by name
            known = {row["id"]: row for row in pools.records(N)}
            inside = [one for one in REMOVE if all(known[one][key] in names for key, names in subset.items())]
            lists = {"keep": ids(self.folder / "keep.txt", KEEP), "remove": ids(self.folder / "in.txt", inside)}
        out = self.folder / f"selection-{len([*self.folder.iterdir()])}"
        return select(SelectRecipe(str(self.folder / "scores"), str(out), ratio, **subset, **lists))

    def left(self, ratio: float, subset: Subset) -> list[dict[str, Any]]:
        """The published rows that it leaves of the subset, with the order, rank and reason that it gives them."""
        kept = {row["row_id"]: row for row in self.selection(ratio, subset).kept.to_pylist()}
        rows = [row for row in rows_of(self.published) if row["row_id"] in kept]
        rows = [{**row, **{key: kept[row["row_id"]][key] for key in ("order", "rank", "reason")}} for row in rows]
        return [row for row in rows if not subset or row["order"] >= 0]


def ids(path: Path, names: Any) -> str:
    path.write_text("\n".join(names))
    return str(path)


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """All rows of a data set folder, in the order of their source."""
    rows = [row for file in sorted((folder / "data").iterdir()) for row in pq.read_table(file).to_pylist()]
    return sorted(rows, key=lambda row: row["source_index"])


def published(folder: Path, lists: bool = False, ratio: float = 0.2, rows: int = 7, **more: Any) -> Made:
    values = np.random.default_rng(1).choice(np.linspace(-0.9, 0.9, N // 3), N).tolist()
    scores = pools.scored(folder, values, excluded=LEFT_OUT)
    if lists:
        more |= {"keep": ids(folder / "keep.txt", KEEP), "remove": ids(folder / "remove.txt", REMOVE)}
    export(ExportRecipe(pools.selected(scores, ratio, **more), str(folder / "published"), rows))
    return Made(folder, lists)


def take(folder: Path, out: Path, ratio: float, **subset: Any) -> Downloaded:
    return download(DownloadRecipe(str(folder), str(out), ratio, **subset))


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "lists"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    return published(tmp_path_factory.mktemp("made"), request.param)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return published(tmp_path_factory.mktemp("plain"))


@pytest.mark.parametrize("subset", SUBSETS)
@pytest.mark.parametrize("ratio", RATIOS)
def test_the_rows_are_those_of_a_selection(made: Made, ratio: float, subset: str, tmp_path: Path) -> None:
    chosen, out = SUBSETS[subset], tmp_path / "out"
    wanted = made.left(ratio, chosen)
    if not wanted:
        with pytest.raises(UsageError, match=rf"--ratio {ratio}: leaves no row of"):
            take(made.published, out, ratio, **chosen)
        assert not out.exists()
        return
    done = take(made.published, out, ratio, **chosen)
    assert rows_of(out) == wanted
    assert done.rows == len(wanted) == done.sieved - done.removed


@pytest.mark.parametrize("subset", ["all", "one"])
def test_it_loads_as_what_export_makes_of_that_selection_loads(made: Made, subset: str, tmp_path: Path) -> None:
    made.selection(0.13, SUBSETS[subset])
    newest = max(made.folder.glob("selection-*"), key=lambda path: path.stat().st_mtime_ns)
    again = export(ExportRecipe(str(newest), str(tmp_path / "again")))
    take(made.published, tmp_path / "out", 0.13, **SUBSETS[subset])
    found = datasets.load_dataset(str(tmp_path / "out"), split="train")
    wanted = datasets.load_dataset(str(again.folder), again.default, split="train")
    if subset != "all":
        wanted = wanted.filter(lambda row: row["order"] >= 0)
    assert found.features == wanted.features
    assert found.sort("source_index").to_list() == wanted.sort("source_index").to_list()


@pytest.mark.parametrize("config", ["drop-05", "drop-20", "drop-50"])
def test_a_standard_ratio_is_its_config(plain: Made, config: str, tmp_path: Path) -> None:
    take(plain.published, tmp_path / "out", float(f"0.{config[-2:]}"))
    found = datasets.load_dataset(str(tmp_path / "out"), split="train")
    wanted = datasets.load_dataset(str(plain.published), config, split="train")
    assert found.remove_columns("reason").to_list() == wanted.remove_columns("reason").to_list()
    if config == "drop-20":
        assert found.to_list() == wanted.to_list()


def test_rows_that_were_not_sieved_are_kept_and_cannot_be_cut(tmp_path: Path) -> None:
    made = published(tmp_path, source=["maths", "code"])
    subset = {"source": ["maths", "code"]}
    take(made.published, tmp_path / "out", 0.29)
    kept = {row["row_id"]: row for row in made.selection(0.29, subset).kept.to_pylist()}
    assert {row["row_id"]: row["order"] for row in rows_of(tmp_path / "out")} == {
        name: row["order"] for name, row in kept.items()
    }
    assert {row["reason"] for row in rows_of(tmp_path / "out") if row["source"] == "chat"} == {
        "outside the subset"
    }
    take(made.published, tmp_path / "part", 0.29, source=["maths"])
    assert rows_of(tmp_path / "part") == made.left(0.29, {"source": ["maths"]})
    with pytest.raises(UsageError, match=r"published: \d+ rows of this part were not sieved there"):
        take(made.published, tmp_path / "none", 0.29, source=["chat"])
    with pytest.raises(UsageError, match=r"published: \d+ rows of this part were not sieved there"):
        take(made.published, tmp_path / "none", 0.29, language=["en"])
    take(made.published, tmp_path / "nothing", 1.0)  # of the sieved rows
    assert {row["source"] for row in rows_of(tmp_path / "nothing")} == {"chat"}
    assert not (tmp_path / "none").exists()


def test_without_the_removed_rows_only_higher_ratios_can_be_had(tmp_path: Path) -> None:
    made = published(tmp_path)
    folder = tmp_path / "only-kept"
    export(ExportRecipe(str(tmp_path / "selection-0.2"), str(folder), leave_out_removed=True))
    for ratio in (0.2, 0.29):
        take(folder, tmp_path / f"out-{ratio}", ratio)
        assert rows_of(tmp_path / f"out-{ratio}") == made.left(ratio, {})
    with pytest.raises(
        UsageError, match=r"only-kept: does not hold each of the \d+ sieved rows that this ratio leaves"
    ):
        take(folder, tmp_path / "out", 0.19)
    assert not (tmp_path / "out").exists()
    with pytest.raises(UsageError, match="only-kept: does not hold each sieved row once"):
        take(folder, tmp_path / "part", 0.3, source=["maths"])


def test_a_file_that_is_lost_is_noticed(plain: Made, tmp_path: Path) -> None:
    folder = changed(plain, tmp_path, _without("top-30-35"))
    with pytest.raises(UsageError, match="does not hold each of the"):
        take(folder, tmp_path / "out", 0.13)
    with pytest.raises(UsageError, match="does not hold each sieved row once"):
        take(folder, tmp_path / "part", 0.13, source=["maths"])
    assert not [*tmp_path.glob("*/data/kept*")] and not [*tmp_path.glob("*/data/.*")]
    assert not (tmp_path / "out/README.md").exists()


def test_columns_of_the_same_names_stay_the_sources_own(tmp_path: Path) -> None:
    names = ("order", "rank", "reason")
    records = [{**row, **{name: f"{name} {i}" for name in names}} for i, row in enumerate(pools.records(40))]
    file = pools.write(tmp_path / "pool.parquet", records)
    scores = pools.scored(tmp_path, np.linspace(-0.9, 0.9, 40).tolist(), file)
    folder = export(ExportRecipe(pools.selected(scores, 0.2), str(tmp_path / "published"))).folder
    take(folder, tmp_path / "out", 0.5, source=["maths"])
    for row in rows_of(tmp_path / "out"):
        assert [row[name] for name in names] == [f"{name} {row['row_id']}" for name in names]
        assert row["tamis_reason"] == "below the 7 highest scores of 14" and row["tamis_order"] < 7


@pytest.mark.parametrize("subset", SUBSETS)
def test_its_card_is_a_recipe_that_selects_the_same_rows(made: Made, subset: str, tmp_path: Path) -> None:
    chosen = SUBSETS[subset]
    done = take(made.published, tmp_path / "out", 0.13, **chosen)
    block = read(str(tmp_path / "out"))
    facts = made.selection(0.13, chosen).facts
    assert block["recipe"]["ratio"] == 0.13 and block["scores"] == facts["scores"]["digest"]
    if chosen and made.lists:
        assert "selection" not in block
        return
    assert block["selection"] == facts["digest"] and read(f"?{done.link}") == block
    lists = {"keep": str(made.folder / "keep.txt"), "remove": str(made.folder / "in.txt")} if made.lists else {}
    again = SelectRecipe(
        str(made.folder / "scores"), str(tmp_path / "s"), 0.13, recipe=done.link, **chosen, **lists
    )
    select(again)
    kept = {row["row_id"] for row in read_selection(tmp_path / "s").kept.to_pylist() if row["order"] >= 0}
    assert kept == {row["row_id"] for row in rows_of(tmp_path / "out")}


def test_what_was_downloaded_says_where_from_and_holds_too_little_to_download_from(
    plain: Made, tmp_path: Path
) -> None:
    done = take(plain.published, tmp_path / "out", 0.13)
    metadata, body = split((tmp_path / "out/README.md").read_text())
    block = metadata["tamis"]
    assert block["downloaded_from"] == {"repo": "published"} and str(tmp_path) not in body
    assert (block["rows"], block["rows_sieved"], block["rows_removed"]) == (done.rows, done.sieved, done.removed)
    with pytest.raises(UsageError, match="out: its card does not say what it takes"):
        take(tmp_path / "out", tmp_path / "again", 0.2)


def test_the_licence_travels(plain: Made, tmp_path: Path) -> None:
    folder = changed(plain, tmp_path, lambda card: card | {"license": "odc-by", "license_name": ["not text"]})
    take(folder, tmp_path / "out", 0.13)
    assert split((tmp_path / "out/README.md").read_text())[0]["license"] == "odc-by"


def test_the_same_again_is_the_same_and_another_cut_needs_another_folder(plain: Made, tmp_path: Path) -> None:
    take(plain.published, tmp_path / "out", 0.13)
    before = pools.contents(tmp_path / "out")
    take(plain.published, tmp_path / "out", 0.13)
    assert pools.contents(tmp_path / "out") == before
    with pytest.raises(UsageError, match="holds something else"):
        take(plain.published, tmp_path / "out", 0.14)
    assert pools.contents(tmp_path / "out") == before


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"source": ["poems"]}, "--source poems: no such source in .*; there are chat, code, maths"),
        ({"language": ["en", "fr"]}, "--language fr: no such language in .*; there are de, en"),
        ({"revision": "main"}, "--revision main: goes with a data set on the Hub"),
    ],
)
def test_what_is_not_there_is_named(plain: Made, asked: dict[str, Any], named: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=named):
        take(plain.published, tmp_path / "out", 0.13, **asked)
    assert not (tmp_path / "out").exists()


Change = Callable[[dict[str, Any]], Any]


def changed(made: Made, to: Path, change: Change) -> Path:
    """The published folder with another front matter; its files are beside it, too."""
    metadata, body = split((made.published / "README.md").read_text())
    folder = to / "changed"
    (folder / "data").mkdir(parents=True)
    for file in (made.published / "data").iterdir():
        for where in (folder / "data", to):
            (where / file.name).write_bytes(file.read_bytes())
    (folder / "README.md").write_text(join(change(metadata), body))
    return folder


def _block(**values: Any) -> Change:
    return lambda card: card | {"tamis": card["tamis"] | values}


def _path(change: Callable[[str], Any]) -> Change:
    def call(card: dict[str, Any]) -> dict[str, Any]:
        for config in card["configs"]:
            first = config["data_files"][0]
            first["path"] = [change(path) for path in first["path"]]
        return card

    return call


def _without(name: str) -> Change:
    def call(card: dict[str, Any]) -> dict[str, Any]:
        for config in card["configs"]:
            first = config["data_files"][0]
            first["path"] = [path for path in first["path"] if name not in path]
        return card

    return call


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda card: {"license": "mit"}, "no tamis block"),
        (_block(columns=["order"]), "no tamis block with columns"),
        (_block(columns={}), "does not say order"),
        (_block(rows_sieved="many"), "does not say rows_sieved"),
        (_block(recipe=None), "holds no recipe"),
        (_block(scores="../x"), "the link's scores '../x' is not one"),
        (_block(recipe={"ratio": 0.2, "run": "rm"}), "unknown key 'run'"),
        (_block(rows_sieved=2 * N), "does not hold each of the"),
        (_path(lambda path: f"../{Path(path).name}"), "its configs list no file in data"),
        (_path(lambda path: "/etc/passwd"), "its configs list no file in data"),
        (_path(lambda path: "data/*.parquet"), r"there is no data/\*.parquet"),
        (_path(lambda path: "data/.."), "there is no data/.."),
        (_path(lambda path: "data/x"), "there is no data/x"),
        (_path(lambda path: 3), "its card does not say what it takes"),
        (lambda card: card | {"configs": [{"config_name": "all"}]}, "its card does not say what it takes"),
        (lambda card: card | {"configs": 3}, "its card does not say what it takes"),
    ],
)
def test_a_card_of_anybody_is_followed_only_where_it_makes_sense(
    plain: Made, change: Change, named: str, tmp_path: Path
) -> None:
    with pytest.raises((UsageError, WorkError), match=named):
        take(changed(plain, tmp_path, change), tmp_path / "out", 0.13)
    assert not [*tmp_path.glob("out/data/*")]


def test_a_file_that_is_no_parquet_is_named(plain: Made, tmp_path: Path) -> None:
    folder = changed(plain, tmp_path, lambda card: card)
    (torn,) = folder.glob("data/rest-*")
    torn.write_bytes(torn.read_bytes()[:-9])
    with pytest.raises(WorkError, match=f"{torn.name} is no Parquet file"):
        take(folder, tmp_path / "out", 0.13)


def test_a_demo_stays_one(plain: Made, tmp_path: Path) -> None:
    take(changed(plain, tmp_path, _block(limits=["the demo's rows"])), tmp_path / "out", 0.13)
    assert split((tmp_path / "out/README.md").read_text())[0]["tamis"]["limits"] == ["the demo's rows"]
    assert gather(tmp_path / "out", "dataset", "me/data").limits == ["the demo's rows"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set with a selection of its own, and two variants."""
    folder = tmp_path_factory.mktemp("shared")
    made = published(folder)
    cards = []
    for variant, ratio in ((None, 0.2), ("strict", 0.5), ("drop", 0.35)):
        done = pools.selected(
            str(folder / "scores"), ratio, **({"source": ["code"]} if variant == "strict" else {})
        )
        place = export(ExportRecipe(done, str(folder / f"v-{variant}"), variant=variant)).folder
        shutil.copytree(place / "data", folder / "all/data", dirs_exist_ok=True)
        cards.append(((place / "README.md").read_text(), f"data/{variant}" if variant else "data"))
    card = cards[0][0]
    for new, place_ in cards[1:]:
        card = merged(new, card, {place_})
    (folder / "all/README.md").write_text(card)
    assert made.published.is_dir()
    return folder


@pytest.mark.parametrize("ratio", [0.13, 0.5])
def test_variants_are_downloaded_by_name(shared: Path, ratio: float, tmp_path: Path) -> None:
    for variant in (None, "strict", "drop"):
        one, other = tmp_path / f"{variant}-one", tmp_path / f"{variant}-other"
        flags = {"variant": variant} if variant else {}
        done = take(shared / "all", one, ratio, **flags)
        take(shared / f"v-{variant}", other, ratio, **flags)
        assert rows_of(one) == rows_of(other)
        assert split((one / "README.md").read_text())[0]["tamis"]["downloaded_from"].get("variant") == variant
        name = f"{shared / 'all'}#{variant}" if variant else str(shared / "all")
        assert read(name)["recipe"].get("source") == (["code"] if variant == "strict" else None)
        assert done.sieved == (39 if variant == "strict" else 118)


def test_a_variant_has_to_be_there(shared: Path, tmp_path: Path) -> None:
    for folder, flags, named in (
        ("all", {"variant": "none"}, "it holds no variant 'none', but drop, strict"),
        ("v-None", {"variant": "strict"}, "it holds no variant 'strict', but none"),
        ("v-strict", {}, "it holds the variants strict; name one"),
    ):
        with pytest.raises(UsageError, match=named):
            take(shared / folder, tmp_path / "out", 0.5, **flags)
        with pytest.raises(UsageError, match=named):
            read(f"{shared / folder}{''.join(f'#{one}' for one in flags.values())}")


def test_a_column_that_is_not_there_is_named(plain: Made, tmp_path: Path) -> None:
    names = split((plain.published / "README.md").read_text())[0]["tamis"]["columns"]
    folder = changed(plain, tmp_path, _block(columns=names | {"order": "place"}))
    with pytest.raises(WorkError, match="has no column place, of which its card speaks"):
        take(folder, tmp_path / "out", 0.13)
