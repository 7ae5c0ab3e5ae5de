"""What a detector takes for personal data and is none: how often, where, and under which label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tamis.metrics.bootstrap import percentiles, resampled
from tamis.metrics.spans import FIELDS, Counts, Predicted, f1, ratio, rounded, shares
from tamis.pii.sessions import Annotated

DENSITY = 17.3
"""Labels per 1,000 messages in MathEd-PII: 1,995 in 115,620."""

_PLACE = {name: place for place, name in enumerate(FIELDS)}


def rates(counts: Counts, *, density: float = DENSITY, seed: int = 0, resamples: int = 1000) -> dict[str, Any]:
    """False positives per 1,000 messages, and what the scores would be where personal data is rare.

    A detector keeps two things from one corpus to another: its recall R, and f, its false positives per 1,000
    messages without personal data. Where 1,000 messages have `density` labels it finds R x density of them beside
    f false ones, so that the precision is R x density / (R x density + f), and F1 follows.

    Args:
        counts: What was counted.
        density: Labels per 1,000 messages.
        seed: Of the bootstrap over sessions.
        resamples: How often sessions are drawn.

    Returns:
        `per_1000_messages`, `per_1000_without_pii` and `reweighted` precision, recall and F1, each a value and its
        95 % interval.
    """
    sessions = counts.by_session()
    draws = resampled(sessions, seed=seed, resamples=resamples)

    def estimated(statistic: Callable[[np.ndarray], Any]) -> dict[str, Any]:
        return _estimated(statistic, sessions.sum(0), draws)

    return {
        "per_1000_messages": estimated(lambda sums: 1000 * _of(sums, "false", "messages")),
        "per_1000_without_pii": estimated(lambda sums: 1000 * _of(sums, "clean_false", "clean")),
        "reweighted": {
            "labels_per_1000_messages": density,
            "precision": estimated(lambda sums: _reweighted(sums, density)[0]),
            "recall": estimated(lambda sums: _reweighted(sums, density)[1]),
            "f1": estimated(lambda sums: f1(*_reweighted(sums, density))),
        },
    }


def by_segment(counts: Counts, maths: np.ndarray, *, seed: int = 0, resamples: int = 1000) -> dict[str, Any]:
    """Scores, and false redactions against true ones, inside maths segments and outside.

    Args:
        counts: What was counted.
        maths: `[messages]` bool: the messages that lie in a maths segment, in the order of the counts.
        seed: Of the bootstrap over sessions.
        resamples: How often sessions are drawn.

    Returns:
        `messages_in_maths` and `false_in_maths` (shares), `false_to_true` and `span` for `maths` and `non_maths`.
    """
    inside = {"maths": counts.by_session(maths), "non_maths": counts.by_session(~maths)}
    both = np.stack([*inside.values()], 1)  # [sessions, 2, fields], so that a session is drawn with both
    draws = resampled(both, seed=seed, resamples=resamples)

    def estimated(statistic: Callable[[np.ndarray], Any]) -> dict[str, Any]:
        return _estimated(statistic, both.sum(0), draws)

    def in_maths(field: str) -> Callable[[np.ndarray], Any]:
        place = _PLACE[field]
        return lambda sums: ratio(sums[..., 0, place], sums[..., :, place].sum(-1))

    def false_to_true(sums: np.ndarray) -> Any:
        false = sums[..., _PLACE["false"]]
        return ratio(false, sums[..., _PLACE["predicted"]] - false)

    return {
        "messages_in_maths": estimated(in_maths("messages")),
        "false_in_maths": estimated(in_maths("false")),
        "false_to_true": {
            name: estimated(lambda sums, side=side: false_to_true(sums[..., side, :]))  # type: ignore[misc]
            for side, name in enumerate(inside)
        },
        "span": {
            name: {key: rounded(value) for key, value in shares(part.sum(0))["span"].items()}
            for name, part in inside.items()
        },
    }


def by_label(gold: Sequence[Annotated], predicted: Predicted) -> dict[str, int]:
    """How many predicted spans of each label overlap no gold span; duplicates count once."""
    found: Counter[str] = Counter()
    for known, guessed in zip(gold, predicted, strict=True):
        for mine, theirs in zip(known.spans or (), guessed, strict=True):
            for start, end, label in {(span.start, span.end, span.label) for span in theirs}:
                found[label] += not any(start < span.end and span.start < end for span in mine)
    return {label: number for label, number in sorted(found.items()) if number}


def _of(sums: np.ndarray, top: str, bottom: str) -> Any:
    return ratio(sums[..., _PLACE[top]], sums[..., _PLACE[bottom]])


def _reweighted(sums: np.ndarray, density: float) -> tuple[Any, Any]:
    recall = _of(sums, "found", "gold")
    true = recall * density
    return ratio(true, true + 1000 * _of(sums, "clean_false", "clean")), recall


def _estimated(statistic: Callable[[np.ndarray], Any], sums: np.ndarray, draws: np.ndarray) -> dict[str, Any]:
    return {"value": rounded(statistic(sums)), "interval": percentiles(np.asarray(statistic(draws)))}
