"""A chat model's verdicts: what it is shown, what is read of its answer, what happens when that cannot be read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tamis.errors import WorkError
from tamis.pii import reviewer
from tamis.pii.detect.llm_reviewer import LLMReviewer, read
from tamis.pii.sessions import Message, Session
from tamis.pii.spans import Span

TALK = Session(
    "s",
    (
        Message(0, "tutor", "who are you? \ud83d"),
        Message(1, "student", "im Emma"),
        Message(2, "student", "Emma has 3x = 9 apples"),
        Message(3, "tutor", "ok"),
    ),
)
FOUND = reviewer.candidates({"rules": [[], [Span(3, 7, "PERSON", 0.8)], [Span(0, 4, "PERSON", 0.3)], []]})


class Says:
    """A chat that gives these answers in turn, and remembers what it was asked."""

    name = identity = "says"

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.asked: list[Sequence[dict[str, str]]] = []

    def ask(self, turns: Sequence[dict[str, str]], schema: dict[str, Any]) -> str:
        self.asked.append(turns)
        return self._answers.pop(0)


def answer(**verdicts: str) -> str:
    return json.dumps({"verdicts": [{"candidate": int(n[1:]), "verdict": v} for n, v in verdicts.items()]})


def test_its_verdicts_are_the_scores() -> None:
    judge = LLMReviewer(Says(f"<think>hm {{</think>```json\n{answer(_2='keep', _1='redact')}\n```"))
    spans = judge.review(TALK, FOUND)
    assert [(one.start, one.score > judge.threshold) for one in spans] == [(3, True), (0, False)]
    assert all("Emma" not in one.reason for one in spans)


def test_it_sees_the_candidate_its_neighbours_role_and_segment() -> None:
    chat = Says(answer(_1="redact", _2="keep"))
    LLMReviewer(chat).review(TALK, FOUND)
    lines = chat.asked[0][0]["content"].splitlines()
    shown = [json.loads(line) for line in lines if line.startswith('{"candidate"')]
    assert [one["text"] for one in shown] == ["im [[Emma]]", "[[Emma]] has 3x = 9 apples"]
    assert [one["segment"] for one in shown] == ["non_maths", "maths"] and shown[0]["role"] == "student"
    assert shown[0]["before"] == [{"role": "tutor", "text": "who are you? ?"}] and len(shown[0]["after"]) == 2


def test_it_is_asked_again_where_a_verdict_is_missing_and_then_the_work_fails() -> None:
    chat = Says(answer(_1="redact"), answer(_1="redact", _2="redact"))
    assert [one.score for one in LLMReviewer(chat).review(TALK, FOUND)] == [0.9, 0.9]
    assert len(chat.asked[1]) == 3
    with pytest.raises(WorkError, match="no readable verdict for 2 candidates of session s"):
        LLMReviewer(Says("no", "")).review(TALK, FOUND)


def test_nothing_is_asked_where_nothing_is_proposed() -> None:
    assert LLMReviewer(Says()).review(TALK, []) == []


@pytest.mark.parametrize(
    "text", ["", "{}", '{"verdicts": 3}', '{"verdicts": [3]}', '{"verdicts": [{"candidate": 1}]}']
)
def test_an_answer_of_another_form_holds_no_verdict(text: str) -> None:
    assert read(text) == {}
