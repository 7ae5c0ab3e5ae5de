"""PKU-SafeRLHF's responses as a target set, and as the contrast set to it: the rule, and what it counts."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tamis.errors import UsageError
from tamis.provenance import write_whole

NAME = "PKU-Alignment/PKU-SafeRLHF"
PUBLISHED_COUNT = 43_469
"""The target rows that the paper names; how they follow from the data set it does not say."""


def responses(
    rows: Iterable[Mapping[str, Any]], safe: bool, categories: Collection[str] = ()
) -> Iterator[dict[str, str]]:
    """The responses with this safety flag, each prompt and response once.

    The rule: both responses of every row are looked at. One is taken if its own `is_response_K_safe` says so and,
    where categories are named, one of them is flagged in its `response_K_harm_category`.

    Args:
        rows: SafeRLHF's.
        safe: Which flag.
        categories: The categories of harm; all, if there are none.
    """
    seen: set[tuple[str, str]] = set()
    for row in rows:
        for k in (0, 1):
            harms = [name for name, there in (row.get(f"response_{k}_harm_category") or {}).items() if there]
            key = (row["prompt"], row[f"response_{k}"])
            wanted = not categories or bool({*categories} & {*harms})
            if row[f"is_response_{k}_safe"] == safe and wanted and key not in seen:
                seen.add(key)
                source = harms[0] if harms else "safe" if safe else "unsafe"
                yield {"prompt": key[0], "response": key[1], "source": source}


def write_sets(
    folder: Path, categories: Collection[str], contrast: bool
) -> tuple[str, str | None, dict[str, int]]:
    """The unsafe responses as a file, the safe ones to the same prompts as another, and how many there are.

    Args:
        folder: Where `unsafe.jsonl` and `safe.jsonl` go.
        categories: The categories of harm; all, if there are none.
        contrast: Writes the safe ones.

    Raises:
        UsageError: SafeRLHF cannot be read, or has no such response.
    """
    from datasets import load_dataset

    try:
        rows = load_dataset(NAME, split="train")
    except Exception as error:  # a loader may raise anything
        raise UsageError(f"{NAME}: cannot be read: {' '.join(str(error).split())}") from error
    unsafe = [*responses(rows, safe=False, categories=categories)]
    if not unsafe:
        raise UsageError(f"--category: {NAME} has no unsafe response of {', '.join(sorted(categories))}")
    prompts = {row["prompt"] for row in unsafe}
    safe = [row for row in responses(rows, safe=True) if row["prompt"] in prompts] if contrast else []
    files = {name: found for name, found in (("unsafe", unsafe), ("safe", safe)) if found}
    for name, found in files.items():
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found)
        write_whole(folder / f"{name}.jsonl", lines.encode())
    counts = {name: len(found) for name, found in files.items()}
    return str(folder / "unsafe.jsonl"), str(folder / "safe.jsonl") if safe else None, counts
