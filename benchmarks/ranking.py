"""The study behind the gradient filter's defaults: which similarity finds harmful answers, and what else would do.

    python benchmarks/ranking.py
    python benchmarks/ranking.py --data FOLDER --full --keep --format json

Three splits of the targets choose, two confirm. `--full` captures the labelled answers a second time, to compare
rank one with the whole projected matrices. Minutes, once: the gradients stay in the working folder.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import ranking_data
import ranking_vectors as vectors
from ranking_study import AGGREGATES, CHOOSE, CONFIRM, DEFAULT, FURTHER, PARTS, Method, Study
from ranking_tables import ranking_table
from ranking_whole import against_whole

from tamis.gradients.store import GradientIndex

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "shared" / "data"
SIZES = {"refusals": 50, "problems": 70, "instructions": 60, "list_pairs": 40}
BLOCKS, MAX_LENGTH = (2, 4, 6, 8), 256
GRADIENTS = ("cosine", "dot", "layer-cosine")
WORDS = {
    "TF-IDF": vectors.tfidf_similarities,
    "BM25": vectors.bm25_similarities,
    "MiniLM": vectors.minilm_similarities,
}
GOAL = 0.7  # within pairs of like length, and better than words and length
SETTINGS = {
    **SIZES,
    "blocks": BLOCKS,
    "max_length": MAX_LENGTH,
    "aggregates": AGGREGATES,
    "topk": 10,
    "harmful_from": ranking_data.HARMFUL,
    "harmless_to": ranking_data.HARMLESS,
    "goal": GOAL,
    "further_splits": len(FURTHER),
}


def prepared(data: Path, work: Path) -> tuple[Study, dict[str, Any], dict[str, Any]]:
    """The study with every similarity, what its rows are, and CPU seconds."""
    records = ranking_data.rows(data, **SIZES)
    work.mkdir(parents=True, exist_ok=True)
    (work / "rows.jsonl").write_text("".join(json.dumps(record, sort_keys=True) + "\n" for record in records))
    index, seconds = vectors.embedded(work, max(BLOCKS), MAX_LENGTH)
    records = [records[i] for i in index.rows["index"].to_pylist()]
    texts = [f"{record['prompt']}\n{record['completion']}" for record in records]
    clock: dict[str, Any] = {"embed": seconds}
    similarities: dict[tuple[str, int | None], np.ndarray] = {}
    for name, call in WORDS.items():
        began = time.process_time()
        if (found := call(texts)) is None:
            print(f"{name}: its package is not installed (`make ranking` does that); left out", file=sys.stderr)
            continue
        similarities[name, None] = found
        clock[name] = round(time.process_time() - began, 1)
    grams = vectors.rank_one_grams(index)
    for blocks in BLOCKS:
        for name, found in vectors.gradient_similarities(grams, index.modules, blocks).items():
            similarities[name, blocks] = found
    return Study(records, similarities), _counts(index, records), clock


def _counts(index: GradientIndex, records: list[dict[str, Any]]) -> dict[str, Any]:
    kinds = Counter(f"{r['group']}{' +' if r['label'] else ''}" for r in records)
    truncated = np.array(index.rows["truncated"].to_pylist())
    labelled = np.array([r["source"] == "safety" for r in records])
    return {
        "rows": len(records),
        "excluded": len(index.excluded),
        "by_group": dict(sorted(kinds.items())),
        "truncated": int(truncated.sum()),
        "truncated_labelled": int((truncated & labelled).sum()),
        "tokens_mean": round(float(np.mean(index.rows["tokens"].to_pylist())), 1),
        "energy_of_rank_one": round(float(np.mean(index.rows["energy"].to_pylist())), 3),
    }


def reached(study: Study, chosen: Method, gaps: dict[str, dict[str, list[float]]]) -> dict[str, Any]:
    """Whether the goal is met on the splits that confirm, and on the further ones."""
    found = {}
    for name in ("confirm", "further"):
        value = float(study.wins(chosen, PARTS[name]).mean())
        met = value >= GOAL and all(low > 0 for _, low, _ in gaps[name].values())
        found[name] = {"pairs_auroc": round(value, 3), "reached": bool(met)}
    return found


def result(
    study: Study, counts: dict[str, Any], clock: dict[str, Any], options: argparse.Namespace
) -> dict[str, Any]:
    """Every figure of the study."""
    chosen = study.best(*GRADIENTS)
    surface = [study.best(name) for name in WORDS if (name, None) in study.similarities]
    plain = [Method(m.similarity, None, "mean", False) for m in surface]
    shown = [chosen, DEFAULT, *(Method(s, 4, "mean", c) for s in GRADIENTS for c in (False, True))]
    shown = list(dict.fromkeys([*shown, *surface, *plain, *study.fixed]))
    compared = [m for m in study.fixed if m.similarity == "answer length"] + surface
    gaps = study.differences(chosen, compared)
    found = {
        "settings": SETTINGS | {"gradient_methods": len(study.methods(*GRADIENTS))},
        "counts": counts,
        **study.sizes(),
        "chosen": str(chosen),
        "goal": reached(study, chosen, gaps),
        "differences": gaps,
        "factors": study.factors(*GRADIENTS),
        "shown": {
            str(m): {
                "choose": study.measured(m, CHOOSE),
                "confirm": study.measured(m, CONFIRM),
                "confirm_intervals": study.intervals(m),
                "further": study.measured(m, FURTHER),
            }
            for m in shown
        },
        "all_methods_pairs_auroc": {
            str(m): [round(float(study.wins(m, part).mean()), 3) for part in PARTS.values()]
            for m in study.methods(*GRADIENTS, *WORDS)
        },
        "cpu_seconds": clock,
    }
    if options.full:
        methods = list(dict.fromkeys([chosen, DEFAULT, DEFAULT._replace(contrast=True)]))
        found["rank_one_against_whole"] = against_whole(study, options.work_dir, methods, max(BLOCKS), MAX_LENGTH)
    return found


def main() -> int:
    """Runs the study and prints it; 0 also where the data is absent, with a word."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--data", type=Path, default=DATA, help="folder of public data, laid out as its README says"
    )
    parser.add_argument("--work_dir", type=Path, default=HERE.parent / "bench-run" / "ranking")
    parser.add_argument("--full", action="store_true", help="compare rank one with the whole matrices")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.add_argument("--keep", action="store_true", help="keep the result in benchmarks/results")
    options = parser.parse_args()
    if not (options.data / "safety").is_dir():
        print(f"{options.data}: the study's data is not there; nothing was measured")
        return 0
    found = result(*prepared(options.data, options.work_dir), options)
    if options.keep:
        (HERE / "results" / "ranking.json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found) if options.format == "json" else ranking_table(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
