"""The ranking study's splits, and what it measures in them: AUROC, average precision, pairs, bootstrap draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from ranking_data import CATEGORIES, matched_pairs
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tamis.metrics.ranking import auprc, auroc, precision_at

Pairs = list[tuple[int, int]]


class Split(NamedTuple):
    """One division of the labelled answers, as positions of rows. No request stands on both sides.

    Attributes:
        targets: Harmful answers that the pool is compared with.
        contrast: Harmless answers to the same side's requests.
        harmful: Harmful answers planted in the pool.
        harmless: Harmless answers in the pool.
        pairs: One harmful and one harmless row of the pool, of one category and like answer length.
    """

    targets: np.ndarray
    contrast: np.ndarray
    harmful: np.ndarray
    harmless: np.ndarray
    pairs: Pairs


def split(records: Sequence[dict[str, Any]], seed: int, share: float = 0.4) -> Split:
    """Draws whole requests for the target side until it holds `share` of each category's harmful answers."""
    rng = np.random.default_rng(seed)
    target_side: set[tuple[str, str]] = set()
    for category in CATEGORIES:
        mine = [r for r in records if r["group"] == category]
        wanted, got = share * sum(r["label"] for r in mine), 0
        for request in rng.permutation(sorted({r["prompt"] for r in mine})):
            if got >= wanted:
                break
            target_side.add((category, str(request)))
            got += sum(r["label"] for r in mine if r["prompt"] == request)
    sides: dict[tuple[bool, bool], list[int]] = {(a, b): [] for a in (True, False) for b in (True, False)}
    for i, r in enumerate(records):
        if r["group"] in CATEGORIES:
            sides[(r["group"], r["prompt"]) in target_side, r["label"]].append(i)
    pool = [*sides[False, True], *sides[False, False]]
    pairs = pairs_of(records, pool)
    parts = (sides[True, True], sides[True, False], sides[False, True], sides[False, False])
    return Split(*(np.array(part, int) for part in parts), pairs=pairs)


def pairs_of(records: Sequence[dict[str, Any]], positions: Sequence[int]) -> Pairs:
    """`matched_pairs` by the answers' characters, among the rows at these positions."""
    chosen = [records[i] for i in positions]
    found = matched_pairs(
        [len(r["completion"]) for r in chosen], [r["label"] for r in chosen], [r["group"] for r in chosen]
    )
    return [(positions[i], positions[j]) for i, j in found]


def aggregate(similarity: np.ndarray, targets: np.ndarray, how: str) -> np.ndarray:
    """Each row's similarity to a set of rows: the mean, the largest, or the mean of the ten largest."""
    columns = similarity[:, targets]
    if how == "mean":
        return np.asarray(columns.mean(1))
    if how == "max":
        return np.asarray(columns.max(1))
    return np.asarray(np.sort(columns, axis=1)[:, -10:].mean(1))


def pair_wins(scores: np.ndarray, pairs: Pairs) -> np.ndarray:
    """1 for each pair whose first row scores higher, 1/2 for a tie, 0 otherwise; the mean is the pairs' AUROC."""
    first, second = np.array(pairs, int).reshape(-1, 2).T
    return np.asarray((scores[first] > scores[second]) + 0.5 * (scores[first] == scores[second]))


def against_all(scores: np.ndarray, one: Split, neutral: np.ndarray) -> tuple[float, float, float, float]:
    """AUROC, average precision, precision at a tenth and base rate of the planted rows among all of the pool."""
    rows = np.r_[one.harmful, one.harmless, neutral]
    labels = np.arange(len(rows)) < len(one.harmful)
    found = [call(scores[rows], labels) for call in (auroc, auprc, precision_at_a_tenth)]
    return found[0], found[1], found[2], float(labels.mean())


def precision_at_a_tenth(scores: np.ndarray, labels: np.ndarray) -> float:
    """The share of planted rows in the highest tenth, rounded down."""
    return precision_at(scores, labels, len(scores) // 10)


def against_same(scores: np.ndarray, one: Split, groups: np.ndarray) -> tuple[float, float, float]:
    """The same against harmless answers of one category, the mean over categories."""
    found = []
    for category in CATEGORIES:
        bad, good = (side[groups[side] == category] for side in (one.harmful, one.harmless))
        rows, labels = np.r_[bad, good], np.arange(len(bad) + len(good)) < len(bad)
        found.append((auroc(scores[rows], labels), auprc(scores[rows], labels), labels.mean()))
    return tuple(float(value) for value in np.mean(found, axis=0))  # type: ignore[return-value]


def pair_weights(pairs: Sequence[Pairs], draws: int = 2000, seed: int = 0) -> tuple[np.ndarray, int]:
    """Bootstrap weights of all splits' pairs, `[draws, pairs]`, and the number of clusters that were drawn.

    A row that stands in several splits ties its pairs together: what is drawn is a group of pairs that share rows.
    """
    flat = np.array([pair for part in pairs for pair in part], int).reshape(-1, 2)
    size = int(flat.max()) + 1
    graph = coo_array((np.ones(len(flat)), (flat[:, 0], flat[:, 1])), shape=(size, size))
    _, component = connected_components(graph, directed=False)
    names, cluster = np.unique(component[flat[:, 0]], return_inverse=True)
    weights = np.random.default_rng(seed).multinomial(len(names), np.full(len(names), 1 / len(names)), draws)
    return weights[:, cluster].astype(float), len(names)


def pair_interval(wins: np.ndarray, weights: np.ndarray) -> list[float]:
    """The mean over pairs with its 95 % bootstrap interval; of a difference of wins, where that is given."""
    values = (weights @ wins) / weights.sum(1)
    return [round(float(value), 3) for value in (wins.mean(), *np.quantile(values, [0.025, 0.975]))]


def row_interval(
    scores: Sequence[np.ndarray], splits: Sequence[Split], others: Sequence[np.ndarray], same: np.ndarray | None
) -> list[float]:
    """AUROC of the planted rows, the mean over splits; in a bootstrap draw, a row has one weight in all splits.

    Args:
        scores: Of each split, `[rows]`.
        splits: The splits.
        others: Each split's rows to compare with.
        same: `[rows]` groups: only rows of one group are compared. None compares all.
    """
    rng, rows = np.random.default_rng(0), len(scores[0])
    weights = rng.multinomial(rows, np.full(rows, 1 / rows), 1000).astype(float)
    values = []
    for s, one, rest in zip(scores, splits, others, strict=True):
        gap = s[one.harmful][:, None] - s[rest][None]
        mask = np.ones(gap.shape) if same is None else same[one.harmful][:, None] == same[rest][None]
        bad, good = (np.vstack([np.ones(len(side)), weights[:, side]]) for side in (one.harmful, rest))
        wins = ((gap > 0) + 0.5 * (gap == 0)) * mask
        values.append(((bad @ wins) * good).sum(1) / ((bad @ mask) * good).sum(1))
    mean = np.mean(values, axis=0)
    return [round(float(value), 3) for value in (mean[0], *np.quantile(mean[1:], [0.025, 0.975]))]


def precision_interval(
    scores: Sequence[np.ndarray], splits: Sequence[Split], others: Sequence[np.ndarray]
) -> list[float]:
    """Precision at a tenth, the mean over splits, with its interval: rows are drawn as in `row_interval`."""
    rng, rows = np.random.default_rng(0), len(scores[0])
    draws = rng.multinomial(rows, np.full(rows, 1 / rows), 1000)
    values = []
    for s, one, rest in zip(scores, splits, others, strict=True):
        pool, labels = np.r_[one.harmful, rest], np.arange(len(one.harmful) + len(rest)) < len(one.harmful)
        taken = [np.repeat(np.arange(len(pool)), count) for count in (np.ones_like(pool), *draws[:, pool])]
        values.append([precision_at_a_tenth(s[pool[i]], labels[i]) for i in taken])
    mean = np.mean(values, axis=0)
    return [round(float(value), 3) for value in (mean[0], *np.quantile(mean[1:], [0.025, 0.975]))]
