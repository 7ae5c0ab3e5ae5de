"""One round of a peer: each of its settings over the same rows, beside the plain forward pass in the same process.

Runs in the peers' environment, from `peer_bergson.py` or `peer_dattri.py`. `peers.py` leaves `model/` and
`rows.json` (input ids and labels, and which rows make which batch) in the work folder; the answer is one JSON
object on stdout. Only the loop over batches is timed: no start-up, no saving of the data set.
"""

from __future__ import annotations

import json
import logging
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForCausalLM, PreTrainedModel

Index = Callable[[PreTrainedModel, list[list[int]]], int]
"""Takes every gradient of these batches and keeps it on disk; the bytes that it takes there."""


def rows(work: Path) -> dict[str, Any]:
    """`input_ids` and `labels` of every row, and `batches` of their positions."""
    return dict(json.loads((work / "rows.json").read_text()))


def padded(sequences: list[list[int]], filling: int) -> torch.Tensor:
    """The sequences as one tensor, `[rows, longest]` int64."""
    return pad_sequence([torch.tensor(one) for one in sequences], batch_first=True, padding_value=filling)


def watched(model: PreTrainedModel) -> list[str]:
    """The linear layers of the last four blocks, by their names in the body."""
    first = model.config.num_hidden_layers - 4
    linears = (name for name, module in model.base_model.named_modules() if isinstance(module, torch.nn.Linear))
    return [name for name in linears if int(name.split(".")[1]) >= first]


def measure(work: Path, settings: Mapping[str, tuple[Callable[[PreTrainedModel], object], Index]]) -> None:
    """Prints the CPU seconds of every setting and of the plain forward pass after it, and the bytes on disk.

    Args:
        work: The folder that `peers.py` made.
        settings: By name, what prepares a frozen model, and what makes an index with it.
    """
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    given = rows(work)
    results = {}
    for name, (prepare, index) in settings.items():
        model = AutoModelForCausalLM.from_pretrained(work / "model", dtype=torch.float32).eval()
        model.requires_grad_(False)
        prepare(model)
        index(model, given["batches"][:1])
        began = time.process_time()
        size = index(model, given["batches"])
        seconds = time.process_time() - began
        began = time.process_time()
        with torch.no_grad():
            for batch in given["batches"]:
                model(input_ids=padded([given["input_ids"][i] for i in batch], 0), use_cache=False)
        results[name] = {"seconds": seconds, "plain": time.process_time() - began, "bytes": size}
    print(json.dumps(results))
