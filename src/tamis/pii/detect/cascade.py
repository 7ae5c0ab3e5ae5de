"""Propose, then review: what any detector finds, judged once more with all that is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from tamis.pii import reviewer as reviews
from tamis.pii.detect.detector import Detector
from tamis.pii.reviewer import Candidate
from tamis.pii.sessions import Session
from tamis.pii.spans import Span

REVIEWER = "reviewer.json"


class Reviewer(Protocol):
    """Judges candidates: `reviewer.Reviewer`, or one that asks a chat model.

    Attributes:
        threshold: The score from which on a candidate counts.
    """

    threshold: float

    def review(self, session: Session, found: Sequence[Candidate]) -> list[Span]:
        """Each candidate's span with the reviewer's own score and reason, in the order of `found`."""
        ...


class CascadeDetector:
    """Finds personal data in two steps: the union of several detectors proposes, a reviewer decides.

    Attributes:
        name: `cascade`.
        threshold: The reviewer's.

    Args:
        proposers: The detectors; by default `rules` and `model`. What they score low is proposed too.
        reviewer: Judges what they propose; by default the one that comes with tamis.
        roster: Names of people, for the rules by default.
    """

    name = "cascade"

    def __init__(
        self,
        proposers: Sequence[Detector] | None = None,
        reviewer: Reviewer | None = None,
        roster: Sequence[str] = (),
    ) -> None:
        from tamis.pii.detect.model import ModelDetector, shipped
        from tamis.pii.detect.rules import RulesDetector

        self.proposers: list[Detector] = [*proposers] if proposers else [RulesDetector(roster), ModelDetector()]
        self._reviewer = reviewer or reviews.load(Path(shipped()) / REVIEWER)
        self.threshold = self._reviewer.threshold

    def propose(self, session: Session) -> list[Candidate]:
        """What any of the detectors finds, overlapping spans joined."""
        return reviews.candidates({one.name: one.detect(session) for one in self.proposers})

    def detect(self, session: Session) -> list[list[Span]]:
        """The spans of each message; see `detector.Detector`."""
        proposed = self.propose(session)
        found: list[list[Span]] = [[] for _ in session]
        for candidate, span in zip(proposed, self._reviewer.review(session, proposed), strict=True):
            found[candidate.message].append(span)
        return found
