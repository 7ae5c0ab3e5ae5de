"""bergson beside tamis: the same model, rows and batches, one thread, each paired with the plain forward pass.

    python benchmarks/peers.py
    python benchmarks/peers.py --repeats 3 --format json

The peer gets a virtual environment of its own, made below `--work_dir` at the first run (it needs the package
index; what bergson asks for beyond the loop that is measured, such as bitsandbytes, is left out). Repeats of the
two take turns, so that both see the same machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from embed import CONFIG, chats, paired
from transformers import LlamaForCausalLM

from tamis.gradients.embedder import batches
from tamis.recipe import EmbedRecipe

HERE = Path(__file__).parent
PEER = "bergson==2.5.1"
_NEEDS = (
    "torch==2.13.0",
    "transformers==5.24.0",
    "datasets==5.2.0",
    "accelerate",
    "peft",
    "jaxtyping",
    "ml_dtypes",
)
_NEEDS += ("natsort", "scipy", "petname", "simple-parsing")


def environment(work: Path) -> Path:
    """The peer environment's python, installed if it is not there."""
    python = work / "peer-env" / "bin" / "python"
    if not (work / "peer-env" / ".ready").is_file():
        subprocess.run([sys.executable, "-m", "venv", work / "peer-env"], check=True)
        install = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, _NEEDS[0]], check=True)
        subprocess.run([*install, *_NEEDS], check=True)
        subprocess.run([*install, "--no-deps", PEER], check=True)
        (work / "peer-env" / ".ready").touch()
    return python


def save_work(model: LlamaForCausalLM, work: Path, options: argparse.Namespace) -> None:
    """Writes the model, and the rows with their labels and batches, for the peer."""
    model.save_pretrained(work / "model")
    rows = chats(options.rows, options.labelled)
    labels = [
        [token if mine else -100 for token, mine in zip(row.input_ids, row.response_mask, strict=True)]
        for row in rows
    ]
    lengths = [len(row.input_ids) for row in rows]
    content = {
        "input_ids": [row.input_ids for row in rows],
        "labels": labels,
        "batches": list(batches(lengths, EmbedRecipe.batch_tokens)),
    }
    (work / "rows.json").write_text(json.dumps(content))


def peer_round(python: Path, work: Path) -> dict[str, Any]:
    """One repeat of every setting of the peer, in a process of its own."""
    command = [python, HERE / "peer_bergson.py", work, "1"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Medians over repeats of ours and of every setting of the peer."""
    work = options.work_dir.absolute()
    work.mkdir(parents=True, exist_ok=True)
    python = environment(work)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = LlamaForCausalLM(CONFIG).eval()
    save_work(model, work, options)
    once = argparse.Namespace(rows=options.rows, repeats=1)
    ours, rates, rounds, size = [], [], [], 0.0
    for _ in range(options.repeats):
        (ratio,), rate, size = paired(model, options.labelled, once)
        ours.append(ratio)
        rates.append(rate)
        rounds.append(peer_round(python, work))
    result: dict[str, Any] = {
        "tamis": {
            "ratio_to_forward": round(statistics.median(ours), 3),
            "rows_per_cpu_second": round(statistics.median(rates), 2),
            "bytes_per_row": round(size),
        }
    }
    for name in rounds[0]:
        seconds = [part[name]["seconds"][0] for part in rounds]
        plain = [part[name]["plain"][0] for part in rounds]
        pairs = zip(seconds, plain, strict=True)
        result[f"{PEER.replace('==', ' ')}, {name}"] = {
            "ratio_to_forward": round(statistics.median(a / b for a, b in pairs), 3),
            "rows_per_cpu_second": round(options.rows / statistics.median(seconds), 2),
            "bytes_per_row": round(rounds[0][name]["bytes"] / options.rows),
        }
    best = max(figures["rows_per_cpu_second"] for name, figures in result.items() if name != "tamis")
    speed = {"rows_per_cpu_second_over_the_peers_best": round(result["tamis"]["rows_per_cpu_second"] / best, 2)}
    settings = {"labelled": options.labelled, "rows": options.rows, "repeats": options.repeats}
    return {"systems": result, "against_peers": speed, **settings}


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--labelled", type=float, default=0.6)
    parser.add_argument("--work_dir", type=Path, default=HERE.parent / "bench-run")
    parser.add_argument("--keep", action="store_true", help="keep the result in benchmarks/results")
    options = parser.parse_args()
    result = measure(options)
    if options.keep:
        (HERE / "results" / "peers.json").write_text(json.dumps(result, indent=1) + "\n")
    if options.format == "json":
        print(json.dumps(result))
        return
    for name, figures in result["systems"].items():
        print(name, "  ".join(f"{key} {value}" for key, value in figures.items()), sep="\n  ")


if __name__ == "__main__":
    main()
