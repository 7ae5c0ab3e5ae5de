"""The report says what the selection's files say, is whole by itself, and trusts no name."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import pools
from tamis import cli
from tamis.errors import UsageError
from tamis.metrics.intervals import wilson
from tamis.metrics.ranking import auroc
from tamis.recipe import ReportRecipe
from tamis.report import LARGEST, PAGE, Reported, write_report
from tamis.rows import read_rows
from tamis.selection import OUTSIDE, read_selection

VOID = {"meta", "source", "img", "br"}
PNG = b"\x89PNG\r\n\x1a\n"


class Page(HTMLParser):
    """A page's tables, texts by id, images and attributes; fails where a tag is not closed in its order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.raw = text
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.by_id: dict[str, str] = {}
        self._ids: list[tuple[int, str]] = []
        self._table = ""
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.attributes += given.items()
        if tag not in VOID:
            self.open.append(tag)
        if "id" in given:
            assert given["id"] not in self.by_id, "an id stands twice"
            self.by_id[given["id"]] = ""
            self._ids.append((len(self.open), given["id"]))
        if tag == "table":
            self._table = given["id"]
            self.tables[self._table] = []
        elif tag == "tr":
            self.tables[self._table].append([])
        elif tag in ("td", "th"):
            self.tables[self._table][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"
        self._ids = [(depth, name) for depth, name in self._ids if depth <= len(self.open)]

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.text += data
        for _, name in self._ids:
            self.by_id[name] += data
        if "td" in self.open or ("th" in self.open and "tr" in self.open):
            self.tables[self._table][-1][-1] += data

    def rows(self, table: str) -> list[list[str]]:
        """The cells of a table's body."""
        return [[cell.strip() for cell in row] for row in self.tables[table][1:]]

    @property
    def gaps(self) -> str:
        return self.by_id.get("gaps", "")


def values(n: int) -> list[float]:
    return np.random.default_rng(n).permutation(np.linspace(-0.8, 0.9, n)).tolist()


def reported(selection: str, *, with_index: bool = True, name: str = "report") -> tuple[Reported, Page]:
    folder = Path(selection).parent
    index = str(folder / "index") if with_index else None
    done = write_report(ReportRecipe(selection, str(folder / name), index))
    return done, Page((done.folder / PAGE).read_text(encoding="utf-8"))


def named(tmp_path: Path, sources: Sequence[str], languages: Sequence[str] = ("en",), **scored: Any) -> str:
    """Scores of rows with these sources and languages, one each."""
    rows = [
        {**row, "source": source, "language": languages[i % len(languages)]}
        for i, (row, source) in enumerate(zip(pools.records(len(sources)), sources, strict=True))
    ]
    file = pools.write(tmp_path / "pool.jsonl", rows)
    return pools.scored(tmp_path, values(len(sources)), file, **scored)


def percents(text: str) -> list[float]:
    return [float(number) / 100 for number in re.findall(r"(\d+\.\d)%", text)]


@pytest.mark.parametrize(("n", "ratio", "excluded"), [(60, 0.2, ()), (60, 0.2, (3, 4, 50)), (7, 0.5, ())])
def test_the_numbers_are_those_of_the_selection(
    tmp_path: Path, n: int, ratio: float, excluded: tuple[int, ...]
) -> None:
    folder = pools.selected(pools.scored(tmp_path, values(n), excluded=excluded), ratio)
    facts = yaml.safe_load((Path(folder) / "selection.yaml").read_text())
    _, page = reported(folder)
    removed, sieved = facts["rows_removed"], facts["rows_sieved"]
    assert (page.by_id["removed"], page.by_id["sieved"]) == (str(removed), str(sieved))
    assert (page.by_id["digest"], page.by_id["similarity"]) == (facts["digest"], "cosine")
    assert page.by_id["base"] == f"{removed / sieved:.1%}" and page.by_id["target"] == "1"
    assert f"{removed} of {sieved} sieved rows are removed, a base rate of {removed / sieved:.1%}" in page.text
    for table in ("by_source", "by_language"):
        rows = page.rows(table)
        assert {row[0]: (int(row[1]), int(row[2])) for row in rows} == {
            name: (rate["rows"], rate["removed"]) for name, rate in facts[f"removed_{table}"].items()
        }
        for name, total, part, share, interval, against in rows:
            assert percents(share)[0] == pytest.approx(facts[f"removed_{table}"][name]["rate"], abs=6e-4)
            low, high = wilson(int(part), int(total))
            assert percents(interval) == pytest.approx([low, high], abs=6e-4)
            side = "above" if low > removed / sieved else "below" if high < removed / sieved else "not apart"
            assert against == side
    for table, key in (("just_above", "removed_just_above"), ("just_below", "kept_just_below")):
        near = [[row["row_id"], row["source"], f"{row['score']:.6f}"] for row in facts["boundary"][key]]
        assert page.rows(table) == near


def test_the_gradients_are_those_of_the_index(tmp_path: Path) -> None:
    folder = pools.selected(pools.scored(tmp_path, values(60)), 0.2)
    done, page = reported(folder)
    selection = read_selection(folder)
    assert page.by_id["truncated"].startswith("30 of 60 sieved rows (50.0%)")
    by_source = {row[0]: (int(row[1]), int(row[2])) for row in page.rows("truncated_by_source")}
    assert by_source == {"maths": (20, 10), "chat": (20, 10), "code": (20, 10)}
    gone = sum("truncated" in flags for flags in selection.removed["flags"].to_pylist())
    (flag,) = page.rows("flags")
    assert (flag[0], flag[2], flag[3]) == ("truncated", "30", str(gone))
    assert page.by_id["length_auroc"] == "0.50", "all answers are equally long"
    assert [row[0] for row in page.rows("measures")][2] == "tokens of the answers"
    assert page.rows("measures")[2][1:] == ["4 (4 to 4)", "4 (4 to 4)"]
    assert "cut off by the window" in page.gaps
    assert done.figures == [f"{name}.png" for name in ("by_source", "by_language", "scores", "norms", "lengths")]


def relengthened(folder: Path, lengths: Sequence[int]) -> None:
    """The index's answers, made this long."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = pq.read_table(folder / "rows.parquet")
    at = rows.schema.get_field_index("response_tokens")
    pq.write_table(
        rows.set_column(at, rows.schema.field(at), pa.array(lengths, pa.int32())), folder / "rows.parquet"
    )


def test_length_is_measured_and_named_a_confounder(tmp_path: Path) -> None:
    scores = pools.scored(tmp_path, values(60))
    folder = pools.selected(scores, 0.2)
    lengths = np.random.default_rng(1).integers(3, 900, 60)
    removed = read_selection(folder).removed["index"].to_numpy()
    labels = np.isin(np.arange(60), removed)
    lengths[labels] += 400
    relengthened(tmp_path / "index", lengths.tolist())
    _, page = reported(folder)
    assert page.by_id["length_auroc"] == f"{auroc(lengths, labels):.2f}"
    assert "Length is a confounder." in page.text
    assert "Removed answers tend to be longer than kept ones" in page.gaps


@pytest.mark.parametrize("with_index", [True, False])
def test_it_is_whole_by_itself(tmp_path: Path, with_index: bool) -> None:
    done, page = reported(
        pools.selected(pools.scored(tmp_path, values(30), excluded=(2,)), 0.2), with_index=with_index
    )
    assert not {"script", "link", "iframe", "object", "a", "form"} & {*page.tags}
    assert "http:" not in page.raw and "https:" not in page.raw and "url(" not in page.raw
    addresses = [value for name, value in page.attributes if name in ("src", "srcset", "href")]
    assert len(addresses) == 2 * len(done.figures)
    files = {(done.folder / name).read_bytes() for name in done.figures}
    assert all(file.startswith(PNG) for file in files)
    for address in addresses:
        assert base64.b64decode(address.removeprefix("data:image/png;base64,")).startswith(PNG)
    light = {base64.b64decode(v.partition(",")[2]) for name, v in page.attributes if name == "src"}
    assert light == files
    assert sum(name == "alt" and bool(value) for name, value in page.attributes) == len(done.figures)
    assert not any(name.startswith("on") for name, _ in page.attributes)
    assert {path.name for path in done.folder.iterdir()} == {PAGE, "run.yaml", *done.figures}


HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}",
    "</style></table>",
    "$\\frac{1}$",
    "a\nb",
    "ünï 日本語 \U0001f9c0",
    "\u202egnp.exe",
    "",
)


def test_names_are_untrusted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    sources = [name for name in HOSTILE for _ in range(4)]
    scores = named(tmp_path, sources, ("<b>en</b>", "de&amp;"))
    done, page = reported(pools.selected(scores, 0.25))
    assert "script" not in page.tags and "b" not in page.tags and page.tags.count("img") == len(done.figures)
    shown = {row[0] for row in page.rows("by_source")}
    assert {*HOSTILE[:5], HOSTILE[6], "a\ufffdb", "\ufffdgnp.exe"} <= shown
    assert {row[0] for row in page.rows("by_language")} == {"<b>en</b>", "de&amp;"}
    assert capfd.readouterr().err == ""


def test_ids_are_untrusted(tmp_path: Path) -> None:
    ids = [f"<i>{i}</i>&\u2028" for i in range(20)]
    rows = [{**row, "id": ids[i]} for i, row in enumerate(pools.records(20))]
    file = pools.write(tmp_path / "pool.jsonl", rows)
    _, page = reported(pools.selected(pools.scored(tmp_path, values(20), file), 0.3))
    assert "i" not in page.tags
    assert all(re.fullmatch(r"<i>\d+</i>&\ufffd", row[0]) for row in page.rows("just_above"))


def test_no_text_of_rows_is_in_it(tmp_path: Path) -> None:
    file = pools.write(tmp_path / "pool.jsonl", pools.records(20, "SECRETWORD"))
    done, page = reported(pools.selected(pools.scored(tmp_path, values(20), file, excluded=(1,)), 0.3))
    assert "SECRETWORD" not in page.raw + (done.folder / "run.yaml").read_text()


def test_absolute_paths_lose_their_folders(tmp_path: Path) -> None:
    _, page = reported(pools.selected(pools.scored(tmp_path, values(20)), 0.3))
    assert "What tamis removed from pool.jsonl" in page.text
    assert str(tmp_path) not in page.raw


def test_excluded_rows_are_counted_by_reason(tmp_path: Path) -> None:
    _, page = reported(pools.selected(pools.scored(tmp_path, values(30), excluded=(0, 7, 9)), 0.2))
    assert page.rows("excluded") == [[pools.REASON, "3"]]
    assert "3 rows without a score" in page.gaps
    _, whole = reported(pools.selected(pools.scored(tmp_path / "b", values(30)), 0.2))
    assert "excluded" not in whole.tables and "Every row has a score." in whole.text


def test_a_subset_leaves_the_others_out_of_every_count(tmp_path: Path) -> None:
    folder = pools.selected(pools.scored(tmp_path, values(60)), 0.25, source=["maths"])
    _, page = reported(folder)
    assert (page.by_id["removed"], page.by_id["sieved"]) == ("5", "20")
    assert [row[:3] for row in page.rows("by_source")] == [["maths", "20", "5"]]
    assert page.by_id["outside"].startswith("40 rows lie outside the subset")
    assert "40 rows outside the subset" in page.gaps
    assert page.by_id["truncated"].startswith("10 of 20 sieved rows")
    kept = read_selection(folder).kept
    inside = kept.filter(np.asarray(kept["order"].to_numpy() != OUTSIDE))
    best = max(inside["score"].to_pylist())
    assert f"{best:.6f}" in page.text


@pytest.mark.parametrize(("ratio", "words"), [(0.0, "nothing is removed"), (1.0, "everything is removed")])
def test_nothing_and_everything(tmp_path: Path, ratio: float, words: str) -> None:
    done, page = reported(pools.selected(pools.scored(tmp_path, values(24)), ratio))
    assert words in page.text and "kept and removed rows cannot be compared" in page.gaps
    assert page.by_id["removed"] == str(int(24 * ratio)) and page.by_id["base"] == f"{ratio:.1%}"
    assert "length_auroc" not in page.by_id and "no AUROC" in page.text
    assert {row[5] for row in page.rows("by_source")} == {"not apart"}
    assert len(done.figures) == 5


def test_named_rows_are_counted_and_leave_the_cut_alone(tmp_path: Path) -> None:
    scores = pools.scored(tmp_path, np.linspace(-0.8, 0.9, 20).tolist())
    (tmp_path / "keep").write_text("19\n")
    (tmp_path / "remove").write_text("0\n")
    folder = pools.selected(scores, 0.2, keep=str(tmp_path / "keep"), remove=str(tmp_path / "remove"))
    done, page = reported(folder)
    table = {
        row["row_id"]: row["score"]
        for half in (read_selection(folder).kept, read_selection(folder).removed)
        for row in half.to_pylist()
    }
    assert (done.facts["cut"]["below"], done.facts["cut"]["above"]) == (table["15"], table["16"])
    assert "1 row named to be kept and 1 to be removed" in page.gaps


def test_one_source_and_one_language_have_nothing_to_compare(tmp_path: Path) -> None:
    done, page = reported(pools.selected(named(tmp_path, ["only"] * 12), 0.25))
    assert "There is one source, only, so there is nothing to compare." in page.text
    assert "There is one language, en, so there is nothing to compare." in page.text
    assert done.figures == ["scores.png", "norms.png", "lengths.png"]
    assert [row[:3] for row in page.rows("by_source")] == [["only", "12", "3"]]


def test_beyond_the_largest_the_rest_is_added_up(tmp_path: Path) -> None:
    sizes = [*range(40, 40 - LARGEST, -1), 3, 2, 1]
    sources = [f"s{i:02}" for i, size in enumerate(sizes) for _ in range(size)]
    languages = [f"l{i:02}" for i in range(LARGEST + 2)]
    folder = pools.selected(named(tmp_path, sources, languages), 0.2)
    facts = read_selection(folder).facts
    _, page = reported(folder)
    rows = page.rows("by_source")
    assert len(rows) == LARGEST + 1 and rows[-1][:2] == ["3 others", "6"]
    assert sum(int(row[1]) for row in rows) == len(sources)
    assert sum(int(row[2]) for row in rows) == facts["rows_removed"]
    rest = [facts["removed_by_source"][f"s{i:02}"]["removed"] for i in range(LARGEST, LARGEST + 3)]
    assert int(rows[-1][2]) == sum(rest)
    assert page.rows("by_language")[-1][0] == "2 others"


def test_a_long_name_keeps_both_ends_beside_its_bar_and_is_whole_in_the_table(tmp_path: Path) -> None:
    from tamis.figures import _short

    names = [f"{'a' * 40}{i}" for i in range(3)]
    assert len({_short(name) for name in names}) == 3 and {len(_short(name)) for name in names} == {30}
    _, page = reported(pools.selected(named(tmp_path, names * 5), 0.2))
    assert {row[0] for row in page.rows("by_source")} == {*names}


def test_without_an_index_it_says_so(tmp_path: Path) -> None:
    done, page = reported(pools.selected(pools.scored(tmp_path, values(30)), 0.2), with_index=False)
    assert "no gradient index was given" in page.text and "were not looked at" in page.gaps
    assert "measures" not in page.tables and "embed.yaml" not in page.text
    assert done.figures == ["by_source.png", "by_language.png", "scores.png"]


@pytest.mark.parametrize("with_index", [True, False])
def test_the_same_bytes_again(tmp_path: Path, with_index: bool) -> None:
    folder = pools.selected(pools.scored(tmp_path, values(30)), 0.2)

    def bytes_of(done: Reported) -> dict[str, str]:
        files = [path for path in done.folder.iterdir() if path.name != "run.yaml"]
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    first = bytes_of(reported(folder, with_index=with_index)[0])
    assert bytes_of(reported(folder, with_index=with_index)[0]) == first
    assert bytes_of(reported(folder, with_index=with_index, name="other")[0]) == first


def test_somebodys_matplotlibrc_changes_nothing(tmp_path: Path) -> None:
    import matplotlib as mpl

    folder = pools.selected(pools.scored(tmp_path, values(30)), 0.2)
    first = (reported(folder)[0].folder / "scores.png").read_bytes()
    with mpl.rc_context({"axes.titlesize": 30, "lines.linewidth": 9, "font.size": 22, "savefig.dpi": 40}):
        assert (reported(folder, name="other")[0].folder / "scores.png").read_bytes() == first


def test_the_recipe_runs_again(tmp_path: Path) -> None:
    folder = pools.selected(pools.scored(tmp_path, values(30)), 0.2)
    done, page = reported(folder)
    assert list(done.facts["recipes"]) == ["embed", "score", "select"]
    for verb, text in done.facts["recipes"].items():
        assert f"tamis {verb} --config {verb}.yaml" in page.text and text in page.text
    again = yaml.safe_load(done.facts["recipes"]["select"])
    assert again == {"scores": "scores", "output_dir": "selection-0.2", "ratio": 0.2}
    recipe = tmp_path / "select.yaml"
    recipe.write_text(done.facts["recipes"]["select"])
    command = ["select", "--config", str(recipe), "--scores", str(tmp_path / "scores")]
    assert cli.main([*command, "--output_dir", str(tmp_path / "again")]) == 0
    assert read_selection(tmp_path / "again").facts == read_selection(folder).facts


def test_scores_that_moved_are_named_by_their_digest(tmp_path: Path) -> None:
    folder = pools.selected(pools.scored(tmp_path, values(30)), 0.2)
    (tmp_path / "scores").rename(tmp_path / "elsewhere")
    done, page = reported(folder)
    assert done.facts["recipes"]["score"] is None
    assert f"Their digest is {read_selection(folder).facts['scores']['digest']}" in page.text


def test_it_says_what_is_not_established(tmp_path: Path) -> None:
    _, page = reported(pools.selected(pools.scored(tmp_path, values(30)), 0.2))
    for words in ("What is not established", "not a cause", "not proven harmful", "Another target set"):
        assert words in page.text
    assert "Few rows" in page.gaps and "The target set has 1 row:" in page.gaps


# What is refused


def refused(recipe: ReportRecipe, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        write_report(recipe)
    assert not Path(recipe.output_dir).exists()


def test_what_cannot_be_reported_on_is_refused(tmp_path: Path) -> None:
    folder, out = pools.selected(pools.scored(tmp_path, values(30)), 0.2), str(tmp_path / "out")
    refused(ReportRecipe(str(tmp_path / "nope"), out), "nope: no selection there")
    refused(ReportRecipe(folder, out, str(tmp_path / "nope")), "nope: not a gradient index")
    refused(ReportRecipe(folder, out, str(tmp_path / "target")), "target: not the index that was scored")
    pools.scored(tmp_path / "b", values(31))
    refused(ReportRecipe(folder, out, str(tmp_path / "b" / "index")), "not the index that was scored")
    again = read_rows(str(tmp_path / "pool.jsonl"))
    pools.index(tmp_path / "model", *np.ones((2, 30, 1, 2)), rows=again, gradient={"model_revision": "another"})
    refused(ReportRecipe(folder, out, str(tmp_path / "model")), "not the index that was scored: its digest is")
    facts = Path(folder) / "selection.yaml"
    known = yaml.safe_load(facts.read_text())
    del known["scores"]["target_rows"]
    facts.write_text(yaml.safe_dump(known))
    refused(ReportRecipe(folder, out), "does not say target_rows")
    (Path(folder) / "run.yaml").unlink()
    known["scores"]["target_rows"] = 1
    facts.write_text(yaml.safe_dump(known))
    refused(ReportRecipe(folder, out), "its run.yaml is missing")


def test_another_report_is_not_overwritten(tmp_path: Path) -> None:
    scores = pools.scored(tmp_path, values(30))
    reported(pools.selected(scores, 0.2))
    with pytest.raises(UsageError, match="holds something else"):
        reported(pools.selected(scores, 0.4))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = pools.selected(pools.scored(tmp_path, values(30)), 0.2)
    command = [
        "report",
        "--selection",
        folder,
        "--index",
        str(tmp_path / "index"),
        "--output_dir",
        str(tmp_path / "r"),
    ]
    assert cli.main([*command, "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["removed"] == "6 of 30 sieved rows" and printed["page"] == str(tmp_path / "r" / PAGE)
    assert printed["bytes"] == (tmp_path / "r" / PAGE).stat().st_size and len(printed["figures"]) == 5
    before = (tmp_path / "r" / PAGE).read_bytes()
    assert cli.main(["report", "--config", str(tmp_path / "r" / "run.yaml")]) == 0
    assert (tmp_path / "r" / PAGE).read_bytes() == before
    assert cli.main(["report", "--selection", str(tmp_path), "--output_dir", str(tmp_path / "s")]) == 2
    assert "no selection there" in capsys.readouterr().err
