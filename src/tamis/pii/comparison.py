"""Detectors side by side: each runs once over annotated sessions, and every row of the table is made from that."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tamis.errors import UsageError
from tamis.metrics.false_positives import by_label, by_segment, rates
from tamis.metrics.spans import Predicted, count, pooled, scored
from tamis.pii.annotations import read_spans
from tamis.pii.detect.detector import Detector
from tamis.pii.detect.llm_choice import Judged
from tamis.pii.labels import FROM_PRESIDIO, STRUCTURED
from tamis.pii.sessions import Annotated, Session
from tamis.pii.spans import Span, settled

Guard = Callable[[Session, Sequence[Sequence[Span]]], tuple[list[list[Span]], Any]]
"""`guard.guarded`: a session and its spans to those kept and those dropped."""

BASELINE = "presidio"
NOISY = ("DATE_TIME", "NRP")
"""What most users of Presidio switch off first."""


@dataclass(frozen=True)
class Run:
    """What a detector found in every message, and what it took.

    Attributes:
        name: The detector's.
        spans: As it gave them.
        threshold: Its own.
        seconds: CPU seconds of the process; None where it was not this process that worked.
        unscored: Messages of which nothing is known, since a chat model gave no answer that can be read.
    """

    name: str
    spans: Predicted
    threshold: float
    seconds: float | None = None
    unscored: int = 0


def run(detector: Detector, gold: Sequence[Annotated]) -> Run:
    """The detector's spans on all sessions; it never sees the gold."""
    begin = time.process_time()
    spans = [detector.detect(known.session) for known in gold]
    return Run(detector.name, spans, detector.threshold, time.process_time() - begin)


def judged(found: Judged) -> Run:
    """What a chat model said; it gives no score, so everything counts."""
    return Run(f"llm {found.prompt}", found.predicted, 0.0, unscored=found.unscored)


def read_run(name: str, path: Path, gold: Sequence[Annotated]) -> Run:
    """The spans of a detector that ran elsewhere, from a `spans.jsonl`; they all count.

    Raises:
        UsageError: The file cannot be read, a line is bad, or names a message that came before or is not there.
    """
    places = {
        (known.session.session_id, message.sequence_id): (i, j, message.content)
        for i, known in enumerate(gold)
        for j, message in enumerate(known.session)
    }
    spans: list[list[list[Span]]] = [[[] for _ in known.session] for known in gold]
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number}"
        try:
            row = json.loads(line)
            key, given = (str(row["session_id"]), int(row["sequence_id"])), list(row["spans"])
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{where} is not an object with session_id, sequence_id and spans") from None
        if key not in places:
            raise UsageError(f"{where}: session {key[0]} message {key[1]} is not in the gold, or came before")
        i, j, content = places.pop(key)
        spans[i][j] = [*read_spans(where, content, given)]
    return Run(name, spans, 0.0)


def counting(
    found: Run,
    gold: Sequence[Annotated],
    *,
    guard: Guard | None = None,
    without: Collection[str] = (),
    joined: bool = True,
) -> list[list[list[Span]]]:
    """The spans that count, under our labels.

    Args:
        found: What a detector found, under its own labels.
        gold: The sessions that it found them in.
        guard: Drops spans that are maths, if given.
        without: The detector's labels that are left out.
        joined: Whether spans that overlap become one, as they do in a redaction. Presidio's stay as its analyser
            gives them, which the known numbers are of.
    """

    def session(known: Session, spans: Sequence[Sequence[Span]]) -> list[list[Span]]:
        kept = [[s for s in line if s.label not in without and s.score >= found.threshold] for line in spans]
        if guard:
            kept, _ = guard(known, kept)
        ours = [[replace(s, label=FROM_PRESIDIO.get(s.label, s.label)) for s in line] for line in kept]
        return [settled(line, found.threshold) for line in ours] if joined else ours

    return [session(known.session, guessed) for known, guessed in zip(gold, found.spans, strict=True)]


def figures(
    gold: Sequence[Annotated], predicted: Predicted, maths: np.ndarray, *, seed: int = 0, resamples: int = 1000
) -> dict[str, Any]:
    """Every figure of one row.

    Args:
        gold: Annotated sessions.
        predicted: The spans that count.
        maths: `[messages]` bool: which lie in a maths segment.
        seed: Of the bootstrap over sessions.
        resamples: How often sessions are drawn.
    """
    counts = count(gold, predicted)
    scores = scored(counts, seed=seed, resamples=resamples)
    return scores | {
        "structured": pooled(scores["per_label"], STRUCTURED),
        "person": pooled(scores["per_label"], ["PERSON"]),
        "false_positives": rates(counts, seed=seed, resamples=resamples),
        "segments": by_segment(counts, maths, seed=seed, resamples=resamples),
        "false_by_label": by_label(gold, predicted),
    }


def rows(
    gold: Sequence[Annotated],
    runs: Sequence[Run],
    maths: np.ndarray,
    guard: Guard,
    *,
    seed: int = 0,
    resamples: int = 1000,
) -> dict[str, dict[str, Any]]:
    """The rows of the table: each detector alone and with the maths guard, stock Presidio also without `NOISY`.

    Args:
        gold: Annotated sessions.
        runs: What each detector found; Presidio's under Presidio's own labels.
        maths: As `figures`.
        guard: The maths guard.
        seed: As `figures`.
        resamples: As `figures`.
    """
    made: dict[str, dict[str, Any]] = {}
    messages = sum(len(known.session) for known in gold)
    for found in runs:
        stock = found.name.startswith(BASELINE)
        for without in ((), NOISY) if found.name == BASELINE else ((),):
            for guarded in (False, True):
                name = found.name
                name += f" without {' and '.join(without)}" if without else ""
                name += ", guarded" if guarded else ""
                kept = counting(found, gold, guard=guard if guarded else None, without=without, joined=not stock)
                made[name] = figures(gold, kept, maths, seed=seed, resamples=resamples) | {
                    "detector": found.name,
                    "threshold": found.threshold,
                    "unscored": found.unscored,
                    "messages_per_cpu_second": found.seconds and round(messages / found.seconds, 1),
                }
    leaks = made[BASELINE]["leaked_characters"] if BASELINE in made else 0
    for row in made.values():
        row["leaked_against_baseline"] = round(row["leaked_characters"] / leaks, 4) if leaks else None
    return made


def baseline_entities(found: Run, gold: Sequence[Annotated]) -> dict[str, dict[str, Any]]:
    """Stock Presidio's false positives by its own entity and our label: at the threshold, and at any score."""
    every = by_label(gold, found.spans)
    above = [[[s for s in spans if s.score >= found.threshold] for spans in messages] for messages in found.spans]
    counted = by_label(gold, above)
    return {
        entity: {"label": FROM_PRESIDIO.get(entity), "false": counted.get(entity, 0), "false_at_any_score": number}
        for entity, number in every.items()
    }


def about(gold: Sequence[Annotated]) -> Mapping[str, Any]:
    """How large a set is and how dense with personal data."""
    messages = sum(len(known.session) for known in gold)
    spans = sum(len(line) for known in gold for line in known.spans or ())
    return {
        "sessions": len(gold),
        "messages": messages,
        "gold_spans": spans,
        "labels_per_1000_messages": round(1000 * spans / messages, 1) if messages else None,
    }
