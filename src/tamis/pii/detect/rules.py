"""Personal data by patterns with context and checksums, and names by what a session says of its people."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from tamis.pii.detect import patterns, people, views
from tamis.pii.sessions import Session
from tamis.pii.spans import Span, settled


class RulesDetector:
    """Finds personal data by rules alone: no model, no network.

    Args:
        roster: Names of people who may take part, one a string; outside word problems they always count.

    Attributes:
        name: What the detector is called.
        threshold: The score from which on a span counts. What scores lower is for a reviewer.
    """

    name = "rules"
    threshold = 0.5

    def __init__(self, roster: Sequence[str] = ()) -> None:
        self._roster = tuple(roster)

    def detect(self, session: Session) -> list[list[Span]]:
        """The spans of each message, in order; those that score below the threshold too."""
        seen = views.views(session)
        named = people.find(seen, self._roster, self.threshold)
        structured = patterns.find(seen)
        return [
            sorted(_apart(names, others, self.threshold)) for names, others in zip(named, structured, strict=True)
        ]


def _apart(names: list[Span], others: list[Span], threshold: float) -> list[Span]:
    """Names and other spans of a message; a name inside an address or a school that counts is a part of it."""
    firm = settled(others, threshold)
    starts = [span.start for span in firm]
    kept = []
    for name in names:
        at = bisect_right(starts, name.start) - 1
        if at < 0 or firm[at].end < name.end:
            kept.append(name)
    return kept + others
