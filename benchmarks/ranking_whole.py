"""Rank one beside the whole projected matrices, on the same rows: what each finds, and what each costs."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import ranking_measures as measures
import torch
from ranking_study import PARTS, Method, Study
from ranking_vectors import gradient_similarities

from tamis.chat import ChatRenderer
from tamis.gradients.capture import GradientCapture
from tamis.gradients.embedder import batches
from tamis.gradients.factor import rank_one
from tamis.gradients.project import gaussian
from tamis.gradients.store import GradientIndex
from tamis.models import load_decoder
from tamis.recipe import EmbedRecipe
from tamis.rows import conversation


def against_whole(study: Study, work: Path, methods: list[Method], last_k: int, max_length: int) -> dict[str, Any]:
    """The methods on the labelled answers' whole projected matrices beside the same on rank one."""
    labelled = [i for i, r in enumerate(study.records) if r["source"] == "safety"]
    grams, costs = whole_grams(work, [study.records[i] for i in labelled], last_k, max_length)
    modules = GradientIndex(work / "index").modules
    whole: dict[tuple[str, int | None], np.ndarray] = {}
    for blocks in {m.blocks or 0 for m in methods}:
        for name, found in gradient_similarities(grams, modules, blocks).items():
            whole[name, blocks] = np.zeros((len(study.records),) * 2)
            whole[name, blocks][np.ix_(labelled, labelled)] = found
    other = Study(study.records, whole)
    table: dict[str, dict[str, Any]] = {}
    for m in methods:
        table[str(m)] = {}
        for part in ("five", "further"):
            splits = PARTS[part]
            ones, wholes = study.wins(m, splits), other.wins(m, splits)
            weights, _ = measures.pair_weights([study.splits[s].pairs for s in splits])
            table[str(m)][part] = {
                "pairs_rank_one": round(float(ones.mean()), 3),
                "pairs_whole": round(float(wholes.mean()), 3),
                "pairs_difference": measures.pair_interval(ones - wholes, weights),
                "same_rank_one": study.measured(m, splits)["same_auroc"],
                "same_whole": other.measured(m, splits)["same_auroc"],
            }
    return {"rows": len(labelled), **costs, "methods": table}


def whole_grams(
    work: Path, records: Sequence[dict[str, str]], last_k: int, max_length: int
) -> tuple[np.ndarray, dict[str, Any]]:
    """The inner product of every two rows' whole projected matrices, and what each way to keep a row costs.

    They are kept in the working folder, and captured again only where they are not there.
    """
    path, costs = work / "whole.npz", work / "whole_costs.json"
    if not path.is_file():
        flat, norms, found = _captured(records, last_k, max_length)
        costs.write_text(json.dumps(found))
        np.savez(path, flat=flat, norms=norms)
    with np.load(path) as kept:
        flat, norms = kept["flat"].astype(np.float64).swapaxes(0, 1), kept["norms"]
    return np.asarray((flat @ flat.swapaxes(1, 2)) * np.outer(norms, norms)), json.loads(costs.read_text())


def _captured(
    records: Sequence[dict[str, str]], last_k: int, max_length: int
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """`[rows, modules, 1024]` float16 of norm one, the norms, and the costs of keeping that or rank one.

    Each batch is captured once and kept in both ways, so that both are timed over the same rows.
    """
    decoder = load_decoder("packaged")
    chat = ChatRenderer(decoder.tokenizer, max_length)
    rendered = [
        chat.render(conversation({key: record[key] for key in ("prompt", "completion")})) for record in records
    ]
    seconds: defaultdict[str, float] = defaultdict(float)
    sizes: Counter[str] = Counter()
    kept, order = [], []
    with GradientCapture(decoder.model, last_k=last_k) as capture:
        start = torch.from_numpy(np.stack([gaussian(0, name, "start", 32, 1)[:, 0] for name in capture.modules]))
        for batch in batches([len(example.input_ids) for example in rendered], EmbedRecipe.batch_tokens):
            gradients = _timed(seconds, "capture", capture, [rendered[i] for i in batch])
            u, v, _ = _timed(seconds, "rank one", _keep_rank_one, gradients.matrices, start)
            flat, norms = _timed(seconds, "whole", _keep_whole, gradients.matrices)
            sizes.update({"rank one": u.nbytes + v.nbytes, "whole": flat.nbytes})
            kept.append((flat, norms * gradients.scale.numpy()))
            order += batch
    places = np.argsort(order)
    flat, norms = (np.concatenate(side)[places] for side in zip(*kept, strict=True))
    costs = {
        "modules": len(capture.modules),
        "cpu_seconds": {name: round(value, 2) for name, value in seconds.items()},
        "bytes_per_row": {name: size // len(records) for name, size in sizes.items()},
    }
    return flat, norms, costs


def _timed(seconds: dict[str, float], name: str, call: Callable[..., Any], *arguments: Any) -> Any:
    """What the call returns; its CPU seconds are added to the name's."""
    began = time.process_time()
    found = call(*arguments)
    seconds[name] += time.process_time() - began
    return found


def _keep_rank_one(matrices: torch.Tensor, start: torch.Tensor) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    found = rank_one(matrices, start)
    return found.u.half().numpy(), found.v.half().numpy(), found.norm.numpy()


def _keep_whole(matrices: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    flat = matrices.flatten(2)
    size = torch.linalg.vector_norm(flat, dim=(1, 2), keepdim=True)
    return (flat / size).half().numpy(), size.flatten().double().numpy()
