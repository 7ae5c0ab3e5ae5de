"""bergson's per-example gradients of the same rows, beside the plain forward pass: runs in the peers' environment.

    python benchmarks/peer_bergson.py WORK_DIR

`peers.py` calls it; `peer_round.py` says what is timed and what is printed.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import torch
from bergson import GradientProcessor, IndexConfig, collect_gradients
from datasets import Dataset, disable_progress_bars
from peer_round import Index, measure, rows, watched
from transformers import PreTrainedModel


def indexing(work: Path) -> Index:
    """What makes an index of 32 x 32 projections of some batches."""
    given = rows(work)
    data = Dataset.from_dict({name: given[name] for name in ("input_ids", "labels")})
    run = work / "bergson-index"
    part = Path(f"{run}.part")

    def index(model: PreTrainedModel, batches: list[list[int]]) -> int:
        for path in (run, part):
            shutil.rmtree(path, ignore_errors=True)
        part.mkdir()
        collect_gradients(
            model,
            data,
            GradientProcessor(projection_dim=32, projection_type="normal"),
            IndexConfig(run_path=str(run), projection_dim=32, loss_reduction="sum"),
            batches=batches,
            target_modules=set(watched(model)),
        )
        return sum(path.stat().st_size for path in part.glob("*.bin"))

    return index


def as_it_comes(model: PreTrainedModel) -> None:
    """As its build command sets a frozen model up."""
    model.get_input_embeddings().requires_grad_(True)


def cut(model: PreTrainedModel) -> None:
    """The graph begins at the last four blocks."""
    model.base_model.norm.requires_grad_(True)  # it wants some trainable parameter, and this one is small
    model.base_model.layers[-4].register_forward_pre_hook(_begin_graph)


def _begin_graph(_block: torch.nn.Module, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """The block's input as a leaf, where there is a gradient to take."""
    if not torch.is_grad_enabled():
        return args
    return (args[0].detach().requires_grad_(True), *args[1:])


def main(work: Path) -> None:
    """Prints the figures of every setting."""
    disable_progress_bars()
    index = indexing(work)
    measure(
        work,
        {
            "as its build command sets the model up": (as_it_comes, index),
            "with the graph cut below the last four blocks by us": (cut, index),
        },
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
