"""Percentile intervals by drawing groups of rows, such as sessions, whole."""

from __future__ import annotations

import random

import numpy as np


def resampled(counts: np.ndarray, *, seed: int = 0, resamples: int = 1000) -> np.ndarray:
    """The sums of counts over groups drawn with replacement.

    Args:
        counts: `[groups, ...]`; a group is drawn whole.
        seed: Of the standard library's generator, whose draws are the same everywhere.
        resamples: How many times as many groups as there are get drawn.

    Returns:
        `[resamples, ...]`; `[0, ...]` without groups.
    """
    chance, groups = random.Random(seed), range(len(counts))
    sums = [counts[chance.choices(groups, k=len(counts))].sum(0) for _ in range(resamples if len(counts) else 0)]
    return np.array(sums).reshape(-1, *counts.shape[1:])


def percentiles(values: np.ndarray) -> list[float] | None:
    """The 2.5th and 97.5th percentile of resampled values, four digits; None where none is finite."""
    finite = np.sort(values[np.isfinite(values)])
    if not len(finite):
        return None
    last = len(finite) - 1
    return [round(float(finite[round(share * last)]), 4) for share in (0.025, 0.975)]
