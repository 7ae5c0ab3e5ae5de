"""Reads `probes.txt`: sessions with the spans that are personal, marked in the text."""

from __future__ import annotations

import re
from pathlib import Path

from tamis.pii.sessions import Annotated, Message, Session
from tamis.pii.spans import Span

PROBES = Path(__file__).with_name("probes.txt")
_MARK = re.compile(r"⟦([A-Z_]+):([^⟧]+)⟧")
_ROLES = {"S": "student", "T": "tutor"}


def read(path: Path = PROBES) -> list[Annotated]:
    """The sessions of a probe file, each with its spans."""
    sessions: list[Annotated] = []
    messages: list[Message] = []
    spans: list[tuple[Span, ...]] = []
    for line in [*path.read_text(encoding="utf-8").splitlines(), ""]:
        if line.startswith("#"):
            continue
        if not line:
            if messages:
                sessions.append(Annotated(Session(f"probe-{len(sessions)}", tuple(messages)), tuple(spans)))
            messages, spans = [], []
            continue
        role, _, text = line.partition(": ")
        content, found, at = "", [], 0
        for mark in _MARK.finditer(text):
            content += text[at : mark.start()]
            found.append(Span(len(content), len(content) + len(mark[2]), mark[1]))
            content += mark[2]
            at = mark.end()
        messages.append(Message(len(messages), _ROLES[role], content + text[at:]))
        spans.append(tuple(found))
    return sessions
