"""What every detector does: a session to the spans of each of its messages."""

from __future__ import annotations

from typing import Protocol

from tamis.pii.sessions import Session
from tamis.pii.spans import Span


class Detector(Protocol):
    """Finds personal data."""

    @property
    def name(self) -> str:
        """What the detector is called in tables and reasons."""
        ...

    @property
    def threshold(self) -> float:
        """The score from which on a span counts, where nobody says otherwise."""
        ...

    def detect(self, session: Session) -> list[list[Span]]:
        """The spans of each message, in the order of `session.messages`; offsets are code points of its content.

        Spans may overlap, and may score below the threshold: `spans.settled` cuts and joins them.
        """
        ...
