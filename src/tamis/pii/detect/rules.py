"""Personal data by patterns with context and checksums, and names by what a session says of its people."""

from __future__ import annotations

from collections.abc import Sequence

from tamis.pii.detect import cues, patterns, people
from tamis.pii.sessions import Session
from tamis.pii.spans import Span


class RulesDetector:
    """Finds personal data by rules alone: no model, no network.

    Args:
        roster: Names of people who may take part, one a string; they count wherever they stand outside word problems.

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
        views = cues.views(session)
        named = people.find(views, self._roster, self.threshold)
        structured = patterns.find(views)
        return [sorted(_apart(names, others, self.threshold)) for names, others in zip(named, structured, strict=True)]


def _apart(names: list[Span], others: list[Span], threshold: float) -> list[Span]:
    """Names and other spans of a message; a name inside an address or a school that counts is a part of it."""
    firm = [span for span in others if span.score >= threshold]
    kept = [name for name in names if not any(span.start <= name.start and name.end <= span.end for span in firm)]
    return kept + others
