"""An exported folder loads with plain `datasets` at any ratio, holds each row once, and gives the source back."""

from __future__ import annotations

import logging
import re
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from datasets.info import DatasetInfosDict
from huggingface_hub import DatasetCard

import pools
from tamis.dataset_folder import OUR_COLUMNS, Exported, export, filter_cost
from tamis.errors import UsageError
from tamis.hub import cards
from tamis.influence.scores import read_scores, score
from tamis.recipe import STANDARD_RATIOS, ExportRecipe, ScoreRecipe, SelectRecipe
from tamis.selection import cut, portable, read_selection, select

OWN = {"source", "language"}
"""Columns of ours that a pool's own take the place of, for they say the same."""


def values(n: int) -> list[float]:
    """Scores with ties, in no order."""
    return np.random.default_rng(n).choice(np.linspace(-0.9, 0.9, max(n // 2, 2)), n).tolist()


def exported(scores: str, ratio: float = 0.2, rows: int = 1000, **recipe: Any) -> Exported:
    selection = pools.selected(scores, ratio, **recipe)
    return export(ExportRecipe(selection, str(Path(scores).with_name(f"export-{ratio}")), rows))


def load(done: Exported, config: str | None = None, **options: Any) -> datasets.Dataset:
    return datasets.load_dataset(str(done.folder), config, split="train", **options)


def naive(
    scores: str, keep: tuple[str, ...] = (), remove: tuple[str, ...] = (), source: str | None = None
) -> list[str]:
    """The ids of the sieved rows from the one removed last to the one removed first."""
    rows = [row for row in read_scores(scores).table.to_pylist() if source in (None, row["source"])]
    place = {**dict.fromkeys(keep, -1), **dict.fromkeys(remove, 1)}
    return [
        row["row_id"] for row in sorted(rows, key=lambda r: (place.get(r["row_id"], 0), r["score"], r["row_id"]))
    ]


def floor(ratio: str, n: int) -> int:
    return int(Fraction(ratio) * n)


def card(done: Exported) -> tuple[dict[str, Any], str]:
    """The README's YAML and the text below it."""
    _, front, text = (done.folder / "README.md").read_text().split("---\n", 2)
    return yaml.safe_load(front), text


@pytest.mark.parametrize(
    ("n", "excluded"), [(7, ()), (7, (0, 3)), (40, (39,)), (240, ()), (240, (1, 100, 101, 239))]
)
def test_every_standard_config_holds_exactly_the_rows_of_a_naive_sort(
    tmp_path: Path, n: int, excluded: tuple[int, ...]
) -> None:
    scores = pools.scored(tmp_path, values(n), excluded=excluded)
    done, order = exported(scores), naive(scores)
    sieved = len(order)
    assert sieved == n - len(excluded) == done.sieved
    for ratio in STANDARD_RATIOS:
        k = floor(ratio, sieved)
        for config, expected in (
            (f"drop-{ratio[2:]}", order[: sieved - k]),
            (f"removed-{ratio[2:]}", order[sieved - k :]),
        ):
            assert done.configs.get(config, 0) == len(expected)
            if expected:
                assert sorted(load(done, config)["row_id"]) == sorted(expected)
            else:
                with pytest.raises(ValueError, match=f"BuilderConfig '{config}' not found"):
                    load(done, config)
    assert sorted(load(done, "all")["row_id"], key=int) == [str(i) for i in range(n)]
    if excluded:
        unscored = load(done, "unscored")
        assert unscored["row_id"] == [str(i) for i in excluded] and set(unscored["reason"]) == {pools.REASON}
        assert set(unscored["order"]) | set(unscored["score"]) | set(unscored["rank"]) == {None}
    else:
        assert "unscored" not in done.configs


@pytest.mark.parametrize("excluded", [(), (0, 5)])
def test_no_row_is_stored_twice_and_files_are_in_order(tmp_path: Path, excluded: tuple[int, ...]) -> None:
    done = exported(pools.scored(tmp_path, values(90), excluded=excluded), rows=7)
    files = sorted((done.folder / "data").iterdir())
    assert {file.name: file.stat().st_size for file in files} == done.files
    tables = [pq.read_table(file) for file in files]
    assert sum(map(len, tables)) == 90
    assert sorted(int(name) for table in tables for name in table["row_id"].to_pylist()) == list(range(90))
    for table in tables:
        order = table["order"].to_pylist()
        assert order == ([None] * len(order) if None in order else sorted(order))
    assert all(pq.read_metadata(file).row_group(0).num_rows <= 7 for file in files)


@pytest.mark.parametrize(
    ("ratio", "name"),
    [(0.2, "20"), (0.125, "12.5"), (0.33, "33"), (0.05, "05"), (0.2000001, "20.00001"), (1e-05, "00.001")],
)
def test_the_default_config_is_the_ratio_of_the_selection(tmp_path: Path, ratio: float, name: str) -> None:
    scores = pools.scored(tmp_path, values(60))
    done, order = exported(scores, ratio), naive(scores)
    k = floor(str(ratio), 60)
    assert done.default == f"drop-{name}"
    assert load(done)["row_id"][:] == load(done, done.default)["row_id"][:] and len(load(done)) == 60 - k
    assert sorted(load(done)["row_id"]) == sorted(order[: 60 - k])
    assert sorted(load(done, "removed-50")["row_id"]) == sorted(order[30:])
    if k:
        assert sorted(load(done, f"removed-{name}")["row_id"]) == sorted(order[60 - k :])


def test_ratio_one_removes_all_and_ratio_zero_nothing(tmp_path: Path) -> None:
    scores = pools.scored(tmp_path, values(20))
    none, everything = exported(scores, 0.0), exported(scores, 1.0)
    assert none.default == "drop-00" and len(load(none)) == 20 and "removed-00" not in none.configs
    assert everything.default == "drop-100" and "drop-100" not in everything.configs
    assert len(load(everything, "removed-100")) == 20
    assert len(load(everything, "drop-50")) == 10


@pytest.mark.parametrize("streaming", [False, True])
def test_any_ratio_is_a_filter_on_order(tmp_path: Path, streaming: bool) -> None:
    scores = pools.scored(tmp_path, values(120), excluded=(4, 77))
    done, order = exported(scores, rows=10), naive(scores)
    for ratio in ("0.01", "0.33", "0.875"):
        below = 118 - floor(ratio, 118)
        rows = load(
            done, "all", filters=[("order", "<", below)], verification_mode="no_checks", streaming=streaming
        )
        assert sorted(row["row_id"] for row in rows) == sorted(order[:below])


def characters_read() -> int:
    return int(re.findall(r"rchar: (\d+)", Path("/proc/self/io").read_text())[0])


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="Linux counts what a process reads")
def test_a_filter_reads_only_the_row_groups_it_needs(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [{**row, "noise": rng.bytes(500).hex()} for row in pools.records(3000)]
    scores = pools.scored(tmp_path, values(3000), pools.write(tmp_path / "pool.parquet", rows))
    done = exported(scores, rows=100)
    size = sum(done.files.values())
    spent = {}
    for below in (300, 1500, 3000):
        read, total = filter_cost(done.folder, below)
        assert read == pytest.approx(total * below / 3000, rel=0.1) and total == pytest.approx(size, rel=0.2)
        before = characters_read()
        options = {"filters": [("order", "<", below)], "verification_mode": "no_checks"}
        assert len(load(done, "all", cache_dir=str(tmp_path / f"cache-{below}"), **options)) == below
        spent[below] = characters_read() - before - read
    footers_and_cards = spent[300]
    assert footers_and_cards < 0.25 * size
    assert all(other == pytest.approx(footers_and_cards, abs=0.05 * size) for other in spent.values())


def rich(n: int) -> datasets.Dataset:
    """Rows with every kind of column, and with values that are missing."""
    rows = [
        {
            **row,
            "label": i % 3,
            "tokens": [[i, i + 1], []] if i % 4 else None,
            "count": None if i % 5 == 0 else i,
            "weight": i / 7,
            "note": None if i % 2 else f"n{i}",
            "meta": {"url": f"u{i}", "year": None if i % 3 else 2000 + i},
        }
        for i, row in enumerate(pools.records(n))
    ]
    made = datasets.Dataset.from_list(rows)
    return made.cast_column("label", datasets.ClassLabel(names=["x", "y", "z"])).cast_column(
        "count", datasets.Value("int32")
    )


def test_sorting_by_source_index_gives_the_source_back(tmp_path: Path) -> None:
    source = rich(60)
    source.to_parquet(tmp_path / "pool.parquet")
    done = exported(pools.scored(tmp_path, values(60), str(tmp_path / "pool.parquet"), excluded=(0, 31)))
    back = load(done, "all").sort("source_index")
    assert {name: back.features[name] for name in source.features} == dict(source.features)
    assert set(back.column_names) - set(source.column_names) == set(OUR_COLUMNS) - OWN
    assert back.select_columns(source.column_names).to_list() == source.to_list()
    assert back["source_index"][:] == list(range(60)) and back["row_id"][:] == source["id"][:]
    for config in ("drop-20", "removed-20", "unscored"):
        part = load(done, config)
        assert part.features == back.features
        for row in part:
            assert {name: row[name] for name in source.features} == source[row["source_index"]]


def test_our_columns_say_what_the_selection_says(tmp_path: Path) -> None:
    scores = pools.scored(tmp_path, values(50), excluded=(7,))
    done, selection = exported(scores, 0.3), read_selection(pools.selected(scores, 0.3))
    for config, table in (("drop-30", selection.kept), ("removed-30", selection.removed)):
        ours = (
            load(done, config).sort("source_index").select_columns(["row_id", "score", "order", "rank", "reason"])
        )
        assert ours.to_list() == table.select(ours.column_names).to_pylist()
    features = load(done, "all").features
    types = ["string", "float64", "int64", "float64", "int64", "string", "string", "string"]
    assert [features[name] for name in OUR_COLUMNS] == [datasets.Value(kind) for kind in types]


def test_a_source_column_of_our_name_stays_and_ours_is_renamed(tmp_path: Path) -> None:
    taken = ("order", "score", "rank", "reason", "row_id")
    rows = [{**row, **{name: f"{name} {i}" for name in taken}} for i, row in enumerate(pools.records(30))]
    scores = pools.scored(tmp_path, values(30), pools.write(tmp_path / "taken.jsonl", rows), excluded=(3,))
    done = exported(scores)
    assert done.order_column == "tamis_order"
    back = load(done, "all").sort("source_index")
    assert [{name: row[name] for name in taken} for row in back] == [
        {name: row[name] for name in taken} for row in rows
    ]
    assert back["tamis_row_id"][:] == [str(i) for i in range(30)]
    text = card(done)[1]
    assert 'filters=[("tamis_order", "<", ' in text
    assert all(f"`tamis_{name}`" in text for name in taken) and "`source_index`" in text
    below = 29 - floor("0.33", 29)
    rows_below = load(done, "all", filters=[("tamis_order", "<", below)], verification_mode="no_checks")
    assert sorted(rows_below["tamis_row_id"]) == sorted(naive(scores)[:below])


def test_an_export_can_be_sieved_and_exported_again_and_again(tmp_path: Path) -> None:
    file, columns = pools.write(tmp_path / "pool.jsonl", pools.records(40)), 4
    for turn in range(3):
        done = exported(pools.scored(tmp_path / str(turn), values(40), file, split="train"), 0.1)
        back = load(done, "all").sort(done.order_column)
        columns += len(OUR_COLUMNS) - len(OWN)
        assert len(set(back.column_names)) == columns and back[done.order_column][:] == list(range(40))
        file = str(tmp_path / f"again-{turn}.parquet")
        back.to_parquet(file)


@pytest.mark.parametrize("ratio", [0.0, 0.33, 1.0])
def test_subset_and_lists_hold_at_every_ratio(tmp_path: Path, ratio: float) -> None:
    scores = pools.scored(tmp_path, values(90), excluded=(0, 1))
    plain = naive(scores, source="chat")
    keep, remove = tuple(plain[-4:]), tuple(plain[:22:2])
    for name, names in (("keep", keep), ("remove", remove)):
        (tmp_path / f"{name}.txt").write_text("\n".join(names))
    lists = {name: str(tmp_path / f"{name}.txt") for name in ("keep", "remove")}
    done = exported(scores, ratio, source=["chat"], **lists)
    order, n = naive(scores, keep, remove, "chat"), len(plain)
    others = [i for i in map(str, range(2, 90)) if i not in plain]
    for share in sorted({"0.05", "0.35", "0.40", "0.50", str(ratio)}):
        k = min(max(floor(share, n), 11), n - 4)
        name = f"{round(float(share) * 100):02}"
        assert sorted(load(done, f"removed-{name}")["row_id"]) == sorted(order[n - k :])
        assert sorted(load(done, f"drop-{name}")["row_id"]) == sorted([*others, *order[: n - k]])
        filtered = load(done, "all", filters=[("order", "<", n - k)], verification_mode="no_checks")
        assert sorted(filtered["row_id"]) == sorted([*others, *order[: n - k]])
    assert set(load(done, f"drop-{name}").filter(lambda row: row["row_id"] in others)["order"]) == {-1}
    assert sum(pq.read_metadata(file).num_rows for file in (done.folder / "data").iterdir()) == 90
    below = n - min(max(floor("0.33", n), 11), n - 4)
    assert f'filters=[("order", "<", {below})]' in card(done)[1]


@pytest.mark.parametrize(("n", "ratio"), [(7, 1.0), (1, 0.2), (60, 0.125)])
def test_the_card_is_valid_and_loads_without_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, n: int, ratio: float
) -> None:
    done = exported(pools.scored(tmp_path, values(n), excluded=(2,) if n > 2 else ()), ratio)
    front, _ = card(done)
    counted = {}
    for config in front["configs"]:
        paths = [done.folder / path for part in config["data_files"] for path in part["path"]]
        assert len(set(paths)) == len(paths) and all(path.is_file() for path in paths)
        counted[config["config_name"]] = sum(pq.read_metadata(path).num_rows for path in paths)
    assert counted == done.configs and all(counted.values())
    infos = {info["config_name"]: info["splits"][0]["num_examples"] for info in front["dataset_info"]}
    assert infos == counted
    default = [config["config_name"] for config in front["configs"] if config.get("default")]
    assert default == ([done.default] if done.default in counted else [])
    assert front["language"] == sorted({*pools.LANGUAGES[:n]}) and front["size_categories"] == ["n<1K"]
    logging.getLogger("datasets").addHandler(caplog.handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loaded = {config: len(load(done, config)) for config in counted}
    finally:
        logging.getLogger("datasets").removeHandler(caplog.handler)
    assert loaded == counted and not caplog.records
    stored = {path.stem for path in (done.folder / "data").iterdir()}
    assert stored == {
        Path(path).stem for c in front["configs"] for part in c["data_files"] for path in part["path"]
    }


@pytest.mark.parametrize(("n", "ratio"), [(7, 1.0), (7, 0.0), (1, 0.2), (1, 1.0), (200, 0.05)])
def test_the_snippets_of_the_card_run(tmp_path: Path, n: int, ratio: float) -> None:
    scores = pools.scored(tmp_path, values(n))
    done = exported(scores, ratio)
    snippets = re.findall(r"```python\n(.*?)```", card(done)[1], re.DOTALL)
    assert len(snippets) == 2
    space: dict[str, Any] = {}
    for snippet in snippets:
        exec(snippet.replace("path/to/this/folder", str(done.folder)), space)
    assert sorted(space["rows"]["train"]["row_id"]) == sorted(naive(scores)[: n - floor("0.33", n)])
    assert ("gone" in space) == any(name.startswith("removed-") for name in done.configs)
    space["rows"].sort("source_index")


def test_the_card_says_what_was_removed(tmp_path: Path) -> None:
    rows = [{**row, "source": "a|b" if i % 2 else "{c}"} for i, row in enumerate(pools.records(40))]
    scores = pools.scored(tmp_path, values(40), pools.write(tmp_path / "pool.jsonl", rows), excluded=(3, 5))
    done, facts = exported(scores), read_selection(pools.selected(scores, 0.2)).facts
    front, text = card(done)
    assert f"`drop-20` leaves out the 7 highest-scored of 38 sieved rows ({7 / 38:.2%})" in text
    assert facts["digest"] in text and f"| {pools.REASON} | 2 |" in text
    for name, rate in facts["removed_by_source"].items():
        shown = name.replace("|", f"&#{ord('|')};")
        assert f"| {shown} | {rate['rows']} | {rate['removed']} | {rate['rate']:.1%} |" in text
    read, whole = filter_cost(done.folder, 38 - floor("0.33", 38))
    assert f"It reads {read:,} of {whole:,} compressed bytes" in text
    assert front["tags"][0] == "tamis"


def test_the_card_names_every_language_that_is_in_the_folder(tmp_path: Path) -> None:
    done = exported(pools.scored(tmp_path, values(9)), language=["de"])
    assert card(done)[0]["language"] == ["de", "en"]


def test_the_source_is_read_with_its_config_split_and_number_of_rows(tmp_path: Path) -> None:
    for name in ("a", "b"):
        pools.write(tmp_path / "repo" / f"{name}.jsonl", pools.records(30, name))
    configs = [{"config_name": n, "data_files": [{"split": "test", "path": f"{n}.jsonl"}]} for n in ("a", "b")]
    (tmp_path / "repo" / "README.md").write_text(f"---\n{yaml.safe_dump({'configs': configs})}---\n")
    read = {"config": "b", "split": "test", "max_samples": 21}
    done = exported(pools.scored(tmp_path, values(21), str(tmp_path / "repo"), **read))
    back = load(done, "all").sort("source_index")
    assert back["messages"][:] == [row["messages"] for row in pools.records(21, "b")]


def test_the_same_rows_in_another_form_of_file_are_the_same(tmp_path: Path) -> None:
    scores = pools.scored(tmp_path, values(12), pools.write(tmp_path / "pool.parquet", pools.records(12)))
    (tmp_path / "pool.parquet").rename(tmp_path / "moved.parquet")
    pools.write(tmp_path / "pool.jsonl", pools.records(12)[::-1])
    pools.write(tmp_path / "pool.parquet", pools.records(12))
    assert len(load(exported(scores), "all")) == 12


@pytest.mark.parametrize("change", ["text", "order", "fewer", "more"])
def test_source_rows_that_changed_are_refused(tmp_path: Path, change: str) -> None:
    rows = pools.records(12)
    scores = pools.scored(tmp_path, values(12))
    selection = pools.selected(scores, 0.2)
    other = {"text": [*rows[:5], {**rows[5], "messages": rows[6]["messages"]}, *rows[6:]], "order": rows[::-1]}
    other |= {"fewer": rows[:-1], "more": pools.records(13)}
    pools.write(tmp_path / "pool.jsonl", other[change])
    with pytest.raises(UsageError, match=r"pool.jsonl: the rows are no longer those that were scored"):
        export(ExportRecipe(selection, str(tmp_path / "out")))
    assert not (tmp_path / "out").exists()


def test_a_source_or_selection_that_is_missing_is_named(tmp_path: Path) -> None:
    selection = pools.selected(pools.scored(tmp_path, values(12)), 0.2)
    (tmp_path / "pool.jsonl").unlink()
    with pytest.raises(UsageError, match=r"pool.jsonl: there is no such file or folder"):
        export(ExportRecipe(selection, str(tmp_path / "out")))
    with pytest.raises(UsageError, match=r"nowhere: no selection there"):
        export(ExportRecipe(str(tmp_path / "nowhere"), str(tmp_path / "out")))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rows", [0, -1])
def test_row_groups_without_rows_are_refused(tmp_path: Path, rows: int) -> None:
    scores = pools.scored(tmp_path, values(12))
    with pytest.raises(UsageError, match=f"--row_group_rows {rows}: has to be at least 1"):
        exported(scores, rows=rows)


def test_a_rerun_gives_the_same_bytes_and_another_selection_is_refused(tmp_path: Path) -> None:
    scores = pools.scored(tmp_path, values(30), excluded=(3,))
    recipe = ExportRecipe(pools.selected(scores, 0.2), str(tmp_path / "out"))

    def content() -> dict[str, bytes]:
        files = (path for path in (tmp_path / "out").rglob("*") if path.is_file() and path.name != "run.yaml")
        return {str(path.relative_to(tmp_path)): path.read_bytes() for path in files}

    export(recipe)
    before = content()
    (tmp_path / "out" / "README.md").unlink()  # as a run that was stopped leaves it
    rest = next((tmp_path / "out" / "data").glob("rest-*.parquet"))
    rest.with_name(f".{rest.name}.partial").write_bytes(b"half")
    export(recipe)
    assert content() == before
    for other in (
        ExportRecipe(pools.selected(scores, 0.3), recipe.output_dir),
        ExportRecipe(recipe.selection, recipe.output_dir, 9),
    ):
        with pytest.raises(UsageError, match="out: holds something else"):
            export(other)
    assert content() == before


@pytest.mark.parametrize(
    ("recipe", "sets", "words"),
    [
        ({}, 1, "set of 1 row\n(cosine, mean over targets)."),
        ({"aggregate": "max"}, 1, "(cosine, the nearest target)."),
        (
            {"aggregate": "topk", "topk": 1, "contrast": "target"},
            1,
            "(cosine, mean of the 1 nearest targets, minus the same over 1 safe rows).",
        ),
        ({"weight": [1, 2]}, 2, "(cosine, mean over targets, over 2 weighted target sets)."),
    ],
)
def test_the_card_says_what_the_score_is_and_the_sets_columns_stay_out(
    tmp_path: Path, recipe: dict[str, Any], sets: int, words: str
) -> None:
    pools.scored(tmp_path, values(20))
    index, target, scores = (str(tmp_path / name) for name in ("index", "target", "again"))
    recipe = {**recipe, **({"contrast": target} if "contrast" in recipe else {})}
    score(ScoreRecipe(index, [target] * sets, scores, **recipe))
    done = exported(scores)
    assert words in card(done)[1]
    assert not [name for name in load(done, "all").column_names if name.startswith("score_")]


def test_two_folders_of_one_name_load_their_own_rows(tmp_path: Path) -> None:
    """`datasets` tells their caches apart by the cards alone: with no digest in them, the second is the first."""
    scores = pools.scored(tmp_path, values(40))
    highest = naive(scores)[-2:]
    for name in highest:
        (tmp_path / "keep.txt").write_text(name)
        folder = tmp_path / name
        select(SelectRecipe(scores, str(folder / "cut"), ratio=0.05, keep=str(tmp_path / "keep.txt")))
        export(ExportRecipe(str(folder / "cut"), str(folder / "dataset")))
    removed = [
        datasets.load_dataset(str(tmp_path / name / "dataset"), "removed-05", split="train")["row_id"][:]
        for name in highest
    ]
    assert highest[0] in removed[1] and highest[0] not in removed[0]
    assert highest[1] in removed[0] and highest[1] not in removed[1]
    paths = [{path.name for path in (tmp_path / name / "dataset" / "data").iterdir()} for name in highest]
    assert not paths[0] & paths[1]


# Sources and languages


def test_a_source_and_a_language_that_the_rows_lack_are_added(tmp_path: Path) -> None:
    rows = [{name: row[name] for name in ("id", "messages")} for row in pools.records(9)]
    done = exported(pools.scored(tmp_path, values(9), pools.write(tmp_path / "pool.jsonl", rows)))
    back = load(done, "all")
    assert {*back["source"]} == {"pool"} and {*back["language"]} == {"en"}
    assert set(back.column_names) - {"id", "messages"} == set(OUR_COLUMNS)


def test_a_column_that_says_something_else_stays_beside_ours(tmp_path: Path) -> None:
    rows = pools.records(9)
    rows[4]["source"] = ""  # tamis takes the data set's own name for it
    rows[5]["language"] = ""
    done = exported(pools.scored(tmp_path, values(9), pools.write(tmp_path / "pool.jsonl", rows)))
    back = load(done, "all").sort("source_index")
    assert back["source"][:] == [row["source"] for row in rows] and back["language"][5] == ""
    assert back["tamis_source"][:] == ["pool" if i == 4 else row["source"] for i, row in enumerate(rows)]
    assert back["tamis_language"][5] == "en"
    columns = card(done)[0]["tamis"]["columns"]
    assert (columns["source"], columns["language"]) == ("tamis_source", "tamis_language")


def test_a_class_label_is_not_the_text_of_a_source(tmp_path: Path) -> None:
    rows = datasets.Dataset.from_list(pools.records(9))
    labels = datasets.ClassLabel(names=sorted({*rows["source"]}))
    rows.map(lambda row: {"source": labels.str2int(row["source"])}).cast_column("source", labels).to_parquet(
        tmp_path / "pool.parquet"
    )
    done = exported(pools.scored(tmp_path, values(9), str(tmp_path / "pool.parquet")))
    back = load(done, "all")
    assert back["tamis_source"][:] == [str(label) for label in back["source"]]


def test_rows_without_a_score_have_a_source_too(tmp_path: Path) -> None:
    rows = [{name: row[name] for name in ("id", "messages", "source")} for row in pools.records(9)]
    scores = pools.scored(tmp_path, values(9), pools.write(tmp_path / "pool.jsonl", rows), excluded=(2,))
    (row,) = load(exported(scores), "unscored").to_list()
    (known,) = read_selection(pools.selected(scores, 0.2)).excluded.to_pylist()
    assert (row["source"], row["language"]) == (known["source"], known["language"]) == ("code", "en")


# Without the removed rows


@pytest.mark.parametrize(
    ("ratio", "configs"),
    [
        (0.2, ["drop-20", "drop-25", "drop-30", "drop-35", "drop-40", "drop-45", "drop-50", "unscored"]),
        (0.42, ["drop-42", "drop-45", "drop-50", "unscored"]),
        (0.75, ["drop-75", "unscored"]),
    ],
)
def test_removed_rows_are_left_out_of_every_file(tmp_path: Path, ratio: float, configs: list[str]) -> None:
    scores = pools.scored(tmp_path, values(62), excluded=(3, 5))
    done = export(ExportRecipe(pools.selected(scores, ratio), str(tmp_path / "out"), leave_out_removed=True))
    order = naive(scores)
    kept = order[: 60 - floor(str(ratio), 60)]
    assert [*done.configs] == configs and sorted(load(done)["row_id"]) == sorted(kept)
    for config in configs[:-1]:
        k = floor(f"0.{config[-2:]}", 60)
        assert sorted(load(done, config)["row_id"]) == sorted(order[: 60 - k])
    tables = [pq.read_table(file)["row_id"] for file in (done.folder / "data").iterdir()]
    stored = [row_id for table in tables for row_id in table.to_pylist()]
    assert sorted(stored) == sorted([*kept, "3", "5"]) and done.facts["rows"] == len(stored)
    text = card(done)[1]
    assert "are not in this data set" in text and not re.search(r"`(removed-|all)", text)
    space: dict[str, Any] = {}
    for snippet in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(snippet.replace("path/to/this/folder", str(done.folder)), space)
    assert 0 < len(space["rows"]["train"]) < len(kept) and "gone" not in space


def test_nothing_to_write_is_refused(tmp_path: Path) -> None:
    selection = pools.selected(pools.scored(tmp_path, values(9)), 1.0)
    with pytest.raises(UsageError, match="removes every row, so --leave_out_removed leaves nothing to write"):
        export(ExportRecipe(selection, str(tmp_path / "out"), leave_out_removed=True))
    assert not (tmp_path / "out").exists()


def test_a_folder_with_the_removed_rows_does_not_become_one_without(tmp_path: Path) -> None:
    selection = pools.selected(pools.scored(tmp_path, values(20)), 0.2)
    export(ExportRecipe(selection, str(tmp_path / "out")))
    with pytest.raises(UsageError, match="out: holds something else"):
        export(ExportRecipe(selection, str(tmp_path / "out"), leave_out_removed=True))


# The card


def test_the_card_holds_what_makes_the_selection_again_and_no_path_or_text(tmp_path: Path) -> None:
    file = pools.write(tmp_path / "pool.jsonl", pools.records(60, "SECRETWORD"))
    scores = pools.scored(tmp_path, values(60), file, excluded=(7,))
    (tmp_path / "keep.txt").write_text("\n".join(naive(scores, source="chat")[-2:]))
    done = exported(scores, 0.3, source=["chat"], keep=str(tmp_path / "keep.txt"))
    facts = read_selection(pools.selected(scores, 0.3, source=["chat"], keep=str(tmp_path / "keep.txt"))).facts
    block = card(done)[0]["tamis"]
    assert block == {
        **portable(facts),
        **{name: facts[name] for name in ("rows_sieved", "named_by_keep", "named_by_remove")},
        "columns": {name: name for name in OUR_COLUMNS},
    }
    assert block["recipe"]["source"] == ["chat"] and block["named_by_keep"] == 2
    text = (done.folder / "README.md").read_text()
    assert str(tmp_path) not in text and "SECRETWORD" not in text
    rows = load(done, "all")
    n, named = block["rows_sieved"], {name: block[f"named_by_{name}"] for name in ("keep", "remove")}
    first = n - cut(block["recipe"]["ratio"], n, **named)
    gone = [row["row_id"] for row in rows if row[block["columns"]["order"]] is not None and row["order"] >= first]
    assert sorted(gone) == sorted(load(done, "removed-30")["row_id"])


def test_the_card_says_the_columns_and_sizes_that_the_files_have(tmp_path: Path) -> None:
    rich(60).to_parquet(tmp_path / "pool.parquet")
    done = exported(pools.scored(tmp_path, values(60), str(tmp_path / "pool.parquet"), excluded=(0,)), rows=7)
    infos = DatasetInfosDict.from_dataset_card_data(DatasetCard.load(done.folder / "README.md").data)
    for config in card(done)[0]["configs"]:
        info, files = (
            infos[config["config_name"]],
            [done.folder / path for path in config["data_files"][0]["path"]],
        )
        footers = [pq.read_metadata(file) for file in files]
        size = sum(footer.row_group(i).total_byte_size for footer in footers for i in range(footer.num_row_groups))
        assert info.splits["train"].num_examples == sum(footer.num_rows for footer in footers)
        assert info.dataset_size == info.splits["train"].num_bytes == size
        assert info.download_size == sum(file.stat().st_size for file in files)
        for file in files:
            assert info.features == datasets.Features.from_arrow_schema(pq.read_schema(file))
    assert load(done, "drop-10", columns=["row_id", "label"]).features["label"].names == ["x", "y", "z"]


HUMAN = {
    "pretty_name": "A | name",
    "summary": "What it is.",
    "license": "cc-by-nc-4.0",
    "sources": [{"name": "theirs", "url": "https://example.org", "license": "cc-by-nc-4.0"}],
    "language": "fr",
    "task_categories": "text-generation",
    "tags": ["mine", "tamis"],
    "citation": "@misc{a}",
    "contact": "somebody",
    "extra_gated_prompt": "Say who you are.\n---\n",
    "not_established": ["That it rains."],
    "benchmark": {
        "name": "n",
        "description": "d",
        "evaluation_framework": "inspect-ai",
        "tasks": [{"id": "t", "config": "removed-20", "split": "train"}],
    },
}


def with_card(tmp_path: Path, **human: Any) -> Exported:
    (tmp_path / "card.yaml").write_text(yaml.safe_dump(human))
    selection = pools.selected(pools.scored(tmp_path, values(20)), 0.2)
    return export(ExportRecipe(selection, str(tmp_path / "out"), card=str(tmp_path / "card.yaml")))


def test_what_people_know_stands_in_the_card(tmp_path: Path) -> None:
    done = with_card(tmp_path, **HUMAN)
    front, text = card(done)
    assert [*front][:3] == ["pretty_name", "license", "language"] and front["language"] == ["fr"]
    assert front["license"] == "cc-by-nc-4.0" and front["task_categories"] == ["text-generation"]
    assert front["extra_gated_prompt"] == HUMAN["extra_gated_prompt"]
    assert front["tags"] == ["tamis", "data-filtering", "gradient-attribution", "mine"]
    for words in ("What it is.", "[theirs](https://example.org)", "@misc{a}", "somebody", "- That it rains."):
        assert words in text
    assert "# A &#124; name" in text and "benchmark" not in front
    assert yaml.safe_load((done.folder / "eval.yaml").read_text()) == HUMAN["benchmark"]
    assert len(load(done)) == 16


def test_another_card_goes_over_the_same_rows(tmp_path: Path) -> None:
    with_card(tmp_path, **HUMAN)
    front, text = card(with_card(tmp_path, license="mit"))
    assert front["license"] == "mit" and "What it is." not in text
    assert not (tmp_path / "out" / "eval.yaml").exists(), "a benchmark no longer"


def test_without_a_card_yaml_no_licence_is_made_up(tmp_path: Path) -> None:
    front, text = card(exported(pools.scored(tmp_path, values(9))))
    assert not {"license", "pretty_name", "task_categories"} & {*front} and "No licence is stated" in text


@pytest.mark.parametrize(
    ("human", "words"),
    [
        ({"licence": "mit"}, r"card.yaml: unknown key 'licence'; valid: pretty_name, "),
        ({**HUMAN, "license": "mit"}, r"card.yaml: license: mit, but the source theirs is cc-by-nc-4.0"),
        (
            {"benchmark": {**HUMAN["benchmark"], "tasks": [{"id": "t", "config": "test", "split": "train"}]}},
            r"card.yaml: benchmark: no config 'test' with a split 'train'; there are all, drop-05",
        ),
    ],
)
def test_a_card_yaml_that_cannot_be_true_writes_nothing(tmp_path: Path, human: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        with_card(tmp_path, **human)
    assert not (tmp_path / "out").exists()


def test_a_selection_of_an_earlier_version_is_named(tmp_path: Path) -> None:
    selection = pools.selected(pools.scored(tmp_path, values(9)), 0.2)
    facts = yaml.safe_load((Path(selection) / "selection.yaml").read_text())
    del facts["scores"]["index"]
    (Path(selection) / "selection.yaml").write_text(yaml.safe_dump(facts))
    with pytest.raises(UsageError, match=r"its selection.yaml does not say 'index'; score and select again"):
        export(ExportRecipe(selection, str(tmp_path / "out")))


def test_a_data_set_of_the_hub_is_named_as_the_source_and_a_language_of_no_code_is_not(tmp_path: Path) -> None:
    rows = [{**row, "language": "English" if i % 2 else "en"} for i, row in enumerate(pools.records(9))]
    front, _ = card(exported(pools.scored(tmp_path, values(9), pools.write(tmp_path / "pool.jsonl", rows))))
    assert front["language"] == ["en"] and "source_datasets" not in front
    facts = cards.source_facts({"dataset_name": "allenai/tulu-3-sft-mixture", "dataset_split": "train"})
    assert facts == {"name": "allenai/tulu-3-sft-mixture", "id": "allenai/tulu-3-sft-mixture", "split": "train"}
