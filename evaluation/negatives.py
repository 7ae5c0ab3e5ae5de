"""Real maths text without personal data but for the invented persona of a dialogue, to count false positives on.

It reads MathDial (https://github.com/eth-nlped/mathdial) and GSM8K (https://github.com/openai/grade-school-math).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tamis.pii.sessions import STUDENT, TUTOR, Annotated, Message, Session
from tamis.pii.spans import Span

_MOVE = re.compile(r"^\((?:generic|focus|probing|telling)\)\s*")
_WORKED = re.compile(r"<<[^<>]*>>")


def mathdial(path: Path) -> list[Annotated]:
    """The dialogues, without the teacher's move labels; the persona's name is a PERSON wherever it stands."""
    return [_dialogue(number, row) for number, row in enumerate(_rows(path))]


def gsm8k(path: Path) -> list[Annotated]:
    """The problems, each a session of two: the question by the tutor, and its worked answer by the student."""
    made = []
    for number, row in enumerate(_rows(path)):
        texts = (row["question"], _WORKED.sub("", row["answer"]))
        lines = tuple(Message(i, (TUTOR, STUDENT)[i], text) for i, text in enumerate(texts))
        made.append(Annotated(Session(f"gsm8k-{number}", lines), ((), ())))
    return made


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _dialogue(number: int, row: dict[str, Any]) -> Annotated:
    persona = re.escape(row["student_profile"].split()[0])
    lines, spans = [], []
    for place, turn in enumerate(row["conversation"].split("|EOM|")):
        speaker, _, text = turn.partition(": ")
        content = _MOVE.sub("", text)
        lines.append(Message(place, TUTOR if speaker == "Teacher" else STUDENT, content))
        found = re.finditer(rf"\b{persona}\b", content, re.IGNORECASE)
        spans.append(tuple(Span(*match.span(), "PERSON") for match in found))
    return Annotated(Session(f"mathdial-{number}", tuple(lines)), tuple(spans))
