"""A detector that finds the words it is told, in any casing: small, exact and real."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tamis.pii.sessions import Session
from tamis.pii.spans import Span


@dataclass(frozen=True)
class Words:
    """Finds words, each with its label.

    Attributes:
        labels: Pattern -> label.
        fails_at: The session at which it raises an error that holds the session's text.
    """

    labels: dict[str, str]
    fails_at: str = ""
    name: str = "words"
    threshold: float = 0.5

    def detect(self, session: Session) -> list[list[Span]]:
        if session.session_id == self.fails_at:
            raise ValueError(f"cannot read {session.messages[0].content}")
        return [
            [
                Span(*found.span(), label, 0.9, "a word of the list")
                for pattern, label in self.labels.items()
                for found in re.finditer(pattern, message.content, re.IGNORECASE)
            ]
            for message in session
        ]


PEOPLE = Words({"jamal(?: ortega)?": "PERSON", "ortega": "PERSON", r"555-01\d\d": "PHONE_NUMBER"})
