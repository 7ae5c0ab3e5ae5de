"""A chat model as the reviewer of the cascade: of each candidate it says whether it is to be redacted or kept."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tamis.errors import WorkError
from tamis.pii import tokens
from tamis.pii.detect.chat_models import Chat, Turn
from tamis.pii.detect.llm import plain, template
from tamis.pii.reviewer import Candidate
from tamis.pii.sessions import Session
from tamis.pii.spans import Span

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "verdicts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"candidate": {"type": "integer"}, "verdict": {"enum": ["redact", "keep"]}},
                "required": ["candidate", "verdict"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["verdicts"],
    "additionalProperties": False,
}
"""The form of an answer, as a JSON schema."""

_AT_ONCE = 12  # candidates of one prompt
_AROUND = 2  # messages before and after a candidate's that are shown
_NEAR = 400  # characters before and after a candidate that are shown of its message
_SURE = 0.9  # models give no probability
_AGAIN = (
    "That is not the JSON object that was asked for, with a verdict for every candidate. Answer with it alone."
)


class LLMReviewer:
    """Judges candidates by asking a chat model, which sees their role, segment and neighbours.

    Attributes:
        threshold: A candidate to be redacted scores above it, one to be kept below.

    Args:
        chat: The model.
    """

    threshold = 0.5

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def review(self, session: Session, found: Sequence[Candidate]) -> list[Span]:
        """Each candidate's span with the model's verdict, in the order of `found`.

        Raises:
            WorkError: The model cannot be reached, or twice gives no verdict of some candidate.
        """
        segments = tokens.segments(session)
        made = []
        for group in _groups(found):
            verdicts = self._verdicts(session, segments, group)
            for number, one in enumerate(group, 1):
                redact = verdicts[number]
                reason = f"a chat model's review: {'redact' if redact else 'keep'}"
                made.append(replace(one.span, score=_SURE if redact else 1 - _SURE, reason=reason))
        return made

    def _verdicts(self, session: Session, segments: Sequence[str], group: Sequence[Candidate]) -> dict[int, bool]:
        lines = [_shown(session, segments, one, number) for number, one in enumerate(group, 1)]
        prompt = template("review").render(lines="\n".join(json.dumps(line, ensure_ascii=False) for line in lines))
        turns: list[Turn] = [{"role": "user", "content": prompt}]
        for _ in range(2):
            answer = self._chat.ask(turns, SCHEMA)
            verdicts = read(answer)
            if {*range(1, len(group) + 1)} <= {*verdicts}:
                return verdicts
            again: Turn = {"role": "user", "content": _AGAIN}
            turns = [turns[0], {"role": "assistant", "content": answer or "-"}, again]
        raise WorkError(
            f"{self._chat.name}: no readable verdict for {len(group)} candidates of session {session.session_id}; "
            "another model may give one, or the small reviewer that needs none"
        )


def read(answer: str) -> dict[int, bool]:
    """The verdicts of an answer by the candidates' numbers, True to redact; none where it has another form."""
    text = answer.rpartition("</think>")[2]
    try:
        content = json.loads(text[text.index("{") : text.rindex("}") + 1])
        entries = [(one["candidate"], one["verdict"]) for one in content["verdicts"]]
    except (ValueError, KeyError, TypeError):
        return {}
    return {number: verdict == "redact" for number, verdict in entries if verdict in ("redact", "keep")}


def _groups(found: Sequence[Candidate]) -> Iterator[Sequence[Candidate]]:
    for i in range(0, len(found), _AT_ONCE):
        yield found[i : i + _AT_ONCE]


def _shown(session: Session, segments: Sequence[str], one: Candidate, number: int) -> dict[str, Any]:
    """What the model sees of a candidate; its own message with [[ ]] around it."""

    def told(i: int) -> dict[str, str]:
        return {"role": session.messages[i].role, "text": plain(session.messages[i].content[: 2 * _NEAR])}

    here, span = session.messages[one.message], one.span
    before = here.content[max(span.start - _NEAR, 0) : span.start]
    marked = f"{before}[[{here.content[span.start : span.end]}]]{here.content[span.end : span.end + _NEAR]}"
    return {
        "candidate": number,
        "label": span.label,
        "role": here.role,
        "segment": segments[one.message],
        "before": [told(i) for i in range(max(one.message - _AROUND, 0), one.message)],
        "text": plain(marked),
        "after": [told(i) for i in range(one.message + 1, min(one.message + 1 + _AROUND, len(session)))],
    }
