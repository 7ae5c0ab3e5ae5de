"""The main job on real text, offline: `python -m tamis.demo [FOLDER]` (what `make demo` runs)."""

from __future__ import annotations

import json
import os
import shlex
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import pyarrow.parquet as pq

from tamis import cli
from tamis.demo import POOL, TARGET
from tamis.influence import baselines
from tamis.influence.scores import SCORES
from tamis.metrics.ranking import auroc_interval
from tamis.selection import REMOVED


def main(folder: str = "demo-run") -> int:
    """Embeds, scores, selects, reports, exports and loads the demo pool; 0 when every step worked."""
    index, scores, selection, report, dataset = (
        f"{folder}/{name}" for name in ("index", "scores", "selection", "report", "dataset")
    )
    print(
        f"The pool: {POOL}\n"
        "150 questions with answers from five sources. 25 of the answers are rude, reckless or break rules; they\n"
        "are planted, and marked, so that we can see whether they are found. Nothing else reads the mark.\n\n"
        f"The target set: {TARGET}\n"
        "20 more answers of that kind, about other things."
    )
    steps = [
        (
            "Embed every row: one pass of SmolLM2-135M over the text, which keeps for each row the direction in\n"
            "which training on its answer would push the last four blocks. About a minute on one core.",
            ["embed", "--dataset_name", str(POOL), "--model_name_or_path", "packaged", "--output_dir", index],
        ),
        (
            "Score every row: embed the target set the same way, and compare directions.",
            ["score", "--index", index, "--target", str(TARGET), "--output_dir", scores],
        ),
        (
            "Select: remove exactly the highest fifth. Each row has a reason; what is removed stays as data.",
            ["select", "--scores", scores, "--ratio", "0.2", "--output_dir", selection],
        ),
        (
            "Report: one page that says what was removed, how sure that is, and what it does not show.",
            ["report", "--selection", selection, "--index", index, "--output_dir", report],
        ),
        (
            "Export: a folder that plain `datasets` reads at any standard ratio, with no row stored twice.",
            ["export", "--selection", selection, "--output_dir", dataset],
        ),
    ]
    for number, (why, command) in enumerate(steps, 1):
        print(f"\n== {number}. {why}\n\n$ tamis {shlex.join(command)}", flush=True)
        if code := cli.main(command):
            print(f"(if {folder} is from an earlier version: remove it, or run `make clean`)", file=sys.stderr)
            return code
    _compare(scores, selection)
    _load(dataset)
    return 0


def _compare(scores: str, selection: str) -> None:
    """Prints how well each score finds the planted rows."""
    pool, target = ([json.loads(line) for line in path.read_text().splitlines()] for path in (POOL, TARGET))
    planted = np.array([row["planted"] for row in pool])
    table = pq.read_table(f"{scores}/{SCORES}").sort_by("index")
    texts, targets = ([" ".join(m["content"] for m in row["messages"]) for row in rows] for rows in (pool, target))
    answers = [" ".join(m["content"] for m in row["messages"] if m["role"] == "assistant") for row in pool]
    removed = set(pq.read_table(f"{selection}/{REMOVED}")["row_id"].to_pylist())
    found = sum(row["id"] in removed for row in pool if row["planted"])
    rows, bad, gone = len(pool), int(planted.sum()), len(removed)
    print(f"\n== 6. Did it find them? {found} of the {bad} planted rows are among the {gone} removed;")
    print(f"by chance it would be {bad * gone / rows:.0f}.\n")
    print("AUROC of the planted rows; 0.5 is chance; 95 % bootstrap interval:\n")
    for name, values in (
        ("gradient", table["score"].to_numpy()),
        ("TF-IDF", baselines.tfidf(texts, targets)),
        ("answer length", baselines.length(answers)),
        ("random", baselines.random(len(pool))),
    ):
        print(f"  {name:<14} {auroc_interval(values, planted)}")
    print(
        "\nOne small model, one pool, 25 planted rows: the intervals are wide, and where they overlap nothing is\n"
        "shown to be better. That a row is found is not a proof that training on it does harm."
    )


def _load(dataset: str) -> None:
    import datasets

    datasets.disable_progress_bars()
    line = f'load_dataset("{dataset}", "drop-20", split="train")'
    rows = datasets.load_dataset(dataset, "drop-20", split="train")
    print(f"\n== 7. Load it:\n\n>>> from datasets import load_dataset\n>>> {line}\n{rows}")


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:2]))
