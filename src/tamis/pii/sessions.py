"""A tutoring session: its messages in order, with ids and roles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tamis.pii.spans import Span

STUDENT, TUTOR = "student", "tutor"


@dataclass(frozen=True)
class Message:
    """What one person wrote at once.

    Attributes:
        sequence_id: The message's number in its session; unique there.
        role: `student`, `tutor`, or another name that the data gives.
        content: The text, as it came.
    """

    sequence_id: int
    role: str
    content: str


@dataclass(frozen=True)
class Session:
    """The messages of one session. What is known of them (gold spans) is not here, so no detector can read it.

    Attributes:
        session_id: The session's id, unique in its data set.
        messages: The messages in order.
    """

    session_id: str
    messages: tuple[Message, ...]

    def __len__(self) -> int:
        """The number of messages."""
        return len(self.messages)

    def __iter__(self) -> Iterator[Message]:
        """The messages in order."""
        return iter(self.messages)


@dataclass(frozen=True)
class Annotated:
    """A session and the spans that its data came with.

    Attributes:
        session: The session.
        spans: The spans of each message; None where the data has none at all.
    """

    session: Session
    spans: tuple[tuple[Span, ...], ...] | None = None
