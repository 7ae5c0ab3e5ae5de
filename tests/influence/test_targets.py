"""Several target sets have a column each and one weighted mix; what does not fit together is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pools
from pools import contents, factors
from tamis.errors import UsageError
from tamis.gradients.store import is_index
from tamis.influence.scores import Scores, read_scores, score
from tamis.influence.targets import set_names
from tamis.recipe import ScoreRecipe, SelectRecipe
from tamis.selection import select

Asked = Callable[..., Scores]


@pytest.fixture
def ask(tmp_path: Path) -> Asked:
    """Scores a pool of 16 rows, of two of which each is there twice, into a folder."""
    again = np.array([*range(14), 0, 1])
    u, v = factors(14, 0)
    pools.index(tmp_path / "pool", u[again], v[again])
    for seed, name in enumerate(("a", "b", "safe"), 1):
        pools.index(tmp_path / name, *factors(3 + seed, seed))

    def call(*targets: str, output_dir: str = "out", **recipe: Any) -> Scores:
        paths = [str(tmp_path / target) for target in targets]
        return score(ScoreRecipe(str(tmp_path / "pool"), paths, str(tmp_path / output_dir), **recipe))

    return call


@pytest.mark.parametrize(
    "options", [{}, {"aggregate": "max"}, {"aggregate": "topk", "topk": 2}, {"contrast": "safe"}]
)
@pytest.mark.parametrize(("weight", "shares"), [([], (0.5, 0.5)), ([7, 3.0], (0.7, 0.3)), ([0, 2], (0, 1))])
def test_each_set_has_its_scores_and_the_score_is_their_mix(
    ask: Asked, tmp_path: Path, options: dict[str, Any], weight: list[float], shares: tuple[float, float]
) -> None:
    options = {k: str(tmp_path / v) if k == "contrast" else v for k, v in options.items()}
    both = ask("a", "b", weight=weight, **options).table
    alone = [ask(name, output_dir=f"out-{name}", **options).table["score"].to_numpy() for name in ("a", "b")]
    columns = ["row_id", "index", "source", "language", "score", "score_a", "score_b", "order", "rank", "flags"]
    assert both.column_names == columns
    assert np.array_equal(both["score_a"].to_numpy(), alone[0])
    assert np.array_equal(both["score_b"].to_numpy(), alone[1])
    mix = both["score"].to_numpy()
    np.testing.assert_allclose(mix, shares[0] * alone[0] + shares[1] * alone[1], rtol=1e-12, atol=1e-15)
    assert (mix[14], mix[15]) == (mix[0], mix[1])
    rows = sorted(both.to_pylist(), key=lambda row: (row["score"], row["row_id"]))
    assert [row["order"] for row in rows] == list(range(16))
    assert read_scores(tmp_path / "out").table == both


@pytest.mark.parametrize(
    "options", [{}, {"aggregate": "max"}, {"aggregate": "topk", "topk": 2, "contrast": "safe"}, {"weight": [2, 1]}]
)
@pytest.mark.parametrize("shard_rows", [2, 50])
def test_the_sources_of_one_target_set_are_sets_of_their_own(
    ask: Asked, tmp_path: Path, shard_rows: int, options: dict[str, Any]
) -> None:
    u, v = factors(7, 9)
    sources = [*"wwwfffw"]
    norms = np.geomspace(0.1, 10, 7)
    apart = {"excluded": {1}, "norms": norms, "shard_rows": shard_rows}
    pools.index(tmp_path / "all", u, v, sources=sources, **apart)
    for name in "wf":
        mine = [i for i in range(7) if sources[i] == name]
        excluded = {mine.index(1)} if name == "w" else ()
        pools.index(tmp_path / name, u[mine], v[mine], norms=norms[mine], excluded=excluded)
    options = {k: str(tmp_path / v) if k == "contrast" else v for k, v in options.items()}
    for similarity in ("cosine", "dot"):
        split = ask("all", output_dir=f"one-{similarity}", split_targets=True, similarity=similarity, **options)
        files = ask("f", "w", output_dir=f"two-{similarity}", similarity=similarity, **options)
        for column in ("score", "score_f", "score_w"):
            np.testing.assert_allclose(split.table[column], files.table[column], rtol=1e-9, atol=1e-12)
        assert [(one["name"], one["rows"]) for one in split.metadata["targets"]] == [("f", 3), ("w", 3)]
        assert (split.metadata["target_rows"], split.metadata["target_excluded"]) == (6, 1)
        assert (
            split.metadata["digest"] != ask("all", output_dir=similarity, similarity=similarity).metadata["digest"]
        )


def test_split_sets_that_make_no_mix_are_refused(ask: Asked, tmp_path: Path) -> None:
    pools.index(tmp_path / "all", *factors(4, 9), sources=["a b", "a/b", "A b", "c"], excluded={3})
    with pytest.raises(UsageError, match="all: no target row of the source 'c' could be embedded"):
        ask("all", split_targets=True)
    pools.index(tmp_path / "three", *factors(3, 9), sources=["a b", "a/b", "A b"])
    with pytest.raises(
        UsageError, match=r"--weight: 2 for 3 target sets \(A_b, a_b-2, a_b-3\); give one for each"
    ):
        ask("three", split_targets=True, weight=[1, 1])
    with pytest.raises(UsageError, match=r"--weight: 2 for 1 target sets \(pool\)"):
        ask("a", split_targets=True, weight=[1, 1])
    assert not (tmp_path / "out").exists()


def test_the_metadata_names_sets_and_weights(ask: Asked, tmp_path: Path) -> None:
    made = ask("a", "b", weight=[1, 3]).metadata
    assert made["targets"] == [
        {"name": "a", "rows": 4, "weight": 0.25},
        {"name": "b", "rows": 5, "weight": 0.75},
    ]
    assert made["target_rows"] == 9
    one = ask("a", output_dir="one")
    assert "targets" not in one.metadata
    assert one.table.column_names == ["row_id", "index", "source", "language", "score", "order", "rank", "flags"]
    assert score(ScoreRecipe(f"{tmp_path}/pool", f"{tmp_path}/a", f"{tmp_path}/text")).metadata == one.metadata


def test_the_digest_names_every_option_and_not_the_scale_of_the_weights(ask: Asked, tmp_path: Path) -> None:
    safe = str(tmp_path / "safe")
    different: list[tuple[tuple[str, ...], dict[str, Any]]] = [
        (("a",), {}),
        (("b",), {}),
        (("a",), {"aggregate": "max"}),
        (("a",), {"aggregate": "topk", "topk": 1}),
        (("a",), {"aggregate": "topk", "topk": 2}),
        (("a",), {"contrast": safe}),
        (("a",), {"contrast": str(tmp_path / "b")}),
        (("a", "b"), {}),
        (("b", "a"), {}),
        (("a", "b"), {"weight": [1, 2]}),
    ]
    made = [ask(*sets, output_dir=f"o{i}", **more).metadata for i, (sets, more) in enumerate(different)]
    assert len({one["digest"] for one in made}) == len(different)
    assert ask("a", "b", output_dir="scaled", weight=[3, 6]).metadata == made[-1]
    for i, (sets, more) in enumerate(different):
        before = contents(tmp_path / f"o{i}")
        ask(*sets, output_dir=f"o{i}", **more)
        assert contents(tmp_path / f"o{i}") == before
        with pytest.raises(UsageError, match=f"o{i}: holds something else"):
            ask(*sets, output_dir=f"o{i}", **more, similarity="dot")


def test_a_selection_follows_the_mix_and_keeps_the_columns(ask: Asked, tmp_path: Path) -> None:
    table = ask("a", "b", weight=[1, 4]).table
    chosen = select(SelectRecipe(str(tmp_path / "out"), str(tmp_path / "selection"), 0.25))
    ranked = sorted(table.to_pylist(), key=lambda row: (row["score"], row["row_id"]))
    assert sorted(chosen.removed["row_id"].to_pylist()) == sorted(row["row_id"] for row in ranked[12:])
    assert {"score_a", "score_b"} < {*chosen.removed.column_names}


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1], r"--weight: 1 for 2 target sets \(a, b\); give one for each"),
        ([1, 2, 3], "--weight: 3 for 2 target sets"),
        ([0, 0], "--weight: all are zero"),
        ([1, -0.5], "--weight -0.5: negative, .* use --contrast"),
        ([1, float("nan")], "--weight nan: not a finite number"),
        ([float("inf"), 1], "--weight inf: not a finite number"),
        ([1e308, 1e308], "--weight: too large to be added up"),
    ],
)
def test_weights_that_make_no_mix_are_refused(
    ask: Asked, tmp_path: Path, weight: list[float], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        ask("a", "b", weight=weight)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"aggregate": "median"}, "--aggregate median: not one of mean, max, topk"),
        ({"topk": 3}, "--topk 3: goes with --aggregate topk, not with mean"),
        ({"aggregate": "topk", "topk": 0}, "--topk 0: has to be at least 1"),
        ({"aggregate": "topk"}, "--topk 10: .*a has only 4 rows; ask for fewer"),
        ({"aggregate": "topk", "topk": 5}, "--topk 5: .*a has only 4 rows; ask for fewer"),
    ],
)
def test_options_that_do_not_fit_are_refused(ask: Asked, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ask("a", **options)


def test_a_contrast_of_another_recipe_or_without_rows_is_refused(ask: Asked, tmp_path: Path) -> None:
    pools.index(tmp_path / "other", *factors(3, 1), gradient={"seed": 1})
    pools.index(tmp_path / "empty", *factors(3, 1), excluded=range(3))
    with pytest.raises(UsageError, match="other: its gradients were made by another recipe than those of"):
        ask("a", contrast=str(tmp_path / "other"))
    with pytest.raises(UsageError, match="empty: no contrast row could be embedded"):
        ask("a", contrast=str(tmp_path / "empty"))
    with pytest.raises(UsageError, match="a target set is missing"):
        ask()


def test_names_are_fit_for_columns_and_unlike_each_other(tmp_path: Path) -> None:
    paths = ["x/harm.jsonl", "y/harm.parquet", "HARM", "org/data.v1.2", "a b;c.csv", "harm-2", "z/", "ünï.json"]
    assert set_names(paths) == ["harm", "harm-2", "HARM-3", "data_v1_2", "a_b_c", "harm-2-2", "z", "ünï"]
    assert set_names(["/"]) == ["set"]


def test_rows_of_every_set_are_embedded_like_the_index(
    tmp_path: Path,
    embedded: Path,
) -> None:
    files = [
        pools.write(tmp_path / name / "rows.jsonl", pools.records(n, name)) for n, name in ((3, "x"), (4, "y"))
    ]
    safe = pools.write(tmp_path / "safe.jsonl", pools.records(2, "safe"))
    recipe = ScoreRecipe(str(embedded / "index"), files, str(tmp_path / "out"), contrast=safe)
    made = score(recipe)
    for place in ("targets/rows", "targets/rows-2", "contrast"):
        assert is_index(tmp_path / "out" / place)
    assert made.metadata["target_rows"] == 7 and made.metadata["contrast_rows"] == 2
    assert {"score_rows", "score_rows-2"} < {*made.table.column_names}
    before = contents(tmp_path / "out")
    score(recipe)
    assert contents(tmp_path / "out") == before
    with pytest.raises(UsageError, match="out: holds something else; name another --output_dir"):
        score(ScoreRecipe(recipe.index, [*files, safe], recipe.output_dir))
    assert contents(tmp_path / "out") == before
    for bad in ({"target": [*files, "nowhere.jsonl"]}, {"contrast": "nowhere.jsonl"}):
        with pytest.raises(UsageError, match=r"nowhere.jsonl: there is no such file or folder"):
            score(replace(recipe, output_dir=str(tmp_path / "other"), **bad))
        assert not (tmp_path / "other").exists()  # not even the sets before it
