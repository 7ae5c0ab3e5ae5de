"""Peers beside tamis: the same model, rows and batches, one thread, each paired with the plain forward pass.

    python benchmarks/peers.py
    python benchmarks/peers.py --peer bergson --repeats 3 --format json

The peers get a virtual environment of their own, made below `--work_dir` at the first run (it needs the package
index; what they ask for beyond the loop that is measured, such as bitsandbytes, is left out). Repeats of all
systems take turns, so that they see the same machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import torch
from embed import CONFIG, chats, paired
from transformers import LlamaForCausalLM

from tamis.gradients.embedder import batches
from tamis.recipe import EmbedRecipe

HERE = Path(__file__).parent
_COMMON = ("torch==2.13.0", "transformers==5.24.0")
_BERGSON_NEEDS = ("datasets==5.2.0", "accelerate", "peft", "jaxtyping", "ml_dtypes", "natsort", "scipy", "petname")


class Peer(NamedTuple):
    """A peer's name and version, its packages, what else these need, and our script around it."""

    title: str
    packages: tuple[str, ...]
    needs: tuple[str, ...]
    script: str


PEERS = {
    "bergson": Peer("bergson 2.5.1", ("bergson==2.5.1",), (*_BERGSON_NEEDS, "simple-parsing"), "peer_bergson.py"),
    "dattri-llm": Peer("dattri-llm 0.1.0", ("dattri-llm==0.1.0", "dattri==0.3.0"), (), "peer_dattri.py"),
}


def environment(work: Path, names: list[str]) -> Path:
    """The peers' environment's python, with those peers installed that are not there."""
    folder = work / "peer-env"
    python = folder / "bin" / "python"
    for name in names:
        ready = folder / f".ready-for-{name}"
        if ready.is_file():
            continue
        if not python.is_file():
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, _COMMON[0]], check=True)
        subprocess.run([*install, *_COMMON, *PEERS[name].needs], check=True)
        subprocess.run([*install, "--no-deps", *PEERS[name].packages], check=True)
        ready.touch()
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


def peer_round(python: Path, script: str, work: Path) -> dict[str, Any]:
    """One repeat of every setting of a peer, in a process of its own."""
    alone = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [python, HERE / script, work],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | alone,
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Medians over repeats of ours and of every setting of the peers."""
    names = list(PEERS) if options.peer == "all" else [options.peer]
    work = options.work_dir.absolute()
    work.mkdir(parents=True, exist_ok=True)
    python = environment(work, names)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = LlamaForCausalLM(CONFIG).eval()
    save_work(model, work, options)
    rows = chats(options.rows, options.labelled)
    ours, rounds = [], []
    for _ in range(options.repeats):
        ours.append(paired(model, rows, 1))
        rounds.append(
            {
                f"{PEERS[name].title}, {setting}": figures
                for name in names
                for setting, figures in peer_round(python, PEERS[name].script, work).items()
            }
        )
    result: dict[str, Any] = {
        "tamis": {
            "ratio_to_forward": round(statistics.median(one.ratios[0] for one in ours), 3),
            "rows_per_cpu_second": round(statistics.median(one.rows_per_second for one in ours), 2),
            "bytes_per_row": round(ours[0].bytes_per_row),
        }
    }
    for name in rounds[0]:
        parts = [part[name] for part in rounds]
        result[name] = {
            "ratio_to_forward": round(statistics.median(one["seconds"] / one["plain"] for one in parts), 3),
            "rows_per_cpu_second": round(options.rows / statistics.median(one["seconds"] for one in parts), 2),
            "bytes_per_row": round(parts[0]["bytes"] / options.rows),
        }
    best = max(figures["rows_per_cpu_second"] for name, figures in result.items() if name != "tamis")
    speed = {"rows_per_cpu_second_over_the_peers_best": round(result["tamis"]["rows_per_cpu_second"] / best, 2)}
    settings = {"labelled": options.labelled, "rows": options.rows, "repeats": options.repeats}
    return {"systems": result, "against_peers": speed, **settings, "load_average": round(os.getloadavg()[0], 1)}


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.add_argument("--peer", choices=[*PEERS, "all"], default="all")
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
