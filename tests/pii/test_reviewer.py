"""Proposals joined and judged: what the reviewer sees, what it learns, and that its table says all of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tamis.errors import UsageError
from tamis.pii import reviewer
from tamis.pii.detect.cascade import CascadeDetector
from tamis.pii.reviewer import Candidate, Reviewer
from tamis.pii.sessions import Annotated, Message, Session
from tamis.pii.spans import Span, settled


def session(*contents: str) -> Session:
    return Session(
        "s", tuple(Message(i, ("student", "tutor")[i % 2], content) for i, content in enumerate(contents))
    )


class Words:
    """A detector that proposes given words, wherever they stand."""

    threshold = 0.5

    def __init__(self, name: str, **scores: float) -> None:
        self.name = name
        self._scores = scores

    def detect(self, session: Session) -> list[list[Span]]:
        return [
            [
                Span(at, at + len(word), "PERSON", score, "a word")
                for word, score in self._scores.items()
                if (at := message.content.find(word)) >= 0
            ]
            for message in session
        ]


def test_proposals_that_overlap_are_one_over_what_is_sure() -> None:
    found = {
        "rules": [[Span(3, 7, "PERSON", 0.9), Span(20, 24, "AGE", 0.2)]],
        "model": [[Span(3, 13, "PERSON", 0.6), Span(0, 5, "USERNAME", 0.1)]],
    }
    first, second = reviewer.candidates(found)
    assert (first.span.start, first.span.end, first.span.label) == (3, 13, "PERSON")
    assert {name: span.score for name, span in first.proposals.items()} == {"rules": 0.9, "model": 0.6}
    assert (second.span.start, second.span.end) == (20, 24) and [*second.proposals] == ["rules"]


def test_of_several_that_are_sure_the_first_gives_the_label() -> None:
    number = Span(0, 9, "PHONE_NUMBER", 0.99)
    (one,) = reviewer.candidates({"rules": [[Span(0, 9, "IP_ADDRESS", 0.9)]], "model": [[number]]})
    assert one.span.label == "IP_ADDRESS"
    (one,) = reviewer.candidates({"rules": [[Span(0, 9, "IP_ADDRESS", 0.3)]], "model": [[number]]})
    assert one.span.label == "PHONE_NUMBER"


def test_nothing_proposed_is_nothing_to_judge() -> None:
    assert reviewer.candidates({}) == [] and reviewer.candidates({"rules": [[], []]}) == []
    assert CascadeDetector([Words("rules")], Reviewer({}, 0.0)).detect(session("hi", "")) == [[], []]


def test_a_feature_tells_what_it_says() -> None:
    talk = session("hi Emma", "Emma has 3 apples and gives 1 away. How many are left over?", r"\frac{EMMA}{2} = 3")
    detector = CascadeDetector([Words("rules", Emma=0.9, EMMA=0.3)], Reviewer({}, 0.0))
    greeted, told, odd = reviewer.features(talk, detector.propose(talk))
    assert greeted["called by a cue"] == 1 and "called by a cue" not in told
    assert (
        told["does what people in problems do"] == 1
        and "the guard drops it" not in greeted
        and told["word problem"] > greeted.get("word problem", 0)
    )
    assert greeted["elsewhere in a word problem"] == told["word problem"]
    assert greeted["title case"] == 1 and odd["upper case"] == 1 and odd["inside maths"] == 1
    assert told["said by the tutor"] == 1 and "said by the tutor" not in greeted
    assert odd["maths segment"] == 1 and greeted["rules alone"] == 1
    assert greeted["a word that is: given"] == 1
    assert greeted["rules: a word"] == 1 and greeted["elsewhere, rules"] == 0.9


def test_it_learns_what_tells_people_from_characters_of_problems(tmp_path: Path) -> None:
    detector = CascadeDetector([Words("rules", Emma=0.6, Liam=0.6)], Reviewer({}, 0.0))
    rows, truth = [], []
    for name in ("Emma", "Liam") * 5:
        talk = session(f"hi {name}", f"{name} has 3 apples, how many are left?")
        known = Annotated(talk, ((Span(3, 3 + len(name), "PERSON"),), ()))
        proposed = detector.propose(talk)
        rows += reviewer.features(talk, proposed)
        truth += reviewer.truth(known, proposed)
    made = reviewer.fit(rows, truth)
    made.save(tmp_path / "reviewer.json")
    again = reviewer.load(tmp_path / "reviewer.json")
    judged = CascadeDetector([Words("rules", Emma=0.6)], again).detect(
        session("ok", "hey Emma", "Emma has 9 hats.")
    )
    assert [len(settled(spans, again.threshold)) for spans in judged] == [0, 1, 0]
    assert judged[1][0].reason.startswith("reviewer: ") and "Emma" not in judged[1][0].reason


def test_its_table_can_be_read_and_is_all_of_it(tmp_path: Path) -> None:
    Reviewer({"model": 2.0, "inside maths": -3.25, "nothing": 0.0}, -1.0, 0.4).save(tmp_path / "reviewer.json")
    content = json.loads((tmp_path / "reviewer.json").read_text())
    assert content == {"threshold": 0.4, "bias": -1.0, "weights": {"inside maths": -3.25, "model": 2.0}}
    assert reviewer.load(tmp_path / "reviewer.json") == Reviewer({"inside maths": -3.25, "model": 2.0}, -1.0, 0.4)


@pytest.mark.parametrize("content", ["", "[]", '{"bias": 1}', '{"bias": "x", "weights": {}, "threshold": 1}'])
def test_a_file_that_is_no_reviewer_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "reviewer.json").write_text(content)
    with pytest.raises(UsageError, match=r"reviewer\.json: not a reviewer"):
        reviewer.load(tmp_path / "reviewer.json")


def test_candidates_of_one_kind_teach_nothing() -> None:
    with pytest.raises(UsageError, match="all of one kind"):
        reviewer.fit([{"a": 1.0}] * 9, [True] * 9)


def test_any_reviewer_will_do() -> None:
    class Doubts:
        threshold = 0.5

        def review(self, session: Session, found: list[Candidate]) -> list[Span]:
            return [Span(one.span.start, one.span.end, one.span.label, 0.2, "no") for one in found]

    judged = CascadeDetector([Words("rules", Emma=0.99)], Doubts()).detect(session("hi Emma"))
    assert [span.score for span in judged[0]] == [0.2]
