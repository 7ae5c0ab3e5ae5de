"""bergson's per-example gradients of the same rows, beside the plain forward pass: runs in the peer's environment.

    python benchmarks/peer_bergson.py WORK_DIR REPEATS

`embed.py --peer bergson` calls it. WORK_DIR holds `model/` and `rows.json` (input ids and labels of every batch);
the answer is one JSON object on stdout. Only the loop over batches is timed: no start-up, no saving of the data
set.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import time
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1", "CUDA_VISIBLE_DEVICES": ""}

import torch
from bergson import GradientProcessor, IndexConfig, collect_gradients
from datasets import Dataset, disable_progress_bars
from transformers import AutoModelForCausalLM, PreTrainedModel


def watched(model: PreTrainedModel) -> set[str]:
    """The linear layers of the last four blocks by their names in the body."""
    first = model.config.num_hidden_layers - 4
    linears = (name for name, module in model.base_model.named_modules() if isinstance(module, torch.nn.Linear))
    return {name for name in linears if int(name.split(".")[1]) >= first}


def cpu_seconds(model: PreTrainedModel, work: Path, data: Dataset, batches: list[list[int]]) -> float:
    """CPU seconds of one index with 32 x 32 projections."""
    run = work / "bergson-index"
    for path in (run, Path(f"{run}.part")):
        shutil.rmtree(path, ignore_errors=True)
    Path(f"{run}.part").mkdir()
    began = time.process_time()
    collect_gradients(
        model,
        data,
        GradientProcessor(projection_dim=32, projection_type="normal"),
        IndexConfig(run_path=str(run), projection_dim=32, loss_reduction="sum"),
        batches=batches,
        target_modules=watched(model),
    )
    return time.process_time() - began


def plain_seconds(model: PreTrainedModel, data: Dataset, batches: list[list[int]]) -> float:
    """CPU seconds of the model's own forward pass with all logits."""
    began = time.process_time()
    with torch.no_grad():
        for batch in batches:
            rows = [torch.tensor(row) for row in data[batch]["input_ids"]]
            model(input_ids=torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), use_cache=False)
    return time.process_time() - began


def main(work: Path, repeats: int) -> None:
    """Prints the figures of every setting."""
    torch.set_num_threads(1)
    disable_progress_bars()
    logging.disable(logging.WARNING)
    given = json.loads((work / "rows.json").read_text())
    data = Dataset.from_dict({name: given[name] for name in ("input_ids", "labels")})
    model = AutoModelForCausalLM.from_pretrained(work / "model", dtype=torch.float32).eval()
    model.requires_grad_(False)
    results = {}
    for name in ("as its build command sets the model up", "with the graph cut below the last four blocks by us"):
        cut = None
        if name.startswith("as its"):
            model.get_input_embeddings().requires_grad_(True)
        else:
            model.get_input_embeddings().requires_grad_(False)
            model.base_model.norm.requires_grad_(True)  # it wants some trainable parameter, and this one is small
            cut = model.base_model.layers[-4].register_forward_pre_hook(_begin_graph)
        cpu_seconds(model, work, data, given["batches"][:1])
        pairs = []
        for _ in range(repeats):
            ours = cpu_seconds(model, work, data, given["batches"])
            pairs.append((ours, plain_seconds(model, data, given["batches"])))
        if cut:
            cut.remove()
        size = sum(path.stat().st_size for path in (work / "bergson-index.part").glob("*.bin"))
        results[name] = {"seconds": [a for a, _ in pairs], "plain": [b for _, b in pairs], "bytes": size}
    print(json.dumps(results))


def _begin_graph(_block: torch.nn.Module, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """The block's input as a leaf, where there is a gradient to take."""
    if not torch.is_grad_enabled():
        return args
    return (args[0].detach().requires_grad_(True), *args[1:])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
