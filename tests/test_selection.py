"""A cut is exact, its ties, lists and subsets are answered, and it says what it removed."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import pools
from tamis.errors import UsageError
from tamis.gradients.store import GradientIndex
from tamis.influence.scores import read_scores
from tamis.recipe import SelectRecipe
from tamis.selection import OUTSIDE, Selection, cut, portable, read_selection, select

VALUES = np.random.default_rng(0).permutation(np.linspace(-0.9, 0.9, 100)).round(2).tolist()


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The scores of 97 rows of three sources and two languages; three rows have none."""
    return pools.scored(tmp_path_factory.mktemp("pool"), VALUES, excluded={3, 50, 99})


@pytest.fixture
def choose(scores: str, tmp_path: Path) -> Any:
    """Selects from the scores into a folder of its own."""
    count = iter(range(1000))

    def chosen(ratio: float = 0.2, of: str = scores, **recipe: Any) -> Selection:
        return select(SelectRecipe(of, str(tmp_path / f"selection-{next(count)}"), ratio, **recipe))

    return chosen


def naive(table: pa.Table) -> list[str]:
    """Row ids in the order of removal, last removed first."""
    return [row["row_id"] for row in sorted(table.to_pylist(), key=lambda row: (row["score"], row["row_id"]))]


def ids(table: pa.Table) -> list[str]:
    return list(table["row_id"].to_pylist())


def listed(path: Path, *lines: str) -> str:
    path.write_text("\n".join(lines))
    return str(path)


@pytest.mark.parametrize(
    ("ratio", "rows", "removed"),
    [
        (0.29, 100, 29),
        (0.57, 100, 57),
        (0.2, 939343, 187868),
        (0.07, 100, 7),
        (1.0, 7, 7),
        (0.0, 7, 0),
        (1e-05, 100000, 1),
        (0.9999, 10000, 9999),
        (0.5, 1, 0),
    ],
)
def test_the_number_removed_is_exact(ratio: float, rows: int, removed: int) -> None:
    assert cut(ratio, rows) == removed


@given(st.integers(0, 10**4), st.integers(0, 10**7))
def test_the_number_removed_is_that_of_exact_fractions(ten_thousandths: int, rows: int) -> None:
    assert cut(ten_thousandths / 10**4, rows) == ten_thousandths * rows // 10**4
    assert cut(float(f"{ten_thousandths / 10**4:.4f}"), rows) == Fraction(ten_thousandths, 10**4) * rows // 1


@given(st.integers(0, 10**4), st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 1000))
def test_lists_bound_the_number_removed(ten_thousandths: int, keep: int, remove: int, others: int) -> None:
    k = cut(ten_thousandths / 10**4, keep + remove + others, keep=keep, remove=remove)
    assert remove <= k <= remove + others


@pytest.mark.parametrize("ratio", [0.0, 0.005, 0.2, 0.29, 0.57, 0.9999, 1.0])
def test_kept_and_removed_are_all_rows_once_and_cut_by_order(choose: Any, scores: str, ratio: float) -> None:
    table, chosen = read_scores(scores).table, choose(ratio)
    expected, k = naive(table), int(Fraction(str(ratio)) * 97)
    assert sorted(ids(chosen.removed)) == sorted(expected[97 - k :])
    assert sorted(ids(chosen.kept)) == sorted(expected[: 97 - k])
    assert all(order >= 97 - k for order in chosen.removed["order"].to_pylist())
    assert all(0 <= order < 97 - k for order in chosen.kept["order"].to_pylist())
    assert (chosen.facts["rows_sieved"], chosen.facts["rows_removed"]) == (97, k)
    for part in (chosen.kept, chosen.removed):
        assert part["index"].to_pylist() == sorted(part["index"].to_pylist())
        assert part["rank"].to_pylist() == [order / 97 for order in part["order"].to_pylist()]
    assert set(chosen.removed["reason"].to_pylist()) <= {f"among the {k} highest scores of 97"}
    assert set(chosen.kept["reason"].to_pylist()) <= {f"below the {k} highest scores of 97"}
    assert ids(chosen.excluded) == ["3", "50", "99"] and chosen.facts["rows_excluded"] == 3


def test_ties_at_the_cut_are_cut_by_row_id_as_text(choose: Any, tmp_path: Path) -> None:
    tied = choose(0.25, pools.scored(tmp_path / "tied", [0.5] * 12))
    assert ids(tied.removed) == ["7", "8", "9"]
    assert [row["row_id"] for row in tied.facts["boundary"]["kept_just_below"]] == ["6", "5", "4", "3", "2"]
    assert ids(choose(0.75, pools.scored(tmp_path / "again", [0.5] * 12)).kept) == ["0", "1", "10"]


@pytest.mark.parametrize("wrong", ["reversed", "shifted", "constant", "small", "float"])
def test_an_order_that_does_not_follow_the_scores_is_made_anew(
    choose: Any, scores: str, tmp_path: Path, wrong: str
) -> None:
    """The stored order saves sorting; where somebody changed the scores, it says nothing."""
    table = pq.read_table(Path(scores) / "scores.parquet")
    order = table["order"].to_numpy()
    orders = {
        "reversed": order[::-1],
        "shifted": order + 1,
        "constant": order * 0,
        "small": order.astype(np.int32),
    }
    edited = tmp_path / "edited"
    edited.mkdir()
    column = pa.array(orders.get(wrong, order.astype(float)))
    changed = table.set_column(table.column_names.index("order"), "order", column)
    pq.write_table(changed, edited / "scores.parquet")
    pq.write_table(read_scores(scores).excluded, edited / "excluded.parquet")
    chosen, expected = choose(0.3, str(edited)), choose(0.3)
    assert chosen.kept == expected.kept and chosen.removed == expected.removed


@pytest.mark.parametrize("ratio", [-0.01, 1.0001, 20, float("nan"), float("inf")])
def test_a_ratio_that_is_no_share_is_refused(choose: Any, ratio: float) -> None:
    with pytest.raises(UsageError, match=rf"--ratio {ratio}: not from 0 to 1"):
        choose(ratio)


def test_the_ratio_means_the_same_as_every_type_of_number(choose: Any) -> None:
    assert choose(1).facts == choose(1.0).facts == choose(np.float64(1)).facts
    assert choose(np.float64(0.3)).facts == choose(0.3).facts


@pytest.mark.parametrize("score", [float("nan"), float("inf"), None])
def test_a_score_that_is_no_number_is_named(choose: Any, scores: str, tmp_path: Path, score: float | None) -> None:
    table = pq.read_table(Path(scores) / "scores.parquet")
    values = table["score"].to_pylist()
    values[40] = score
    broken = tmp_path / "broken"
    broken.mkdir()
    pq.write_table(table.set_column(4, "score", pa.array(values, pa.float64())), broken / "scores.parquet")
    pq.write_table(read_scores(scores).excluded, broken / "excluded.parquet")
    with pytest.raises(UsageError, match=f"the score of row {ids(table)[40]} is not a number"):
        choose(of=str(broken))


@pytest.mark.parametrize(
    "subset",
    [
        {"source": ["maths"]},
        {"source": ["maths", "code"]},
        {"language": ["de"]},
        {"source": ["chat"], "language": ["en"]},
        {"source": ["maths", "chat", "code"]},
    ],
)
def test_only_the_subset_is_sieved(choose: Any, scores: str, subset: dict[str, list[str]]) -> None:
    chosen = choose(0.3, **subset)
    rows = read_scores(scores).table.to_pylist()
    inside = [row for row in rows if all(row[column] in names for column, names in subset.items())]
    n, k = len(inside), int(Fraction("0.3") * len(inside))
    expected = naive(pa.Table.from_pylist(inside))
    order = {row["row_id"]: row for row in [*chosen.kept.to_pylist(), *chosen.removed.to_pylist()]}
    assert sorted(ids(chosen.removed)) == sorted(expected[n - k :])
    assert [order[name]["order"] for name in expected] == list(range(n))
    assert [order[name]["rank"] for name in expected] == [place / n for place in range(n)]
    others = [order[row["row_id"]] for row in rows if row not in inside]
    assert {(row["order"], row["rank"], row["reason"]) for row in others} <= {
        (OUTSIDE, -1.0, "outside the subset")
    }
    assert len(chosen.kept) + len(chosen.removed) == 97
    assert (chosen.facts["rows_sieved"], chosen.facts["rows_outside_the_subset"]) == (n, 97 - n)
    near = chosen.facts["boundary"]
    assert [row["row_id"] for row in near["removed_just_above"]] == expected[n - k :][:5]
    assert [row["row_id"] for row in near["kept_just_below"]] == expected[: n - k][-5:][::-1]


def test_a_source_or_language_that_is_not_there_is_named_with_those_that_are(choose: Any) -> None:
    with pytest.raises(UsageError, match=r"--source math: no such source in .*; there are chat, code, maths"):
        choose(source=["chat", "math"])
    with pytest.raises(UsageError, match=r"--language fr: no such language in .*; there are de, en"):
        choose(language=["fr"])


def test_an_empty_subset_is_refused(choose: Any, tmp_path: Path) -> None:
    scores = pools.scored(tmp_path / "two", [0.1, 0.2])
    with pytest.raises(UsageError, match="no row is in the subset of --source and --language"):
        choose(of=scores, source=["maths"], language=["de"])
    with pytest.raises(UsageError, match="--source code: no such source"):
        choose(of=scores, source=["code"])


@pytest.mark.parametrize("ratio", [0.0, 0.02, 0.5, 0.98, 1.0])
@pytest.mark.parametrize("subset", [{}, {"source": ["maths"]}])
def test_listed_rows_are_kept_and_removed_at_every_ratio(
    choose: Any, scores: str, tmp_path: Path, ratio: float, subset: dict[str, list[str]]
) -> None:
    table = read_scores(scores).table
    rows = [row for row in table.to_pylist() if not subset or row["source"] == "maths"]
    expected, n = naive(pa.Table.from_pylist(rows)), len(rows)
    keep, remove = expected[-3:], [expected[0], expected[10]]
    lists = {
        "keep": listed(tmp_path / "keep.txt", "", f"  {keep[0]} ", *keep, "", ""),
        "remove": listed(tmp_path / "remove.txt", *remove, remove[0]),
    }
    chosen = choose(ratio, **lists, **subset)
    k = min(max(int(Fraction(str(ratio)) * n), 2), n - 3)
    by_score = [name for name in expected if name not in {*keep, *remove}]
    assert sorted(ids(chosen.removed)) == sorted([*remove, *by_score[len(by_score) - (k - 2) :]])
    assert len(chosen.kept) == 97 - k
    reasons = {row["row_id"]: row["reason"] for row in [*chosen.kept.to_pylist(), *chosen.removed.to_pylist()]}
    assert {reasons[name] for name in keep} == {"named by --keep"}
    assert {reasons[name] for name in remove} == {"named by --remove"}
    assert (chosen.facts["named_by_keep"], chosen.facts["named_by_remove"]) == (3, 2)
    assert chosen.facts["rows_removed"] == k


def test_a_row_outside_the_subset_may_be_listed_to_keep_and_not_to_remove(choose: Any, tmp_path: Path) -> None:
    chat = listed(tmp_path / "chat.txt", "1", "4")
    chosen = choose(1.0, source=["maths"], keep=chat)
    assert chosen.facts["named_by_keep"] == 0 and len(chosen.removed) == chosen.facts["rows_sieved"]
    with pytest.raises(UsageError, match="--remove names row 1, which --source or --language leaves out"):
        choose(source=["maths"], remove=chat)


def test_lists_that_cannot_be_followed_are_refused(choose: Any, tmp_path: Path) -> None:
    one = listed(tmp_path / "one.txt", "1")
    with pytest.raises(UsageError, match="--keep and --remove both name row 1"):
        choose(keep=one, remove=listed(tmp_path / "two.txt", "2", "1"))
    unknown = listed(tmp_path / "unknown.txt", "1", "x", "y", "3")
    for flag in ("keep", "remove"):  # row 3 has no score
        with pytest.raises(UsageError, match=f"--{flag}: 3 of its ids are no scored row, such as x"):
            choose(**{flag: unknown})
        with pytest.raises(UsageError, match=f"--{flag} .*nowhere.txt: cannot be read"):
            choose(**{flag: str(tmp_path / "nowhere.txt")})
        (tmp_path / "latin.txt").write_bytes(b"\xe4\n")
        with pytest.raises(UsageError, match=f"--{flag} .*latin.txt: cannot be read"):
            choose(**{flag: str(tmp_path / "latin.txt")})


def test_an_id_may_hold_any_character_but_a_line_break(choose: Any, tmp_path: Path) -> None:
    names = ["a\u2028b", "a b", "ä\x0b", "\x1c", "日本"]
    file = pools.write(
        tmp_path / "odd.jsonl", [{**row, "id": name} for row, name in zip(pools.records(5), names, strict=True)]
    )
    scores = pools.scored(tmp_path / "odd", [0.1, 0.2, 0.3, 0.4, 0.5], file)
    chosen = choose(0.0, scores, remove=listed(tmp_path / "remove.txt", *names))
    assert ids(chosen.removed) == names


def test_a_list_may_come_from_windows(choose: Any, tmp_path: Path) -> None:
    (tmp_path / "remove.txt").write_bytes(b"\xef\xbb\xbf1\r\n2\r\n")
    assert ids(choose(0.0, remove=str(tmp_path / "remove.txt")).removed) == ["1", "2"]


@pytest.mark.parametrize("column", ["source", "language"])
def test_removal_rates_are_counts_of_the_sieved_rows(choose: Any, column: str) -> None:
    for subset in ({}, {"source": ["chat", "code"]}):
        chosen = choose(0.25, **subset)
        rows = [row for row in [*chosen.kept.to_pylist(), *chosen.removed.to_pylist()] if row["order"] != OUTSIDE]
        rates = chosen.facts[f"removed_by_{column}"]
        assert set(rates) == {row[column] for row in rows}
        for name, rate in rates.items():
            assert rate["rows"] == sum(row[column] == name for row in rows)
            assert rate["removed"] == chosen.removed[column].to_pylist().count(name)
            assert rate["rate"] == pytest.approx(rate["removed"] / rate["rows"], abs=1e-4)
        assert sum(rate["removed"] for rate in rates.values()) == chosen.facts["rows_removed"]
        assert chosen.facts["base_rate"] == pytest.approx(chosen.facts["rows_removed"] / len(rows), abs=1e-4)
        assert list(rates) == sorted(rates, key=lambda name: -rates[name]["rate"])


@pytest.mark.parametrize("ratio", [0.0, 0.01, 0.02, 0.5, 0.98, 1.0])
def test_boundary_rows_are_the_nearest_to_the_cut(choose: Any, scores: str, ratio: float) -> None:
    chosen = choose(ratio)
    expected, k = naive(read_scores(scores).table), chosen.facts["rows_removed"]
    near = chosen.facts["boundary"]
    assert [row["row_id"] for row in near["removed_just_above"]] == expected[97 - k :][:5]
    assert [row["row_id"] for row in near["kept_just_below"]] == expected[: 97 - k][-5:][::-1]
    assert all(set(row) == {"row_id", "source", "score", "order"} for rows in near.values() for row in rows)


def test_the_digest_names_every_part_of_the_recipe_and_not_its_order(choose: Any, tmp_path: Path) -> None:
    a, b = listed(tmp_path / "a.txt", "1", "2"), listed(tmp_path / "b.txt", "1", "4")
    different: list[dict[str, Any]] = [
        {},
        {"ratio": 0.21},
        {"source": ["chat"]},
        {"source": ["chat", "maths"]},
        {"language": ["en"]},
        {"language": ["en"], "source": ["chat"]},
        {"keep": a},
        {"keep": b},
        {"remove": a},
        {"of": pools.scored(tmp_path / "other", VALUES[:97])},
    ]
    digests = [choose(**recipe).facts["digest"] for recipe in different]
    assert len(set(digests)) == len(digests)
    assert choose(source=["maths", "chat"]).facts["digest"] == digests[3]
    assert choose(source=["chat", "chat"]).facts["digest"] == digests[2]
    assert choose(keep=listed(tmp_path / "c.txt", "2", "", "1", "2")).facts["digest"] == digests[6]


def test_the_folder_reads_back_and_the_yaml_is_plain(scores: str, tmp_path: Path) -> None:
    folder = tmp_path / "selection"
    chosen = select(SelectRecipe(scores, str(folder), 0.3, source=["maths"]))
    assert read_selection(folder) == chosen
    text = (folder / "selection.yaml").read_text()
    assert "!!" not in text and yaml.safe_load(text) == chosen.facts
    pool = str(Path(scores).parent / "pool.jsonl")
    assert chosen.facts["scores"]["source"] == {
        "dataset_name": pool,
        "fingerprint": pools.read_rows(pool).fingerprint,
        "rows": 100,
        "excluded": 3,
    }
    assert chosen.facts["scores"] == read_scores(scores).metadata


def test_the_source_is_recorded_with_its_config_split_revision_and_rows(choose: Any, tmp_path: Path) -> None:
    read = {"config": "b", "split": "test", "revision": "0123abc", "max_samples": 7}
    for name in ("a", "b"):
        pools.write(tmp_path / "repo" / f"{name}.jsonl", pools.records(9, name))
    configs = [{"config_name": n, "data_files": [{"split": "test", "path": f"{n}.jsonl"}]} for n in ("a", "b")]
    (tmp_path / "repo" / "README.md").write_text(f"---\n{yaml.safe_dump({'configs': configs})}---\n")
    chosen = choose(of=pools.scored(tmp_path / "pool", [0.1] * 7, str(tmp_path / "repo"), **read))
    assert chosen.facts["scores"]["source"] == {
        "dataset_name": str(tmp_path / "repo"),
        "dataset_config": "b",
        "dataset_split": "test",
        "dataset_revision": "0123abc",
        "max_samples": 7,
        "fingerprint": pools.read_rows(str(tmp_path / "repo"), **read).fingerprint,
        "rows": 7,
        "excluded": 0,
    }


def test_a_rerun_gives_the_same_bytes_and_another_recipe_is_refused(scores: str, tmp_path: Path) -> None:
    folder = tmp_path / "selection"

    def content() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "run.yaml"}

    select(SelectRecipe(scores, str(folder), 0.3))
    before = content()
    assert sorted(before) == ["excluded.parquet", "kept.parquet", "removed.parquet", "selection.yaml"]
    select(SelectRecipe(scores, str(folder), 0.3))
    assert content() == before
    for other in (
        SelectRecipe(scores, str(folder), 0.31),
        SelectRecipe(scores, str(folder), 0.3, language=["en"]),
    ):
        with pytest.raises(UsageError, match="selection: holds something else"):
            select(other)
    assert content() == before


@pytest.mark.parametrize("name", ["selection.yaml", "kept.parquet", "removed.parquet", "excluded.parquet"])
@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe: ["])
def test_a_selection_that_is_not_whole_is_refused(
    scores: str, tmp_path: Path, name: str, content: bytes | None
) -> None:
    folder = tmp_path / "selection"
    select(SelectRecipe(scores, str(folder)))
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(UsageError, match="selection: no selection there"):
        read_selection(folder)


def test_scores_without_rows_are_refused(choose: Any, scores: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    table = pq.read_table(Path(scores) / "scores.parquet")
    pq.write_table(table.slice(0, 0), empty / "scores.parquet")
    pq.write_table(read_scores(scores).excluded, empty / "excluded.parquet")
    with pytest.raises(UsageError, match="empty: there are no scored rows in it"):
        choose(of=str(empty))


def test_scores_of_an_earlier_version_are_named(choose: Any, scores: str, tmp_path: Path) -> None:
    old = Path(shutil.copytree(scores, tmp_path / "old"))
    table = pq.read_table(old / "scores.parquet")
    metadata = json.loads(table.schema.metadata[b"tamis"])
    del metadata["index"]
    pq.write_table(table.replace_schema_metadata({"tamis": json.dumps(metadata)}), old / "scores.parquet")
    with pytest.raises(UsageError, match="old: do not say their 'index'; score again"):
        choose(of=str(old))


def test_what_travels_is_the_recipe_and_the_digests_that_check_it(tmp_path: Path) -> None:
    scores = pools.scored(tmp_path, np.linspace(0, 1, 12))
    keep = listed(tmp_path / "keep.txt", "11")
    facts = select(SelectRecipe(scores, str(tmp_path / "s"), 0.25, source=["maths", "chat"], keep=keep)).facts
    found = portable(facts)
    metadata = read_scores(scores).metadata
    assert found["recipe"] == {
        "similarity": "cosine",
        "aggregate": "mean",
        "ratio": 0.25,
        "source": ["maths", "chat"],
    }
    assert found["selection"] == facts["digest"] and found["scores"] == metadata["digest"]
    assert found["index"] == GradientIndex(tmp_path / "index").digest
    assert found["target"] == [GradientIndex(tmp_path / "target").digest]
    assert str(tmp_path) not in str(found) and len(found["keep"]) == 64
    assert found == portable(read_selection(tmp_path / "s").facts)
