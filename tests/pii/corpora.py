"""A redacted corpus of tutoring, a detector that knows its missed names, and what a reviewer would fill in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tamis.pii.sessions import Session
from tamis.pii.spans import Span

SESSIONS = {
    "s1": [
        ("tutor", "Hi <PERSON>! I'm <PERSON>. Ready?"),
        ("student", "y=<PERSON> right? my name is Emma Carter btw"),
        ("tutor", "<PERSON> has 5 apples and eats 2. call me at <PHONE_NUMBER>"),
        ("student", "thanks <PERSON>, bye. so <PERSON>'s theorem; [REDACTED]"),
    ],
    "s2": [
        ("student", "emma here, {{PERSON}} said x + <DATE_TIME> = 12"),
        ("tutor", "ask [NAME] or <PERSON_1>, then <PERSON_1> again"),
    ],
}


class Known:
    """Finds the names that it was told."""

    name, threshold = "known", 0.5

    def __init__(self, *names: str) -> None:
        self._pattern = re.compile("|".join(names or ("emma carter", "emma")), re.IGNORECASE)

    def detect(self, session: Session) -> list[list[Span]]:
        return [
            [
                Span(*found.span(), "PERSON", 0.9, "a name that is known")
                for found in self._pattern.finditer(m.content)
            ]
            for m in session
        ]


def write(folder: Path, sessions: dict[str, list[tuple[str, str]]] | None = None) -> str:
    """The corpus as a file of sessions."""
    path = folder / "corpus.jsonl"
    with path.open("w") as stream:
        for name, messages in (sessions or SESSIONS).items():
            turns = [{"sequence_id": i, "role": role, "content": text} for i, (role, text) in enumerate(messages)]
            stream.write(json.dumps({"session_id": name, "messages": turns}) + "\n")
    return str(path)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def fill(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Fills a review file in, as a reviewer's editor would."""
    path.write_text("".join(json.dumps({**line, **change(line)}) + "\n" for line in lines(path)))
