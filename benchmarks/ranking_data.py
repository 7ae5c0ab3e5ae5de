"""The rows of the ranking study: human-labelled answers, word problems, instructions and published lists.

The labelled answers are harmful by nature. They are read where they lie, written only into the working folder, and
never printed.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

CATEGORIES = ("exploits", "info_integrity", "privacy")
HARMFUL, HARMLESS = 0.5, 0.25
LISTS = ("dolly", "gsm8k", "alpaca")
_ANCHOR = "gradient-illegal-activities-anchor"


def matched_pairs(
    lengths: Sequence[int], positive: Sequence[bool], group: Sequence[str], within: float = 0.1
) -> list[tuple[int, int]]:
    """Pairs of a positive and another row of one group and of like length, closest first, each row at most once.

    Args:
        lengths: Of each row.
        positive: Whether the row is one of those to be found.
        group: Rows of different groups are never paired.
        within: The largest difference, as a share of the longer row.
    """
    close = []
    for i in np.flatnonzero(positive):
        for j in np.flatnonzero(~np.asarray(positive, bool)):
            apart = abs(lengths[i] - lengths[j]) / max(lengths[i], lengths[j], 1)
            if group[i] == group[j] and apart <= within:
                close.append((apart, int(i), int(j)))
    used: set[int] = set()
    pairs = []
    for _, i, j in sorted(close):
        if i not in used and j not in used:
            used |= {i, j}
            pairs.append((i, j))
    return pairs


def rows(data: Path, *, refusals: int, problems: int, instructions: int, list_pairs: int) -> list[dict[str, Any]]:
    """All rows of the study: `id`, `kind`, `group`, `label`, `prompt`, `completion`; conversations once each.

    Args:
        data: The folder of public data.
        refusals: The most human-labelled refusals.
        problems: GSM8K test problems.
        instructions: Dolly rows of no top or bottom list.
        list_pairs: The most length-matched pairs of each published list.
    """
    rng = np.random.default_rng(0)
    found = _safety(data) + _refusals(data)[:refusals]
    problem_rows = [
        _row(f"gsm8k-{i}", "gsm8k", "gsm8k", False, r["question"], r["answer"])
        for i, r in enumerate(_jsonl(data / "gsm8k" / "test.jsonl"))
    ]
    plain = [
        _instruction(f"dolly-{i}", "dolly", False, r)
        for i, r in enumerate(_jsonl(data / "instructions" / "dolly.jsonl"))
        if not any("top" in name or "bottom" in name for name in r["lists"])
    ]
    for pool, count in ((problem_rows, problems), (plain, instructions)):
        found += [pool[i] for i in sorted(rng.permutation(len(pool))[:count])]
    for name in LISTS:
        found += _published(data, name, list_pairs, rng)
    seen: set[tuple[str, str]] = set()
    return [r for r in found if (key := (r["prompt"], r["completion"])) not in seen and not seen.add(key)]


def _row(row_id: str, kind: str, group: str, label: bool, prompt: str, completion: str) -> dict[str, Any]:
    return {
        "id": row_id,
        "source": kind,
        "group": group,
        "label": label,
        "prompt": prompt,
        "completion": completion,
    }


def _safety(data: Path) -> list[dict[str, Any]]:
    """Answers with a clear human score; those between harmless and harmful are left out."""
    found = []
    for name in CATEGORIES:
        for i, record in enumerate(_labelled(data / "safety" / f"{name}.csv")):
            scores = [float(v) for k, v in record.items() if k.startswith("human_score") and v]
            score = float(np.mean(scores)) if scores else 0.5 * (HARMFUL + HARMLESS)
            if score >= HARMFUL or score <= HARMLESS:
                found.append(
                    _row(
                        f"{name}-{i}",
                        "safety",
                        name,
                        score >= HARMFUL,
                        record["objective"],
                        record["assistant_response"],
                    )
                )
    return found


def _refusals(data: Path) -> list[dict[str, Any]]:
    """Answers that people called refusals: neutral rows. What they did not call so has no label of harm."""
    return [
        _row(f"refusal-{i}", "refusal", "refusal", False, record["objective"], record["assistant_response"])
        for i, record in enumerate(_labelled(data / "safety" / "refusal.csv"))
        if record["human_score"] == "1"
    ]


def _published(data: Path, name: str, most: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Length-matched pairs of one data set's published top and bottom lists."""
    file = data / "instructions" / ("dolly.jsonl" if name == "dolly" else f"{name}_selected.jsonl")
    listed = []
    for i, record in enumerate(_jsonl(file)):
        where = " ".join(record.get("lists", [record.get("list", "")]))
        if _ANCHOR in where:
            listed.append(_instruction(f"list-{name}-{i}", f"list-{name}", f"{name}_top" in where, record))
    lengths = [len(row["completion"]) for row in listed]
    pairs = matched_pairs(lengths, [row["label"] for row in listed], [name] * len(listed))
    chosen = [pairs[i] for i in sorted(rng.permutation(len(pairs))[:most])]
    return [listed[i] for pair in chosen for i in pair]


def _instruction(row_id: str, kind: str, label: bool, record: dict[str, str]) -> dict[str, Any]:
    prompt = record.get("instruction", record.get("question", ""))
    extra = record.get("context", record.get("input", ""))
    answer = next(record[key] for key in ("response", "output", "answer") if key in record)
    return _row(row_id, kind, kind, label, f"{prompt}\n\n{extra}".strip(), answer)


def _labelled(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        next(stream)  # the data set's version
        return list(csv.DictReader(stream))


def _jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
