"""How many rows a second a GPU embeds, where the time goes, and what share of the GPU's peak that is.

    python benchmarks/device.py --profile
    python benchmarks/device.py --device cpu --layers 6 --rows 8 --tokens 256 --batch_tokens 1024

Qwen3-0.6B's architecture with random weights; random rows of 700 tokens, of which the last 60 % are an answer. The
embedding is everything from token ids to float16 factors on the host, as `tamis embed` does it, without rendering
and writing. The plain forward pass, without gradient and with all logits, is timed batch by batch in turn with it:
in wall seconds on a GPU, in CPU seconds on a CPU. Everything has run before it is timed.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import flops
import numpy as np
import torch
from device_profile import profile
from embed import PeakAnonymousMemory
from transformers import AutoModelForCausalLM

from tamis.chat import Example
from tamis.gradients.capture import GradientCapture
from tamis.gradients.embedder import batches, rank_one_gradients
from tamis.gradients.project import gaussian
from tamis.models import resolve_device

LABELLED, LAST_K, PROJ_DIM = 0.6, 4, 32


class Bench:
    """A model, rows in batches, and the two things that are done with a batch."""

    def __init__(self, options: argparse.Namespace) -> None:
        torch.set_float32_matmul_precision("highest")
        torch.manual_seed(0)
        self.device = resolve_device(options.device)
        self.cuda = self.device.type == "cuda"
        dtype = ("bfloat16" if self.cuda else "float32") if options.dtype == "auto" else options.dtype
        self.config = copy.deepcopy(flops.QWEN3)
        self.config.num_hidden_layers = options.layers
        self.config.layer_types = self.config.layer_types[: options.layers]
        with torch.device(self.device):
            self.model = AutoModelForCausalLM.from_config(self.config, dtype=getattr(torch, dtype)).eval()
        weights = [*self.model.parameters(), *self.model.buffers()]
        self._plain = copy.deepcopy(self.model, {id(weight): weight for weight in weights})  # without hooks
        self._capture = GradientCapture(self.model, last_k=LAST_K, proj_dim=PROJ_DIM)
        self.dtype = str(self.model.dtype).removeprefix("torch.")
        starts = [gaussian(0, name, "start", PROJ_DIM, 1)[:, 0] for name in self._capture.modules]
        self._start = torch.from_numpy(np.stack(starts)).to(self.device)
        self.labelled = min(round(options.tokens * LABELLED), options.tokens - 1)
        mask = [position >= options.tokens - self.labelled for position in range(options.tokens)]
        ids = np.random.default_rng(0).integers(0, self.config.vocab_size, (options.rows, options.tokens))
        in_batches = batches([options.tokens] * options.rows, options.batch_tokens)
        self.batches = [[Example(ids[i].tolist(), mask) for i in batch] for batch in in_batches]

    def embed(self, batch: list[Example]) -> None:
        """From token ids to float16 factors on the host."""
        factored, _ = rank_one_gradients(self._capture, self._start, batch)
        for side in (factored.u, factored.v):
            side.numpy().astype(np.float16)

    def forward(self, batch: list[Example]) -> None:
        """The model's own forward pass with all logits."""
        with torch.no_grad():
            ids = torch.tensor([example.input_ids for example in batch]).to(self.device)
            self._plain(input_ids=ids, use_cache=False)

    def seconds(self, work: Callable[[list[Example]], None], batch: list[Example]) -> float:
        """Of one call: CPU seconds on a CPU, wall seconds until a GPU is done."""
        clock = time.perf_counter if self.cuda else time.process_time
        began = clock()
        work(batch)
        if self.cuda:
            torch.cuda.synchronize()
        return clock() - began


def warmed_up(bench: Bench) -> float:
    """The peak memory of the embedding in MiB, after everything has run once."""
    bench.embed(bench.batches[0])
    if bench.cuda:
        torch.cuda.reset_peak_memory_stats()
    with PeakAnonymousMemory() as memory:
        for batch in bench.batches:
            bench.embed(batch)
    peak = torch.cuda.max_memory_allocated() / 2**20 if bench.cuda else memory.megabytes
    for batch in {len(batch): batch for batch in bench.batches}.values():
        bench.forward(batch)
    return peak


def measure(options: argparse.Namespace) -> dict[str, object]:
    """Every figure that is printed."""
    bench = Bench(options)
    peak_memory = warmed_up(bench)
    ours, ratios = [], []
    for _ in range(options.repeats):
        pairs = [(bench.seconds(bench.embed, b), bench.seconds(bench.forward, b)) for b in bench.batches]
        mine, plain = map(sum, zip(*pairs, strict=True))
        ours.append(mine)
        ratios.append(mine / plain)
    row = sum(flops.embedding(bench.config, options.tokens, bench.labelled, LAST_K, PROJ_DIM).values())
    name = torch.cuda.get_device_name(bench.device) if bench.cuda else "CPU"
    per_second = options.rows / statistics.median(ours)
    known = flops.PEAK_TFLOPS.get(name, {}).get(bench.dtype)
    result: dict[str, object] = {
        "device": name,
        "rows_per_second": round(per_second, 2),
        "rows_per_second_range": [round(options.rows / seconds, 2) for seconds in (max(ours), min(ours))],
        "ratio_to_forward": round(statistics.median(ratios), 3),
        "ratio_to_forward_range": [round(min(ratios), 3), round(max(ratios), 3)],
        "peak_memory_mb": round(peak_memory),
        "gflop_per_row": round(row / 1e9, 1),
        "share_of_peak": None if known is None else round(row * per_second / known / 1e12, 3),
        "counted_ratio_whole_60": round(flops.ratio(flops.QWEN3, 700, 0.6), 3),
        "counted_ratio_whole_100": round(flops.ratio(flops.QWEN3, 700, 1.0), 3),
        "counted_ratio": round(row / flops.forward(bench.config, options.tokens), 3),
        "dtype": bench.dtype,
        **{key: getattr(options, key) for key in ("layers", "rows", "tokens", "batch_tokens", "repeats")},
        "threads": torch.get_num_threads(),
    }
    if options.profile:
        result["profile"], busy = profile(
            bench.model, LAST_K, lambda: [*map(bench.embed, bench.batches)], bench.device
        )
        result["device_busy"] = round(busy / statistics.median(ours), 3) if bench.cuda else None
    return result


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", choices=["auto", "float32", "bfloat16", "float16"], default="auto")
    for name, default in {"layers": 28, "rows": 512, "tokens": 700, "batch_tokens": 16384, "repeats": 3}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--profile", action="store_true", help="say where the time goes")
    parser.add_argument("--keep", action="store_true", help="keep the result in benchmarks/results")
    options = parser.parse_args()
    result = measure(options)
    if options.keep:
        path = Path(__file__).parent / "results" / "device.json"
        path.write_text(json.dumps(result, indent=1) + "\n")
    if options.format == "json":
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name:<24} {value}")


if __name__ == "__main__":
    main()
