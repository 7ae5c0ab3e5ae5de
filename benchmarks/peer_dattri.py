"""dattri-llm's per-example gradients of the same rows, beside the plain forward pass: in the peers' environment.

    python benchmarks/peer_dattri.py WORK_DIR

`peers.py` calls it; `peer_round.py` says what is timed and what is printed. Its "logra" style with capture style
"materialized" is the same projection as ours: Gaussian on both sides of every layer's gradient, to 32 x 32. The
loop over batches is the caller's, and the loss the model's own, summed over the labelled tokens.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from dattri_llm import GradientStorageManager, HookManager, HookManagerConfig, OffloadCallback
from peer_round import Index, measure, padded, rows, watched
from transformers import PreTrainedModel

PROJECTION = {"style": "logra", "proj_dim": 32, "proj_max_batch_size": 32, "proj_type": "normal"}


def indexing(work: Path) -> Index:
    """What makes a store of 32 x 32 projections of some batches."""
    given = rows(work)
    store = work / "dattri-store"

    def index(model: PreTrainedModel, batches: list[list[int]]) -> int:
        shutil.rmtree(store, ignore_errors=True)
        config = HookManagerConfig(
            linear_io=[rf"^model\.{re.escape(name)}$" for name in watched(model)],
            projection_kwargs={"__default__": PROJECTION},
            capture_style="materialized",
            include_frozen=True,
        )
        offload = OffloadCallback(offload_interval=1, file_manager=GradientStorageManager(str(store)))
        with HookManager(model, config=config, callbacks=[offload]).collect(deregister_on_exit=True):
            for batch in batches:
                ids, labels = ([given[name][i] for i in batch] for name in ("input_ids", "labels"))
                output = model(
                    input_ids=padded(ids, 0), labels=padded(labels, -100), use_cache=False, num_items_in_batch=1
                )
                output.loss.backward()
                model.zero_grad()
        return sum(path.stat().st_size for path in store.rglob("*.bin"))

    return index


def as_it_comes(model: PreTrainedModel) -> None:
    """All frozen but the embedding, as its documentation shows for frozen models."""
    model.get_input_embeddings().requires_grad_(True)


def cut(model: PreTrainedModel) -> None:
    """All frozen but the first norm of the last four blocks, so that the graph begins there."""
    model.base_model.layers[-4].input_layernorm.requires_grad_(True)


def main(work: Path) -> None:
    """Prints the figures of every setting."""
    index = indexing(work)
    measure(
        work,
        {
            "frozen but for the embedding, as its documentation shows": (as_it_comes, index),
            "frozen but for the first norm of the last four blocks, chosen by us": (cut, index),
        },
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
