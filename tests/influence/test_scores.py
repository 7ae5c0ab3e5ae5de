"""The collapsed mean is the mean over pairs, its order is exact, and what does not fit together is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pools
import tiny
from pools import MODULES, contents, factors
from tamis.errors import UsageError, WorkError
from tamis.gradients.embed import embed
from tamis.gradients.store import GradientIndex
from tamis.influence.scores import order_by, ranked, read_scores, score
from tamis.influence.similarity import SIMILARITIES, collapse, similarities
from tamis.recipe import EmbedRecipe, ScoreRecipe


def dense(index: GradientIndex, similarity: str) -> np.ndarray:
    """Every row's gradient, `[rows, modules, dim, dim]`, scaled so that inner products are the similarity."""
    parts = [np.einsum("rlo,rli->rloi", u.astype(float), v.astype(float)) for u, v in index.shards()]
    whole = np.concatenate(parts)
    if similarity == "layer-cosine":
        size = np.linalg.norm(whole, axis=(2, 3), keepdims=True) * np.sqrt(MODULES)
        return np.divide(whole, size, where=size > 0, out=np.zeros_like(whole))
    whole /= np.sqrt((whole**2).sum(axis=(1, 2, 3), keepdims=True))
    return whole * index.rows["norm"].to_numpy()[:, None, None, None] if similarity == "dot" else whole


def naive(index: GradientIndex, target: GradientIndex, similarity: str) -> np.ndarray:
    """The mean over pairs, pair by pair."""
    pairs = [[float((g * t).sum()) for t in dense(target, similarity)] for g in dense(index, similarity)]
    return np.array(pairs).mean(axis=1)


@pytest.fixture
def target(tmp_path: Path) -> GradientIndex:
    """Three shards, of which the first is empty."""
    norms = np.geomspace(0.1, 10, 7)
    return pools.index(tmp_path / "target", *factors(7, 1), norms=norms, excluded={0, 1, 2}, shard_rows=3)


def scores_of(pool: GradientIndex, target: GradientIndex, similarity: str) -> np.ndarray:
    return similarities(pool, collapse(target, similarity), similarity)


def ask(tmp_path: Path, **changes: str) -> ScoreRecipe:
    return ScoreRecipe(**{**{name: str(tmp_path / name) for name in ("target", "index", "output_dir")}, **changes})


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_the_collapsed_mean_is_the_mean_over_pairs(
    pool: GradientIndex, target: GradientIndex, similarity: str
) -> None:
    assert pool.shard_rows() == [4, 0, 5, 5, 2]
    np.testing.assert_allclose(
        scores_of(pool, target, similarity), naive(pool, target, similarity), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("similarity", ["cosine", "layer-cosine"])
def test_a_cosine_is_from_minus_one_to_one_and_one_against_itself(tmp_path: Path, similarity: str) -> None:
    u, v = factors(30, 2, silent=False)
    pool = pools.index(tmp_path / "pool", np.concatenate([u, u, u[::-1]]), np.concatenate([v, -v, v[::-1]]))
    for row in range(3):
        target = pools.index(tmp_path / f"target-{row}", u[row : row + 1], v[row : row + 1])
        values = scores_of(pool, target, similarity)
        assert np.abs(values).max() <= 1
        assert values[[row, 30 + row, 89 - row]] == pytest.approx([1, -1, 1], abs=1e-6)


def test_a_module_without_a_gradient_counts_as_no_likeness(tmp_path: Path) -> None:
    u, v = factors(1, 3)
    target = pools.index(tmp_path / "target", u, v)
    assert scores_of(target, target, "cosine") == pytest.approx([1], abs=1e-6)
    assert scores_of(target, target, "layer-cosine") == pytest.approx([(MODULES - 2) / MODULES], abs=1e-6)


def test_dot_scales_with_both_norms_and_the_cosines_with_neither(tmp_path: Path) -> None:
    u, v = factors(8, 4)
    plain = pools.index(tmp_path / "plain", u, v)
    scaled = pools.index(tmp_path / "scaled", u, v, norms=[3.0] * 8)
    for similarity, factor in (("dot", 9.0), ("cosine", 1.0), ("layer-cosine", 1.0)):
        np.testing.assert_allclose(
            scores_of(scaled, scaled, similarity),
            factor * scores_of(plain, plain, similarity),
            rtol=1e-6,
            atol=1e-9,
        )


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_dot_of_very_small_and_very_large_norms_is_neither_zero_nor_infinite(tmp_path: Path, scale: float) -> None:
    u, v = factors(4, 5)
    index = pools.index(tmp_path / "index", u, v, norms=[scale, 2 * scale, 3 * scale, 4 * scale])
    np.testing.assert_allclose(scores_of(index, index, "dot"), naive(index, index, "dot"), rtol=1e-6)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("shard_rows", [1, 8, 131])
def test_equal_rows_have_equal_scores_wherever_they_stand(
    tmp_path: Path, shard_rows: int, similarity: str
) -> None:
    """Matrix products round by a row's place in the matrix where their width is odd."""
    u, v = factors(9, 6, dim=33)
    again = np.arange(131) % 9
    pool = pools.index(tmp_path / "pool", u[again], v[again], shard_rows=shard_rows)
    values = scores_of(pool, pools.index(tmp_path / "target", *factors(5, 7, dim=33)), similarity)
    assert all(len(set(values[again == row])) == 1 for row in range(9))


def rows_of(ids: list[str]) -> pa.Table:
    n = len(ids)
    return pa.table(
        {"row_id": ids, "index": range(n), "source": ["s"] * n, "language": ["en"] * n, "flags": [[]] * n}
    )


def test_order_is_by_score_then_by_row_id_as_text() -> None:
    ids = ["9", "10", "b", "a", "ä", "A", "2", "c"]
    values = np.array([0.5, 0.5, -0.25, 0.0, -0.0, 0.0, 0.75, -1.0])
    table = ranked(rows_of(ids), values)
    expected = sorted(range(len(ids)), key=lambda i: (values[i], ids[i]))
    assert [ids[i] for i in expected] == ["c", "b", "A", "a", "ä", "10", "9", "2"]
    assert table.sort_by("order")["row_id"].to_pylist() == [ids[i] for i in expected]
    assert (table["order"].type, table["rank"].type) == (pa.int64(), pa.float64())
    assert table["rank"].to_pylist() == [order / 8 for order in table["order"].to_pylist()]


def test_order_of_many_tied_rows_in_chunks_is_the_naive_sort() -> None:
    rng = np.random.default_rng(8)
    ids = [str(i) for i in rng.permutation(3000)]
    values = rng.integers(0, 7, 3000) / 7
    parts = [rows_of(ids[start : start + 700]) for start in range(0, 3000, 700)]
    table = pa.concat_tables(parts).append_column("score", pa.array(values))
    expected = sorted(range(3000), key=lambda i: (values[i], ids[i]))
    assert np.argsort(order_by(table)).tolist() == expected


def test_a_score_that_is_not_finite_is_named() -> None:
    with pytest.raises(WorkError, match=r"row b: its score is not finite \(2 such rows\)"):
        ranked(rows_of(["a", "b", "c"]), np.array([0.0, np.nan, np.inf]))


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_each_row_is_in_the_scores_once_with_what_they_are(
    tmp_path: Path, pool: GradientIndex, target: GradientIndex, similarity: str
) -> None:
    made = score(ask(tmp_path, index=str(pool.folder), similarity=similarity))
    read = read_scores(tmp_path / "output_dir")
    assert read_scores(tmp_path / "output_dir" / "scores.parquet").table == read.table == made.table
    assert read.metadata == made.metadata
    columns = ["row_id", "index", "source", "language", "score", "order", "rank", "flags"]
    assert read.table.column_names == columns
    assert read.table["row_id"].to_pylist() == [str(i) for i in range(22) if i not in {0, 5, 6, 7, 8, 9}]
    assert read.excluded["row_id"].to_pylist() == ["0", "5", "6", "7", "8", "9"]
    assert sorted(read.table["order"].to_pylist()) == list(range(16))
    assert read.table["flags"].to_pylist() == [["truncated"] * (i % 2) for i in read.table["index"].to_pylist()]
    assert read.metadata["similarity"] == similarity
    assert read.metadata["orientation"] == "the highest scores are removed"
    assert (read.metadata["target_rows"], read.metadata["target_excluded"]) == (4, 3)
    assert read.metadata["source"]["excluded"] == 6


def test_the_scores_say_where_the_rows_lie(tmp_path: Path, target: GradientIndex) -> None:
    file = pools.write(tmp_path / "rows.jsonl", pools.records(9))
    read = read_scores(pools.scored(tmp_path / "all", [0.1] * 4, file, max_samples=4)).metadata["source"]
    assert read == {
        "dataset_name": file,
        "max_samples": 4,
        "fingerprint": pools.read_rows(file, max_samples=4).fingerprint,
        "rows": 4,
        "excluded": 0,
    }


def test_scores_that_do_not_say_which_end_is_removed_are_refused(
    tmp_path: Path, pool: GradientIndex, target: GradientIndex
) -> None:
    score(ask(tmp_path, index=str(pool.folder)))
    file = tmp_path / "output_dir" / "scores.parquet"
    table = pq.read_table(file)
    metadata = json.loads(table.schema.metadata[b"tamis"])
    other = json.dumps({**metadata, "orientation": "the lowest scores are removed"})
    for changed in (None, {b"tamis": b"{}"}, {b"tamis": other.encode()}, {b"tamis": b"not JSON"}):
        pq.write_table(table.replace_schema_metadata(changed), file)
        with pytest.raises(UsageError, match="does not say that its highest scores are the ones to remove"):
            read_scores(tmp_path / "output_dir")


@pytest.mark.parametrize("gone", ["scores.parquet", "excluded.parquet"])
def test_scores_that_are_missing_or_torn_are_named(
    tmp_path: Path, pool: GradientIndex, target: GradientIndex, gone: str
) -> None:
    with pytest.raises(UsageError, match="output_dir: no scores there"):
        read_scores(tmp_path / "output_dir")
    score(ask(tmp_path, index=str(pool.folder)))
    file = tmp_path / "output_dir" / gone
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(UsageError, match=f"no scores there .{gone} is missing or unreadable"):
        read_scores(tmp_path / "output_dir")
    file.unlink()
    with pytest.raises(UsageError, match=f"no scores there .{gone} is missing or unreadable"):
        read_scores(tmp_path / "output_dir")


def test_a_target_of_another_recipe_is_refused(tmp_path: Path, pool: GradientIndex) -> None:
    pools.index(tmp_path / "target", *factors(3, 1), gradient={"seed": 1})
    with pytest.raises(UsageError, match="target: its gradients were made by another recipe than those of"):
        score(ask(tmp_path, index=str(pool.folder)))
    assert not (tmp_path / "output_dir").exists()


def test_an_empty_target_or_pool_is_refused(tmp_path: Path, pool: GradientIndex) -> None:
    pools.index(tmp_path / "target", *factors(3, 1), excluded=range(3))
    with pytest.raises(UsageError, match="target: no target row could be embedded"):
        score(ask(tmp_path, index=str(pool.folder)))
    with pytest.raises(UsageError, match="target: the index holds no row"):
        score(ask(tmp_path, index=str(tmp_path / "target"), target=str(pool.folder)))


def test_what_is_no_similarity_or_no_index_is_refused(tmp_path: Path, pool: GradientIndex) -> None:
    with pytest.raises(UsageError, match="--similarity euclid: not one of cosine, dot, layer-cosine"):
        score(ask(tmp_path, index=str(pool.folder), similarity="euclid"))
    with pytest.raises(UsageError, match="nowhere: not a gradient index"):
        score(ask(tmp_path, index=str(tmp_path / "nowhere")))


def test_a_rerun_gives_the_same_bytes_and_another_similarity_is_refused(
    tmp_path: Path, pool: GradientIndex, target: GradientIndex
) -> None:
    recipe = ask(tmp_path, index=str(pool.folder))
    score(recipe)
    before = contents(tmp_path / "output_dir")
    assert sorted(before) == ["excluded.parquet", "scores.parquet"]
    score(recipe)
    assert contents(tmp_path / "output_dir") == before
    with pytest.raises(UsageError, match="output_dir: holds something else"):
        score(ask(tmp_path, index=str(pool.folder), similarity="dot"))
    assert contents(tmp_path / "output_dir") == before


def test_target_rows_are_embedded_like_the_index(tmp_path: Path, embedded: Path) -> None:
    target = embed(pools.recipe(embedded, str(embedded / "target.jsonl"), tmp_path / "target"))
    by_index = score(ask(tmp_path, index=str(embedded / "index")))
    recipe = ask(
        tmp_path,
        index=str(embedded / "index"),
        target=str(embedded / "target.jsonl"),
        output_dir=f"{tmp_path}/rows",
    )
    by_rows = score(recipe)
    assert by_rows.table == by_index.table and by_rows.metadata == by_index.metadata
    assert by_rows.metadata["target_excluded"] == 1
    made = GradientIndex(tmp_path / "rows" / "target")
    assert made.rows == target.rows and made.excluded == target.excluded
    for ours, theirs in zip(made.shards(), target.shards(), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))

    before = contents(tmp_path / "rows")
    score(recipe)
    assert contents(tmp_path / "rows") == before
    other = ScoreRecipe(recipe.index, recipe.target, recipe.output_dir, similarity="dot")
    with pytest.raises(UsageError, match="rows: holds something else"):
        score(other)
    with pytest.raises(UsageError, match="name another --output_dir"):
        score(ScoreRecipe(recipe.index, str(embedded / "pool.jsonl"), recipe.output_dir))
    assert contents(tmp_path / "rows") == before


def test_target_rows_are_embedded_in_the_type_that_the_index_has(tmp_path: Path, embedded: Path) -> None:
    """A pool embedded on a GPU with `--dtype auto` is bfloat16; its targets have to be too, on a CPU as well."""
    recipe = pools.recipe(embedded, str(embedded / "pool.jsonl"), tmp_path / "index")
    embed(EmbedRecipe(**{**vars(recipe), "dtype": "bfloat16"}))
    manifest = tmp_path / "index" / "manifest.json"
    made = json.loads(manifest.read_text())
    made["recipe"]["dtype"] = "auto"
    manifest.write_text(json.dumps(made))
    score(ask(tmp_path, target=str(embedded / "target.jsonl"), device="cpu"))
    assert (
        GradientIndex(tmp_path / "output_dir" / "target").gradient_digest
        == GradientIndex(tmp_path / "index").gradient_digest
    )


def test_nothing_is_embedded_into_a_folder_of_something_else(tmp_path: Path, embedded: Path) -> None:
    (tmp_path / "output_dir").mkdir()
    (tmp_path / "output_dir" / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="output_dir: holds something else"):
        score(ask(tmp_path, index=str(embedded / "index"), target=str(embedded / "target.jsonl")))
    assert list(contents(tmp_path / "output_dir")) == ["thesis.txt"]


def test_a_model_that_changed_since_is_refused(tmp_path: Path) -> None:
    file = pools.write(tmp_path / "rows.jsonl", pools.records(3))
    embed(pools.recipe(tmp_path, file, tmp_path / "index"))
    tiny.saved(tmp_path / "model", seed=1)
    with pytest.raises(UsageError, match="cannot be embedded like the index: changed since: model_revision"):
        score(ask(tmp_path, target=file))


def test_target_rows_that_are_missing_or_unusable_are_named(tmp_path: Path, embedded: Path) -> None:
    missing = str(tmp_path / "nowhere.jsonl")
    with pytest.raises(UsageError, match=r"nowhere.jsonl: there is no such file or folder"):
        score(ask(tmp_path, index=str(embedded / "index"), target=missing))
    empty = pools.write(tmp_path / "empty.jsonl", [{"id": "a", "messages": []}])
    with pytest.raises(UsageError, match=r"empty.jsonl: no target row could be embedded"):
        score(ask(tmp_path, index=str(embedded / "index"), target=empty))
