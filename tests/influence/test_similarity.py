"""Every aggregate equals the naive pairs in float64, whatever the blocks, and equal rows have equal scores."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from test_scores import dense

import pools
from pools import MODULES, factors
from tamis.gradients.store import GradientIndex
from tamis.influence.scores import score
from tamis.influence.similarity import SIMILARITIES, collapse, highest, similarities
from tamis.recipe import ScoreRecipe


@pytest.fixture
def target(tmp_path: Path) -> GradientIndex:
    """Four shards, of which the first is empty."""
    norms = np.geomspace(0.1, 10, 11)
    return pools.index(tmp_path / "target", *factors(11, 1), norms=norms, excluded={0, 1, 2}, shard_rows=3)


@pytest.fixture
def safe(tmp_path: Path) -> GradientIndex:
    return pools.index(tmp_path / "safe", *factors(6, 2), norms=np.geomspace(0.1, 10, 6), shard_rows=4)


def pairs(index: GradientIndex, target: GradientIndex, similarity: str) -> np.ndarray:
    """Every similarity, `[rows, targets]`, pair by pair."""
    return np.array([[float((g * t).sum()) for t in dense(target, similarity)] for g in dense(index, similarity)])


def naive(index: GradientIndex, target: GradientIndex, similarity: str, aggregate: str, topk: int) -> np.ndarray:
    every = np.sort(pairs(index, target, similarity), axis=1)
    return {"mean": every.mean(1), "max": every[:, -1], "topk": every[:, -topk:].mean(1)}[aggregate]


def asked(tmp_path: Path, pool: GradientIndex, **recipe: object) -> ScoreRecipe:
    return ScoreRecipe(str(pool.folder), str(tmp_path / "target"), str(tmp_path / "out"), **recipe)  # type: ignore


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize(
    ("aggregate", "topk"), [("mean", None), ("max", None), ("topk", 1), ("topk", 3), ("topk", 8)]
)
def test_every_aggregate_is_that_of_the_naive_pairs(
    tmp_path: Path, pool: GradientIndex, target: GradientIndex, similarity: str, aggregate: str, topk: int | None
) -> None:
    made = score(asked(tmp_path, pool, similarity=similarity, aggregate=aggregate, topk=topk))
    expected = naive(pool, target, similarity, aggregate, topk or 0)
    np.testing.assert_allclose(made.table["score"].to_numpy(), expected, rtol=1e-6, atol=1e-9)
    assert (made.metadata["aggregate"], made.metadata.get("topk")) == (aggregate, topk)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize(("aggregate", "topk"), [("mean", None), ("max", None), ("topk", 3)])
def test_a_contrast_takes_off_the_same_aggregate_over_the_safe_rows(
    tmp_path: Path,
    pool: GradientIndex,
    target: GradientIndex,
    safe: GradientIndex,
    similarity: str,
    aggregate: str,
    topk: int | None,
) -> None:
    made = score(
        asked(
            tmp_path, pool, similarity=similarity, aggregate=aggregate, topk=topk, contrast=str(tmp_path / "safe")
        )
    )
    expected = naive(pool, target, similarity, aggregate, topk or 0) - naive(
        pool, safe, similarity, aggregate, topk or 0
    )
    np.testing.assert_allclose(made.table["score"].to_numpy(), expected, rtol=1e-6, atol=1e-9)
    assert made.metadata["orientation"] == "the highest scores are removed"
    assert (made.metadata["contrast_rows"], made.metadata["contrast_excluded"]) == (6, 0)


def test_a_contrast_with_the_target_itself_leaves_nothing(
    tmp_path: Path, pool: GradientIndex, target: GradientIndex
) -> None:
    made = score(asked(tmp_path, pool, contrast=str(tmp_path / "target")))
    assert set(made.table["score"].to_pylist()) == {0.0}


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("count", [1, 3])
def test_the_highest_are_the_same_in_blocks_of_every_size_and_equal_for_equal_rows(
    tmp_path: Path, similarity: str, count: int
) -> None:
    """Odd widths, where matrix products round by place; targets that tie with one another."""
    u, v = factors(9, 6, dim=33)
    again = np.arange(131) % 9
    a, b = factors(7, 7, dim=33)
    twice = np.arange(40) % 7
    target = pools.index(tmp_path / "target", a[twice], b[twice], shard_rows=17)
    results = []
    for shard_rows in (1, 8, 131):
        pool = pools.index(tmp_path / f"pool-{shard_rows}", u[again], v[again], shard_rows=shard_rows)
        blocks = (1, 200_000, 64 << 20)
        results += [highest(pool, target, similarity, count, block_bytes=size) for size in blocks]
    assert all(np.array_equal(results[0], other) for other in results[1:])
    assert all(len(set(results[0][again == row])) == 1 for row in range(9))


@pytest.mark.parametrize("shard_rows", [1, 8, 131])
def test_equal_rows_whose_score_cancels_to_nothing_are_equal_too(tmp_path: Path, shard_rows: int) -> None:
    """What is left of a sum that cancels is noise, and differs by place; it must not decide an order."""
    u, v = factors(9, 8, silent=False, dim=33)
    u[:, 3:], v[:, 3:] = u[:, :3], v[:, :3]
    again = np.arange(131) % 9
    pool = pools.index(tmp_path / "pool", u[again], v[again], shard_rows=shard_rows)
    matrix = np.random.default_rng(0).standard_normal((MODULES, 33, 33))
    matrix[3:] = -matrix[:3]
    assert set(similarities(pool, matrix, "cosine")) == {0.0}


def test_pairs_of_many_rows_are_never_all_in_memory(tmp_path: Path) -> None:
    """3,000 x 3,000 pairs would be 72 MB; with blocks of one megabyte the process grows by little."""
    u, v = factors(3000, 9, silent=False)
    index = pools.index(tmp_path / "index", u, v, shard_rows=512)
    assert index.rows.num_rows == 3000
    before, most, stop = anonymous(), [0], threading.Event()

    def watch() -> None:
        while not stop.wait(0.002):
            most[0] = max(most[0], anonymous())

    thread = threading.Thread(target=watch)
    thread.start()
    values = highest(index, index, "cosine", 1, block_bytes=1 << 20)
    stop.set()
    thread.join()
    assert values == pytest.approx(np.ones(3000), abs=1e-6)
    assert most[0] - before < 36 << 10


def anonymous() -> int:
    """KiB of the process's memory that no file stands behind."""
    return int(Path("/proc/self/status").read_text().partition("RssAnon:")[2].split()[0])


def test_the_collapsed_matrix_does_not_depend_on_the_shards_beyond_rounding(tmp_path: Path) -> None:
    u, v = factors(40, 3)
    one, other = (pools.index(tmp_path / f"{n}", u, v, shard_rows=n) for n in (40, 7))
    for similarity in SIMILARITIES:
        np.testing.assert_allclose(collapse(one, similarity), collapse(other, similarity), rtol=0, atol=1e-14)
