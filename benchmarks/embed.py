"""What embedding costs, against a plain forward pass of the same model over the same batches, in one run.

    python benchmarks/embed.py
    python benchmarks/embed.py --format json --repeats 3

A random Llama of 22 million parameters (12 layers, hidden 384, feed-forward 1,024, 6 heads with 2 key-value heads,
vocabulary 8,192, tied), 64 chats of about 240 tokens, one thread, float32. The embedding is everything from token
ids to float16 factors (capture, projection, rank one); the forward pass is the model's own, without gradient, with
full logits. The two are timed in CPU seconds, batch by batch in turn, so that both see the same machine.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from tamis.chat import Example
from tamis.gradients.capture import GradientCapture
from tamis.gradients.embedder import batches
from tamis.gradients.factor import rank_one
from tamis.gradients.project import gaussian
from tamis.recipe import EmbedRecipe

TOKENS = 240
CONFIG = LlamaConfig(
    vocab_size=8192,
    hidden_size=384,
    intermediate_size=1024,
    num_hidden_layers=12,
    num_attention_heads=6,
    num_key_value_heads=2,
    tie_word_embeddings=True,
)


def chats(rows: int, labelled: float, tokens: int = TOKENS, spread: int = 40) -> list[Example]:
    """Random chats of about so many tokens that end in an answer with the labelled share of the tokens."""
    rng = np.random.default_rng(0)
    made = []
    for length in rng.integers(tokens - spread, tokens + spread + 1, rows):
        prompt = max(1, round(length * (1 - labelled)))
        mask = [position >= prompt for position in range(length)]
        made.append(Example(rng.integers(0, CONFIG.vocab_size, length).tolist(), mask))
    return made


def forward(model: LlamaForCausalLM, batch: list[Example]) -> None:
    """The model's own forward pass with all logits."""
    ids = torch.zeros(len(batch), max(len(example.input_ids) for example in batch), dtype=torch.long)
    for row, example in enumerate(batch):
        ids[row, : len(example.input_ids)] = torch.tensor(example.input_ids)
    with torch.no_grad():
        model(input_ids=ids, use_cache=False)


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    began = time.process_time()
    work()
    return time.process_time() - began


class Paired(NamedTuple):
    """The ratio to the forward pass of each repeat; at the median, rows per CPU second; and bytes a row."""

    ratios: list[float]
    rows_per_second: float
    bytes_per_row: float


def paired(model: LlamaForCausalLM, rows: list[Example], repeats: int) -> Paired:
    """Embedding and the plain forward pass of the same batches in turn."""
    lengths = [len(row.input_ids) for row in rows]
    work = [[rows[i] for i in batch] for batch in batches(lengths, EmbedRecipe.batch_tokens)]
    plain_model = copy.deepcopy(model)
    ratios, seconds, size = [], [], 0
    with GradientCapture(model) as capture:
        start = torch.from_numpy(np.stack([gaussian(0, name, "start", 32, 1)[:, 0] for name in capture.modules]))

        def embed(batch: list[Example]) -> int:
            factors = rank_one(capture(batch).matrices, start)
            return sum(side.numpy().astype(np.float16).nbytes for side in (factors.u, factors.v))

        size = sum(embed(batch) for batch in work)
        for _ in range(repeats):
            ours, plain = 0.0, 0.0
            for batch in work:
                ours += cpu_seconds(lambda batch=batch: embed(batch))
                plain += cpu_seconds(lambda batch=batch: forward(plain_model, batch))
            ratios.append(ours / plain)
            seconds.append(ours)
    return Paired(ratios, len(rows) / statistics.median(seconds), size / len(rows))


class PeakAnonymousMemory:
    """Samples RssAnon, the process's memory that no file stands behind, while the block runs."""

    def __enter__(self) -> PeakAnonymousMemory:
        self.megabytes, self._stop = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(0.02):
            status = Path("/proc/self/status").read_text()
            self.megabytes = max(self.megabytes, int(status.partition("RssAnon:")[2].split()[0]) / 1024)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument(
        "--peer", choices=["bergson", "dattri-llm", "all"], help="measures it in the same run (see peers.py)"
    )
    parser.add_argument("--work_dir", type=Path, default=Path(__file__).parents[1] / "bench-run")
    parser.add_argument("--keep", action="store_true", help="keep the result in benchmarks/results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = LlamaForCausalLM(CONFIG).eval()
    with PeakAnonymousMemory() as memory:
        most, rows_per_second, bytes_per_row = paired(model, chats(options.rows, 0.6), options.repeats)
    every = paired(model, chats(options.rows, 1.0), options.repeats).ratios
    result = {
        "ratio_to_forward": round(statistics.median(most), 3),
        "ratio_to_forward_all": round(statistics.median(every), 3),
        "rows_per_cpu_second": round(rows_per_second, 2),
        "peak_rss_mb": round(memory.megabytes),
        "bytes_per_row": round(bytes_per_row),
        "ratio_to_forward_range": [round(min(most), 3), round(max(most), 3)],
        "ratio_to_forward_all_range": [round(min(every), 3), round(max(every), 3)],
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "rows": options.rows,
        "repeats": options.repeats,
    }
    if options.peer:
        from peers import measure

        options.labelled = 0.6
        result |= measure(options)["against_peers"]
    if options.keep:
        path = Path(__file__).parent / "results" / "embed.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(result, indent=1) + "\n")
    if options.format == "json":
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name:<28} {value}")


if __name__ == "__main__":
    main()
