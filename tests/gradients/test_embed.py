"""Embedding a data set: each row once, resumable, refused when anything that decides the bytes has changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tiny
from pools import chat, contents, write
from tamis.chat import ChatRenderer
from tamis.errors import UsageError, WorkError
from tamis.gradients.capture import GradientCapture
from tamis.gradients.embed import embed, estimate
from tamis.gradients.embedder import batches
from tamis.gradients.store import GradientIndex
from tamis.recipe import EmbedRecipe


def factors(index: GradientIndex) -> tuple[np.ndarray, np.ndarray]:
    u, v = zip(*index.shards(), strict=True)
    return np.concatenate(u), np.concatenate(v)


def test_the_index_is_the_capture_of_each_row_alone(recipe: EmbedRecipe) -> None:
    index = embed(recipe)
    assert index.rows["row_id"].to_pylist() == [f"r{i}" for i in range(10)]
    assert index.shard_rows() == [4, 4, 2]
    u, v = factors(index)
    assert u.dtype == np.float16 and u.shape == (10, 14, 8)
    norms = np.sqrt((np.square(u.astype(float)).sum(-1) * np.square(v.astype(float)).sum(-1)).sum(1))
    assert np.allclose(norms, 1, atol=2e-3)
    chats = ChatRenderer(tiny.tokenizer(), 64)
    with GradientCapture(tiny.model(), last_k=2, proj_dim=8) as capture:
        assert index.modules == list(capture.modules)
        for row in range(10):
            example = chats.render(chat(row)["messages"])  # type: ignore[arg-type]
            alone = capture([example])
            truth = (alone.matrices[0] * float(alone.scale[0])).double().numpy()
            left, sigma, right = np.linalg.svd(truth)
            best = sigma[:, 0]
            norm = np.sqrt((best**2).sum())
            assert index.rows["norm"][row].as_py() == pytest.approx(norm, rel=0.02)
            mine = np.einsum("lo,li->loi", u[row].astype(float), v[row].astype(float))
            its = np.einsum("l,lo,li->loi", best, left[:, :, 0], right[:, 0]) / norm
            assert float((mine * its).sum()) > 0.97
            assert index.rows["tokens"][row].as_py() == len(example.input_ids)
            assert index.rows["response_tokens"][row].as_py() == sum(example.response_mask)


def test_a_rerun_writes_the_same_bytes_and_embeds_nothing(
    recipe: EmbedRecipe, capsys: pytest.CaptureFixture[str]
) -> None:
    embed(recipe)
    before = contents(recipe.output_dir)
    stamps = {path: path.stat().st_mtime_ns for path in Path(recipe.output_dir).glob("shard-*")}
    embed(recipe)
    assert contents(recipe.output_dir) == before
    assert {path: path.stat().st_mtime_ns for path in Path(recipe.output_dir).glob("shard-*")} == stamps
    assert capsys.readouterr().err.count("already there") == 3


@pytest.mark.parametrize(
    "lost", [("shard-00001",), ("shard-00000", "shard-00002"), ("rows.parquet", "shard-00002")]
)
def test_a_run_that_stopped_goes_on_to_the_same_bytes(recipe: EmbedRecipe, lost: tuple[str, ...]) -> None:
    embed(recipe)
    folder = Path(recipe.output_dir)
    before = contents(folder)
    for name in lost:
        next(folder.glob(f"{name}*")).unlink()
    manifest = json.loads((folder / "manifest.json").read_text())
    began = {k: v for k, v in manifest.items() if k not in ("rows", "excluded", "shards")} | {"complete": False}
    (folder / "manifest.json").write_text(json.dumps(began))
    (folder / ".shard-00002.safetensors.partial").write_bytes(b"half of a shard")
    with pytest.raises(UsageError, match="not finished"):
        GradientIndex(folder)
    embed(recipe)
    after = contents(folder)
    after.pop(".shard-00002.safetensors.partial", None)
    assert after == before


def test_a_torn_shard_is_named_and_not_used(recipe: EmbedRecipe) -> None:
    embed(recipe)
    shard = Path(recipe.output_dir) / "shard-00001.safetensors"
    shard.write_bytes(shard.read_bytes()[:-7])
    with pytest.raises(WorkError, match=r"shard-00001\.safetensors"):
        embed(recipe)
    with pytest.raises(WorkError, match=r"shard-00001\.safetensors"):
        list(GradientIndex(recipe.output_dir).shards())


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 1}, "gradient.seed (0 there, 1 now)"),
        ({"last_k": 3}, "gradient.modules"),
        ({"proj_dim": 4}, "gradient.proj_dim (8 there, 4 now)"),
        ({"max_length": 32}, "gradient.max_length (64 there, 32 now)"),
        ({"shard_rows": 5}, "shard_rows (4 there, 5 now)"),
        ({"max_samples": 6}, "data.fingerprint"),
    ],
)
def test_another_recipe_is_refused_and_named(recipe: EmbedRecipe, change: dict[str, int], named: str) -> None:
    embed(recipe)
    before = contents(recipe.output_dir)
    with pytest.raises(UsageError, match="another recipe") as error:
        embed(replace(recipe, **change))
    assert named in str(error.value) and "\n" not in str(error.value)
    assert contents(recipe.output_dir) == before


def test_other_rows_and_other_weights_are_refused(recipe: EmbedRecipe, tmp_path: Path) -> None:
    embed(recipe)
    with pytest.raises(UsageError, match=r"gradient\.model_revision"):
        embed(replace(recipe, model_name_or_path=tiny.saved(tmp_path / "other", seed=1)))
    changed = [chat(i) for i in range(10)]
    changed[3]["messages"] = chat(4)["messages"]
    write(Path(recipe.dataset_name), changed)
    with pytest.raises(UsageError, match=r"data\.fingerprint"):
        embed(recipe)


def test_the_same_model_and_rows_elsewhere_are_the_same(recipe: EmbedRecipe, tmp_path: Path) -> None:
    embed(recipe)
    moved = tmp_path / "moved"
    moved.mkdir()
    Path(recipe.dataset_name).rename(moved / "pool.jsonl")
    embed(
        replace(recipe, dataset_name=str(moved / "pool.jsonl"), model_name_or_path=tiny.saved(tmp_path / "again"))
    )


def test_a_folder_that_holds_something_else_is_left_alone(recipe: EmbedRecipe) -> None:
    folder = Path(recipe.output_dir)
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="not a gradient index"):
        embed(recipe)
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


def test_rows_that_cannot_be_used_are_listed_with_their_reason(recipe: EmbedRecipe) -> None:
    rows = [chat(i) for i in range(10)]
    rows[2]["messages"] = [{"role": "user", "content": "hello"}]
    rows[5]["messages"] = None
    rows[6]["messages"] = [{"role": "user", "content": "hello"}, {"role": "robot", "content": "hello"}]
    rows[9]["messages"] = chat(1)["messages"]
    write(Path(recipe.dataset_name), rows)
    index = embed(recipe)
    reasons = dict(zip(index.excluded["row_id"].to_pylist(), index.excluded["reason"].to_pylist(), strict=True))
    assert reasons == {
        "r2": "no assistant turn",
        "r5": "messages is empty",
        "r6": "message 2 has the unknown role 'robot'",
    }
    assert sorted([*index.rows["index"].to_pylist(), *index.excluded["index"].to_pylist()]) == list(range(10))
    flags = dict(zip(index.rows["row_id"].to_pylist(), index.rows["flags"].to_pylist(), strict=True))
    assert [row for row, flag in flags.items() if "duplicate" in flag] == ["r9"]


def test_a_pool_without_a_usable_row_is_an_empty_index(recipe: EmbedRecipe) -> None:
    write(Path(recipe.dataset_name), [{"id": "a", "messages": [{"role": "user", "content": "hello"}]}])
    index = embed(recipe)
    assert len(index) == 0 and len(index.excluded) == 1
    with pytest.raises(UsageError, match="none of its rows"):
        estimate(recipe)


def test_truncated_rows_say_so(recipe: EmbedRecipe) -> None:
    rows = [chat(i) for i in range(3)]
    rows[1]["messages"] = [
        {"role": "user", "content": "what is this? " * 60},
        {"role": "assistant", "content": "the answer is yes"},
    ]
    write(Path(recipe.dataset_name), rows)
    index = embed(recipe)
    assert index.rows["truncated"].to_pylist() == [False, True, False]
    assert index.rows["tokens"].to_pylist()[1] == 64


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_window_longer_than_the_model_is_refused(recipe: EmbedRecipe, tmp_path: Path, kind: str) -> None:
    """A learned position that does not exist would be an index error in the middle of a run."""
    model = tiny.saved(tmp_path / kind, kind)
    positions = tiny.CONFIGS[kind].max_position_embeddings
    with pytest.raises(UsageError, match=f"--max_length {positions + 1}: .* holds {positions} positions"):
        embed(replace(recipe, model_name_or_path=model, max_length=positions + 1))
    assert not Path(recipe.output_dir).exists()
    assert len(embed(replace(recipe, model_name_or_path=model, max_length=positions))) == 10


def test_a_dry_run_writes_nothing(recipe: EmbedRecipe) -> None:
    cost = estimate(recipe)
    assert cost.rows == 10 and cost.bytes_on_disk == 10 * 2 * 14 * 8 * 2
    assert cost.seconds == pytest.approx(10 / cost.rows_per_second)
    assert not Path(recipe.output_dir).exists()


def test_batches_hold_every_row_once_within_the_budget() -> None:
    lengths = [5, 90, 7, 7, 30, 200, 6]
    found = list(batches(lengths, 100))
    assert sorted(i for batch in found for i in batch) == list(range(7))
    assert all(len(batch) * max(lengths[i] for i in batch) <= 100 or len(batch) == 1 for batch in found)
