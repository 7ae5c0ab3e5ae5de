"""How far people, or a person and a proposal, say the same of the same items, beyond chance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tamis.metrics.ranking import Interval

MISSING = -1
"""Stands where a rater said nothing of an item."""

Ratings = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def cohen_kappa(ratings: Ratings, categories: int, *, draws: int = 2000, seed: int = 0) -> Interval:
    """Cohen's kappa of two raters (1960), with its 95 % interval by a bootstrap over items.

    `(p_o - p_e) / (1 - p_e)`, `p_e` from each rater's own shares. Items that either left out do not count.

    Args:
        ratings: `[items, 2]`, from 0 to `categories - 1`, or `MISSING`.
        categories: How many there are.
        draws: Resamples; those in which it is undefined are left out.
        seed: Of the resamples.

    Raises:
        ValueError: No item has both ratings, or both raters use one and the same category alone.
    """
    ratings = _checked(ratings, categories)
    if ratings.shape[1] != 2:
        raise ValueError(f"kappa is of two raters, not of {ratings.shape[1]}")
    both = ratings[(ratings != MISSING).all(axis=1)]
    cells = np.bincount(both[:, 0] * categories + both[:, 1], minlength=categories**2)
    patterns = np.eye(categories**2)

    def kappa(weights: Floats) -> Floats:
        table = (weights @ patterns).reshape(-1, categories, categories)
        n = table.sum(axis=(1, 2))
        seen = np.trace(table, axis1=1, axis2=2) / n
        chance = (table.sum(axis=2) * table.sum(axis=1)).sum(axis=1) / n**2
        return _beyond(seen, chance)

    return _interval(kappa, cells, draws, seed)


def krippendorff_alpha(ratings: Ratings, categories: int, *, draws: int = 2000, seed: int = 0) -> Interval:
    """Krippendorff's alpha for categories (2011), with its 95 % interval by a bootstrap over items.

    `1 - D_o / D_e` over all pairs of ratings of an item, each item weighted by its ratings; items with fewer than
    two ratings do not count.

    Args:
        ratings: `[items, raters]`, from 0 to `categories - 1`, or `MISSING`.
        categories: How many there are.
        draws: Resamples; those in which it is undefined are left out.
        seed: Of the resamples.

    Raises:
        ValueError: No item has two ratings, or all ratings are of one category.
    """
    counts, times = _patterns(_checked(ratings, categories), categories)
    raters = counts.sum(axis=1)
    disagreement = (raters**2 - (counts**2).sum(axis=1)) / (raters - 1)

    def alpha(weights: Floats) -> Floats:
        total = weights @ counts
        n = total.sum(axis=1)
        seen = weights @ disagreement / n
        chance = (n**2 - (total**2).sum(axis=1)) / (n * (n - 1))
        return _beyond(1 - seen, 1 - chance)

    return _interval(alpha, times, draws, seed)


def gwet_ac1(ratings: Ratings, categories: int, *, draws: int = 2000, seed: int = 0) -> Interval:
    """Gwet's AC1 (2008), with its 95 % interval by a bootstrap over items.

    As kappa, with `p_e = sum p_k (1 - p_k) / (categories - 1)`: it holds where nearly all items are of one
    category, where kappa falls to nothing although raters agree.

    Args:
        ratings: `[items, raters]`, from 0 to `categories - 1`, or `MISSING`.
        categories: How many there are, at least 2, whether they were used or not.
        draws: Resamples.
        seed: Of the resamples.

    Raises:
        ValueError: No item has two ratings.
    """
    counts, times = _patterns(_checked(ratings, categories), categories)
    raters = counts.sum(axis=1)
    agreed = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))
    shares = counts / raters[:, None]

    def ac1(weights: Floats) -> Floats:
        n = weights.sum(axis=1)
        share = weights @ shares / n[:, None]
        return _beyond(weights @ agreed / n, (share * (1 - share)).sum(axis=1) / (categories - 1))

    return _interval(ac1, times, draws, seed)


def _checked(ratings: Ratings, categories: int) -> Ratings:
    ratings = np.asarray(ratings, np.int64)
    if ratings.ndim != 2 or categories < 2:
        raise ValueError("ratings are [items, raters], of at least two categories")
    if ratings.size and not MISSING <= ratings.min() <= ratings.max() < categories:
        raise ValueError(f"a rating is not one of {categories} categories")
    return ratings


def _patterns(ratings: Ratings, categories: int) -> tuple[Floats, Ratings]:
    """How often each category was said of an item, each such pattern once, and how many items have it."""
    counts = (ratings[:, :, None] == np.arange(categories)).sum(axis=1)
    patterns, times = np.unique(counts[counts.sum(axis=1) >= 2], axis=0, return_counts=True)
    return patterns.astype(np.float64), times


def _beyond(seen: Floats, chance: Floats) -> Floats:
    """Agreement beyond chance; NaN where chance alone agrees on everything."""
    least = np.maximum(1 - chance, 0)
    found: Floats = np.divide(seen - chance, least, out=np.full(len(seen), np.nan), where=least > 1e-12)
    return found


def _interval(statistic: Callable[[Floats], Floats], times: Ratings, draws: int, seed: int) -> Interval:
    n = int(times.sum())
    if not n:
        raise ValueError("no item has two ratings")
    value = float(statistic(times[None].astype(np.float64))[0])
    if not np.isfinite(value):
        raise ValueError("every rating is of one category: agreement beyond chance is undefined")
    drawn = np.random.default_rng(seed).multinomial(n, times / n, size=draws).astype(np.float64)
    low, high = np.nanquantile(statistic(drawn), [0.025, 0.975])
    return Interval(value, float(low), float(high))
