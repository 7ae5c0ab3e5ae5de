"""How much personal data a detector finds, and how much maths it leaves alone, both by position.

White space never counts. A gold span is found if the predicted spans of its message, taken together, cover all of
it; a predicted span is false if it overlaps no gold span. So a detector may cut a name in pieces, and a name that
is found elsewhere in a message does not count for this one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from tamis.errors import UsageError
from tamis.metrics.bootstrap import percentiles, resampled
from tamis.metrics.intervals import wilson
from tamis.metrics.maths import pieces
from tamis.pii.sessions import Annotated
from tamis.pii.spans import Span, check

FIELDS = (
    "messages",
    "gold",
    "found",
    "predicted",
    "false",
    "exact_predicted",
    "exact",
    "gold_characters",
    "predicted_characters",
    "shared_characters",
    "maths",
    "preserved",
    "intact",
    "clean",
    "clean_false",
)
"""What is counted of every message. `clean` is a message without gold spans, `clean_false` its false spans."""

Predicted = Sequence[Sequence[Sequence[Span]]]
"""The spans of each message of each session, in the order of the gold; duplicates count once."""


@dataclass(frozen=True)
class Counts:
    """What was counted.

    Attributes:
        rows: `[messages, FIELDS]` int64.
        session: `[messages]`: which session a message belongs to, from 0.
        labels: Of each gold label: `gold`, `found`, `exact`.
    """

    rows: np.ndarray
    session: np.ndarray
    labels: dict[str, dict[str, int]] = field(default_factory=dict)

    def by_session(self, only: np.ndarray | None = None) -> np.ndarray:
        """The sums over each session, `[sessions, FIELDS]`; `only` is a mask of messages."""
        kept = self.rows if only is None else self.rows * only[:, None]
        sums = np.zeros((int(self.session[-1]) + 1 if len(self.session) else 0, len(FIELDS)), np.int64)
        np.add.at(sums, self.session, kept)
        return sums


def count(gold: Sequence[Annotated], predicted: Predicted) -> Counts:
    """What stands in each message, gold against predicted.

    Raises:
        UsageError: Sessions, messages and predictions do not pair up; a session has no gold; spans lie outside
            their text; gold spans overlap.
    """
    if len(gold) != len(predicted):
        raise UsageError(f"there are {len(gold)} sessions and predictions for {len(predicted)}")
    labels: dict[str, dict[str, int]] = defaultdict(lambda: {"gold": 0, "found": 0, "exact": 0})
    rows, places = [], []
    for place, (known, guessed) in enumerate(zip(gold, predicted, strict=True)):
        where = f"session {known.session.session_id}"
        if known.spans is None:
            raise UsageError(f"{where} has no gold spans to score against")
        if not len(known.session) == len(known.spans) == len(guessed):
            parts = (len(known.session), len(known.spans), len(guessed))
            raise UsageError("{} has {} messages, gold for {} and predictions for {}".format(where, *parts))
        for message, mine, theirs in zip(known.session, known.spans, guessed, strict=True):
            here = f"{where} message {message.sequence_id}"
            check(f"{here}, predicted", message.content, theirs)
            check(f"{here}, gold", message.content, mine)
            _refuse_overlap(here, mine)
            rows.append(_message(message.content, mine, theirs, labels))
            places.append(place)
    table = np.array([[row.get(name, 0) for name in FIELDS] for row in rows], np.int64)
    return Counts(table.reshape(-1, len(FIELDS)), np.array(places, np.int64), dict(labels))


def _refuse_overlap(where: str, spans: Sequence[Span]) -> None:
    for before, after in pairwise(sorted(spans)):
        if after.start < before.end:
            raise UsageError(f"{where}: gold spans at {before.start} and {after.start} overlap")


def _message(
    content: str, gold: Sequence[Span], predicted: Sequence[Span], labels: dict[str, dict[str, int]]
) -> dict[str, int]:
    solid = np.array([not character.isspace() for character in content], bool)
    covered, real = _covered(predicted, len(content)), _covered(gold, len(content)) & solid
    hidden = covered & solid
    exact = {(span.start, span.end, span.label) for span in predicted}
    found = [bool((covered | ~solid)[span.start : span.end].all()) for span in gold]
    hits = [(span.start, span.end, span.label) in exact for span in gold]
    for span, whole, same in zip(gold, found, hits, strict=True):
        row = labels[span.label]
        row["gold"] += 1
        row["found"] += whole
        row["exact"] += same
    places = {(span.start, span.end) for span in predicted}
    false = sum(not any(start < span.end and span.start < end for span in gold) for start, end in places)
    maths = pieces(_without(content, gold))
    return {
        "messages": 1,
        "gold": len(gold),
        "found": sum(found),
        "predicted": len(places),
        "false": false,
        "exact_predicted": len(exact),
        "exact": sum(hits),
        "gold_characters": int(real.sum()),
        "predicted_characters": int(hidden.sum()),
        "shared_characters": int((real & hidden).sum()),
        "maths": bool(maths),
        "preserved": bool(maths) and not (hidden & ~real).any(),
        "intact": bool(maths) and not any(covered[start:end].any() for start, end in maths),
        "clean": not gold,
        "clean_false": 0 if gold else false,
    }


def _without(content: str, spans: Sequence[Span]) -> str:
    characters = list(content)
    for span in spans:
        characters[span.start : span.end] = "\0" * (span.end - span.start)
    return "".join(characters)


def _covered(spans: Sequence[Span], size: int) -> np.ndarray:
    cells = np.zeros(size, bool)
    for span in spans:
        cells[span.start : span.end] = True
    return cells


def ratio(top: Any, bottom: Any) -> Any:
    """`top / bottom` of numbers or arrays; NaN where there is nothing below the line."""
    top, bottom = np.asarray(top, np.float64), np.asarray(bottom, np.float64)
    return np.divide(top, bottom, out=np.full(np.broadcast(top, bottom).shape, np.nan), where=bottom != 0)


def f1(precision: Any, recall: Any) -> Any:
    """The harmonic mean; 0 where nothing matched or one of the two is not defined, NaN where neither is."""
    precision, recall = np.asarray(precision, np.float64), np.asarray(recall, np.float64)
    p, r = np.nan_to_num(precision), np.nan_to_num(recall)
    mean = np.nan_to_num(ratio(2 * p * r, p + r))
    return np.where(np.isnan(precision) & np.isnan(recall), np.nan, mean)


def shares(sums: np.ndarray) -> dict[str, dict[str, Any]]:
    """Precision, recall and F1 of the three ways of counting; `sums` is `[..., FIELDS]`, and so are the values."""
    part = {name: sums[..., place] for place, name in enumerate(FIELDS)}
    ways = {
        "span": ((part["predicted"] - part["false"], part["predicted"]), (part["found"], part["gold"])),
        "exact": ((part["exact"], part["exact_predicted"]), (part["exact"], part["gold"])),
        "character": (
            (part["shared_characters"], part["predicted_characters"]),
            (part["shared_characters"], part["gold_characters"]),
        ),
    }
    found = {}
    for name, (of_predicted, of_gold) in ways.items():
        precision, recall = ratio(*of_predicted), ratio(*of_gold)
        found[name] = {"precision": precision, "recall": recall, "f1": f1(precision, recall)}
    return found


def score(
    gold: Sequence[Annotated], predicted: Predicted, *, seed: int = 0, resamples: int = 1000
) -> dict[str, Any]:
    """Every figure of a detector on annotated sessions, with four digits; None where there is nothing to count.

    Args:
        gold: Sessions with their spans.
        predicted: The spans of a detector that count, threshold and guard applied.
        seed: Of the bootstrap over sessions.
        resamples: How often sessions are drawn; 0 leaves the intervals out.

    Raises:
        UsageError: As `count`.
    """
    return scored(count(gold, predicted), seed=seed, resamples=resamples)


def scored(counts: Counts, *, seed: int = 0, resamples: int = 1000) -> dict[str, Any]:
    """As `score`, of what has been counted."""
    sessions = counts.by_session()
    total = dict(zip(FIELDS, sessions.sum(0).tolist(), strict=True))
    found = {
        way: {key: rounded(value) for key, value in row.items()} for way, row in shares(sessions.sum(0)).items()
    }
    draws = shares(resampled(sessions, seed=seed, resamples=resamples))
    return {
        "sessions": len(sessions),
        "messages": total["messages"],
        "gold_spans": total["gold"],
        "predicted_spans": total["predicted"],
        "span": found["span"]
        | {
            "found": total["found"],
            "missed": total["gold"] - total["found"],
            "false_positives": total["false"],
        },
        "exact": found["exact"] | {"true_positives": total["exact"]},
        "character": found["character"],
        "leaked_characters": total["gold_characters"] - total["shared_characters"],
        "maths": {
            "messages": total["maths"],
            "preserved": rounded(ratio(total["preserved"], total["maths"])),
            "maths_intact": rounded(ratio(total["intact"], total["maths"])),
        },
        "per_label": {
            label: {
                "gold": row["gold"],
                "found": row["found"],
                "recall": rounded(ratio(row["found"], row["gold"])),
                "exact_recall": rounded(ratio(row["exact"], row["gold"])),
            }
            for label, row in sorted(counts.labels.items())
        },
        "ci95": {
            **{way: percentiles(row["f1"]) for way, row in draws.items()},
            "resamples": resamples,
            "seed": seed,
        },
    }


def rounded(value: Any) -> float | None:
    """The value with four digits; None for NaN."""
    return None if np.isnan(value) else round(float(value), 4)


def pooled(per_label: Mapping[str, Mapping[str, Any]], labels: Collection[str]) -> dict[str, Any]:
    """Recall over several labels at once, with its 95 % Wilson interval; each of them alone has too few spans.

    Args:
        per_label: As `score` gives it.
        labels: Which are pooled.
    """
    rows = [row for label, row in per_label.items() if label in labels]
    gold, found = sum(row["gold"] for row in rows), sum(row["found"] for row in rows)
    ends = [round(end, 4) for end in wilson(found, gold)] if gold else None
    return {"gold": gold, "found": found, "recall": rounded(ratio(found, gold)), "interval": ends}
