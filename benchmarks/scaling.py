"""What `tamis.embed` costs against rows, tokens a row and processes, and whether its memory grows with the rows.

    python benchmarks/scaling.py
    python benchmarks/scaling.py --format json --rows 1000 8000 --processes

Every run is `tamis.embed` from a file of chats to a finished index, one thread, in a process of its own; CPU and
wall seconds are of that call alone, and so is the highest RssAnon (memory that no file stands behind).

- Rows: short chats and a model so small that the machinery is seen rather than the model. The same call on the
  finished index follows: it reads, fingerprints, checks and joins, and embeds nothing.
- Tokens a row: the Llama of `embed.py`, always the same number of tokens in all; beside it embedding against the
  plain forward pass, batch by batch in turn.
- Processes: `accelerate launch` of `training/embed_gradients.py`, start-up included and, by a launch on the
  finished index, apart.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from embed import CONFIG, TOKENS, PeakAnonymousMemory, chats, paired
from scaling_data import SHARE, TINY, save_model, save_rows
from transformers import LlamaForCausalLM

import tamis

HERE = Path(__file__).parent
SHORT = 24


def recipe(model: Path, rows: Path, index: Path, **more: int) -> dict[str, Any]:
    """The fields of a recipe."""
    names = {"dataset_name": rows, "model_name_or_path": model, "output_dir": index}
    return {**{key: str(path) for key, path in names.items()}, "device": "cpu", **more}


def once(fields: dict[str, Any]) -> dict[str, float]:
    """What one `tamis.embed` costs in this process."""
    torch.set_num_threads(1)
    with PeakAnonymousMemory() as memory:
        wall, cpu = time.perf_counter(), time.process_time()
        tamis.embed(tamis.EmbedRecipe(**fields))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "cpu_seconds": round(cpu, 2),
        "wall_seconds": round(wall, 2),
        "peak_rss_mb": round(memory.megabytes, 1),
    }


def apart(fields: dict[str, Any]) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--once", json.dumps(fields)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def against_rows(work: Path, counts: list[int]) -> dict[str, Any]:
    """Every number of rows, and what one row more costs between the two largest numbers."""
    save_model(work / "tiny", TINY)
    found = []
    for count in counts:
        file = work / f"rows-{count}.jsonl"
        save_rows(file, count, SHORT, TINY.vocab_size)
        fields = recipe(work / "tiny", file, work / f"index-{count}", last_k=1, max_length=64)
        first, again = apart(fields), apart(fields)
        found.append({"rows": count, **first, **{f"again_{name}": value for name, value in again.items()}})
    return {"tokens_per_row": SHORT, "runs": found, "one_row_more": one_row_more(*found[-2:])}


def one_row_more(less: dict[str, float], most: dict[str, float]) -> dict[str, float]:
    """What a row costs on top, from two runs of different numbers of rows."""
    more = most["rows"] - less["rows"]
    figures = (
        ("cpu_ms", "cpu_seconds", 1e3),
        ("again_cpu_ms", "again_cpu_seconds", 1e3),
        ("memory_bytes", "peak_rss_mb", 2**20),
        ("again_memory_bytes", "again_peak_rss_mb", 2**20),
    )
    return {name: round((most[key] - less[key]) * unit / more, 2) for name, key, unit in figures}


def against_tokens(work: Path, lengths: list[int], total: int, repeats: int) -> dict[str, Any]:
    """Every length at the same number of tokens in all, with the ratio to the plain forward pass."""
    torch.manual_seed(0)
    model = LlamaForCausalLM(CONFIG).eval()
    found = []
    for length in lengths:
        rows = max(1, total // length)
        file = work / f"long-{length}.jsonl"
        save_rows(file, rows, length, CONFIG.vocab_size)
        cost = apart(recipe(work / "model", file, work / f"tokens-{length}"))
        ratio = statistics.median(paired(model, chats(rows, SHARE, length, spread=0), repeats).ratios)
        ms = 1e3 * cost["cpu_seconds"] / (rows * length)
        found.append(
            {
                "tokens_per_row": length,
                "rows": rows,
                **cost,
                "cpu_ms_per_token": round(ms, 3),
                "ratio_to_forward": round(ratio, 3),
            }
        )
    return {"repeats": repeats, "labelled": SHARE, "runs": found}


def launched(fields: dict[str, Any], processes: int) -> dict[str, float]:
    """Wall and CPU seconds of the training script with so many processes, start-up included."""
    folder = HERE.parent / "training"
    command = [sys.executable, "-m", "accelerate.commands.launch"]
    command += ["--config_file", str(folder / "accelerate_configs" / "cpu_2.yaml")]
    command += ["--num_processes", str(processes), str(folder / "embed_gradients.py")]
    for key, value in fields.items():
        command += [f"--{key}", str(value)]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_seconds": round(wall, 1), "cpu_seconds": round(cpu, 1)}


def against_processes(work: Path, processes: list[int], rows: int) -> dict[str, Any]:
    """Every number of processes: the whole launch, and a launch that finds nothing left to embed."""
    save_rows(work / "chats.jsonl", rows, TOKENS, CONFIG.vocab_size)
    found = []
    for count in processes:
        fields = recipe(work / "model", work / "chats.jsonl", work / f"by-{count}", shard_rows=16)
        whole, start = launched(fields, count), launched(fields, count)
        found.append({"processes": count, **whole, **{f"start_{name}": value for name, value in start.items()}})
    return {"rows": rows, "tokens_per_row": TOKENS, "runs": found}


def measure(options: argparse.Namespace, work: Path) -> dict[str, Any]:
    """Every part, with the load average after it."""
    os.environ["HF_DATASETS_CACHE"] = str(work / "cache")
    torch.set_num_threads(1)
    save_model(work / "model", CONFIG)
    parts = {
        "rows": lambda: against_rows(work, options.rows),
        "tokens": lambda: against_tokens(work, options.tokens, options.total_tokens, options.repeats),
        "processes": lambda: against_processes(work, options.processes, options.process_rows),
    }
    result: dict[str, Any] = {
        name: {**part(), "load_average": round(os.getloadavg()[0], 1)} for name, part in parts.items()
    }
    return {**result, "cores": os.cpu_count()}


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 40000, 120000])
    parser.add_argument("--tokens", type=int, nargs="+", default=[64, 128, 256, 512, 1024, 2048])
    parser.add_argument("--total_tokens", type=int, default=8192)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--process_rows", type=int, default=256)
    parser.add_argument("--keep", action="store_true", help="keep the result in benchmarks/results")
    parser.add_argument("--once", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(once(json.loads(options.once))))
        return
    with tempfile.TemporaryDirectory(prefix="tamis-scaling-") as work:
        result = measure(options, Path(work))
    if options.keep:
        (HERE / "results" / "scaling.json").write_text(json.dumps(result, indent=1) + "\n")
    if options.format == "json":
        print(json.dumps(result))
        return
    for name in ("rows", "tokens", "processes"):
        print(name, *result[name]["runs"], sep="\n  ")
    print(result["rows"]["one_row_more"])


if __name__ == "__main__":
    main()
