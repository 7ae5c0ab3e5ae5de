"""Where the device's memory does not hold a batch: it is halved and the run goes on, to the same rows."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from test_embed import factors
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

import pools
import tiny
from pools import chat, contents, write
from tamis import cli
from tamis.gradients.embed import embed, estimate
from tamis.gradients.store import GradientIndex
from tamis.recipe import EmbedRecipe, to_dict

SHARDS = 3


class SmallMemory:
    """Lets the last block of any Llama run out of memory above this many positions, and notes what it sees."""

    def __init__(self) -> None:
        self.most, self.seen = 1 << 30, list[int]()
        self._held: weakref.ref[torch.Tensor] | None = None

    def __call__(self, module: nn.Module, args: tuple[torch.Tensor, ...]) -> None:
        if not isinstance(module, LlamaDecoderLayer) or module.self_attn.layer_idx < 2:
            return
        assert self._held is None or self._held() is None, "the failed attempt still holds its activations"
        self._held = None
        positions = args[0].shape[0] * args[0].shape[1]
        self.seen.append(positions)
        if positions > self.most:
            self._held = weakref.ref(args[0])
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


@pytest.fixture
def memory() -> Iterator[SmallMemory]:
    memory = SmallMemory()
    hook = register_module_forward_pre_hook(memory)
    yield memory
    hook.remove()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> EmbedRecipe:
    """A recipe of 24 rows in three shards, of which one row of the last is long; its index is there."""
    folder = tmp_path_factory.mktemp("undisturbed")
    rows = [chat(i) for i in range(24)]
    rows[20]["messages"][1]["content"] += " yes" * 40  # type: ignore[index]
    write(folder / "pool.jsonl", rows)
    plain = pools.recipe(folder, str(folder / "pool.jsonl"), folder / "index")
    recipe = replace(plain, last_k=2, max_length=256, batch_tokens=100, shard_rows=8)
    embed(recipe)
    return recipe


def same_rows(folder: str, other: str) -> None:
    one, two = GradientIndex(folder), GradientIndex(other)
    for mine, its in zip(factors(one), factors(two), strict=True):
        assert mine == pytest.approx(its, abs=1e-3)
    for name in ("norm", "loss", "energy"):
        assert one.rows[name].to_numpy() == pytest.approx(two.rows[name].to_numpy(), rel=1e-4)
    assert one.rows.drop(["norm", "loss", "energy"]).equals(two.rows.drop(["norm", "loss", "energy"]))


def test_a_batch_that_does_not_fit_is_halved_and_so_are_those_after_it(
    undisturbed: EmbedRecipe, tmp_path: Path, memory: SmallMemory, capsys: pytest.CaptureFixture[str]
) -> None:
    lengths = GradientIndex(undisturbed.output_dir).rows["tokens"].to_pylist()
    memory.most = max(lengths)
    embed(replace(undisturbed, output_dir=str(tmp_path / "index")))
    same_rows(str(tmp_path / "index"), undisturbed.output_dir)
    said = [line for line in capsys.readouterr().err.splitlines() if "the memory of cpu does not hold" in line]
    failed = [positions for positions in memory.seen if positions > memory.most]
    assert len(said) == len(failed) > 0
    last = int(said[-1].rpartition(" ")[2])
    assert max(memory.seen[memory.seen.index(failed[-1]) + 1 :]) <= max(last, *lengths)


def test_where_all_fits_the_budget_is_the_recipes_and_the_bytes_repeat(
    undisturbed: EmbedRecipe, tmp_path: Path, memory: SmallMemory
) -> None:
    embed(replace(undisturbed, output_dir=str(tmp_path / "index")))
    assert contents(tmp_path / "index") == contents(undisturbed.output_dir)
    assert max(memory.seen) <= undisturbed.batch_tokens < sum(memory.seen)


def test_no_row_is_embedded_twice_or_left_out_where_the_memory_is_small(
    undisturbed: EmbedRecipe, tmp_path: Path, memory: SmallMemory
) -> None:
    """Down to batches of one row."""
    rows = GradientIndex(undisturbed.output_dir).rows
    memory.most = max(rows["tokens"].to_pylist())
    recipe = replace(undisturbed, output_dir=str(tmp_path / "index"), batch_tokens=1 << 20)
    embed(recipe)
    assert GradientIndex(recipe.output_dir).rows["row_id"].equals(rows["row_id"])
    assert sum(positions > memory.most for positions in memory.seen) >= 1


def test_a_row_that_does_not_fit_alone_is_named_and_the_run_goes_on_elsewhere(
    undisturbed: EmbedRecipe, tmp_path: Path, memory: SmallMemory, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = replace(undisturbed, output_dir=str(tmp_path / "index"))
    tokens = GradientIndex(undisturbed.output_dir).rows["tokens"].to_pylist()
    memory.most = sorted(tokens)[-2]
    flags = [part for name, value in to_dict(recipe).items() if value for part in (f"--{name}", str(value))]
    assert cli.main(["embed", *flags]) == 1
    *_, error = capsys.readouterr().err.splitlines()
    assert error.startswith("tamis: row r20: ") and f"its {tokens[20]} tokens" in error
    assert "--max_length" in error and "--dtype" in error
    whole = {path.name: path.read_bytes() for path in (tmp_path / "index").glob("shard-*")}
    assert len(whole) == SHARDS - 1

    memory.most = 1 << 30
    embed(recipe)
    assert capsys.readouterr().err.count("already there") == SHARDS - 1
    assert whole.items() <= contents(recipe.output_dir).items()
    same_rows(recipe.output_dir, undisturbed.output_dir)


def test_a_dry_run_finds_its_budget_too(undisturbed: EmbedRecipe, memory: SmallMemory) -> None:
    memory.most = max(GradientIndex(undisturbed.output_dir).rows["tokens"].to_pylist())
    assert estimate(replace(undisturbed, batch_tokens=1 << 20)).rows == 24
    assert any(positions > memory.most for positions in memory.seen)


def test_the_memory_of_a_failed_attempt_would_be_seen(memory: SmallMemory) -> None:
    """The check inside `SmallMemory` can fail: here the exception is kept."""
    memory.most = 4
    model, ids = tiny.model(), torch.arange(8)[None]
    with pytest.raises(torch.OutOfMemoryError) as kept:
        model(ids)
    with pytest.raises(AssertionError, match="still holds"):
        model(ids)
    assert kept.value.__traceback__ is not None
