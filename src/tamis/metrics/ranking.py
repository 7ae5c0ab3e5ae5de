"""How well scores put one kind of row above another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Interval(NamedTuple):
    """A value with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def auroc(scores: np.ndarray, labels: np.ndarray) -> float:
    """The probability that a positive row scores above a negative one, ties counting one half.

    Args:
        scores: `[rows]`, finite.
        labels: `[rows]` bool.

    Raises:
        ValueError: Rows of only one kind, or a score that is not finite.
    """
    scores, labels = _checked(scores, labels)
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean_rank = (last - (counts - 1) / 2)[inverse]
    positives = int(labels.sum())
    above = mean_rank[labels].sum() - positives * (positives + 1) / 2
    return float(above / (positives * (len(labels) - positives)))


def auprc(scores: np.ndarray, labels: np.ndarray) -> float:
    """Average precision: the mean, over positive rows, of the precision at that row's score, ties taken together.

    Chance is the base rate, `labels.mean()`: report it beside this.

    Args:
        scores: `[rows]`, finite.
        labels: `[rows]` bool.

    Raises:
        ValueError: Rows of only one kind, or a score that is not finite.
    """
    scores, labels = _checked(scores, labels)
    _, group = np.unique(-scores, return_inverse=True)
    found = np.bincount(group, weights=labels)
    precision = np.cumsum(found) / np.cumsum(np.bincount(group))
    return float((found * precision).sum() / labels.sum())


def precision_at(scores: np.ndarray, labels: np.ndarray, k: int) -> float:
    """The share of positive rows among the `k` that score highest.

    Rows that tie at the cut have equal chances of a place above it: what comes out is the exact mean over their
    orders. Chance is the base rate, `labels.mean()`: report it beside this.

    Args:
        scores: `[rows]`, finite.
        labels: `[rows]` bool; all of one kind is allowed.
        k: From 1 to the number of rows.

    Raises:
        ValueError: A score that is not finite, or no such `k`.
    """
    scores, labels = _finite(scores), np.asarray(labels, bool)
    if not 1 <= k <= len(scores):
        raise ValueError(f"k is {k}, of {len(scores)} rows")
    cut = np.partition(scores, -k)[-k]
    above, tied = scores > cut, scores == cut
    places = k - above.sum()
    return float((labels[above].sum() + places * labels[tied].mean()) / k)


def auroc_interval(scores: np.ndarray, labels: np.ndarray, *, draws: int = 2000, seed: int = 0) -> Interval:
    """`auroc` with a percentile bootstrap over rows, drawn within each kind."""
    scores, labels = _checked(scores, labels)
    positive, negative = scores[labels], scores[~labels]
    rng = np.random.default_rng(seed)
    truth = np.r_[np.ones(len(positive), bool), np.zeros(len(negative), bool)]
    values = [
        auroc(np.r_[rng.choice(positive, len(positive)), rng.choice(negative, len(negative))], truth)
        for _ in range(draws)
    ]
    low, high = np.quantile(values, [0.025, 0.975])
    return Interval(auroc(scores, labels), float(low), float(high))


def _finite(scores: np.ndarray) -> np.ndarray:
    scores = np.asarray(scores, np.float64)
    if not np.isfinite(scores).all():
        raise ValueError("a score is not finite")
    return scores


def _checked(scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scores, labels = _finite(scores), np.asarray(labels, bool)
    if labels.all() or not labels.any():
        raise ValueError("AUROC and AUPRC need rows of both kinds")
    return scores, labels
