"""What the metrics call maths: each kind by an example that no other kind sees, and what only looks like it."""

from __future__ import annotations

import re

import pytest

from tamis.metrics.maths import KINDS, pieces

ALONE = {
    "LaTeX command": r"write \pi here",
    "inline formula": "so $ab_cd$ holds",
    "operator between terms": "is 12 / k more",
    "x for times": "do 7 x 8 now",
    "operation in words": "say 5 plus some",
    "root in words": "the square root of it",
    "named function": "find log e first",
    "function value": "what is h(abc)?",
    "coordinates": "the point (3, -4) lies",
    "three numbers in a row": "4, 7, 10 go on",
    "index": "term a_n follows",
    "measure": "it took 21 days",
    "decimals": "about 0.18 of it",
    "sign": "half is 50 %",
    "thousands": "got 1,234 of them",
    "six digits or more": "then 2598960 ways",
    "price or term": "that is 3x then",
    "bare number": "25?",
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_an_example_of_its_own(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pieces(ALONE[kind])
    rest = [pattern for name, pattern in KINDS.items() if name != kind]
    monkeypatch.setattr("tamis.metrics.maths._ANY", re.compile("|".join(rest)))
    assert not pieces(ALONE[kind])


@pytest.mark.parametrize(
    "text",
    [
        "hi Ana",
        "7th grade",
        "see you at 5",
        "well-known",
        "Room 12",
        "and/or",
        "at 3:45",
        "the 1990s",
        "log a note",
        "I am - you know - lost",
        "version 3.8.0.1",
        "I'm = me",
        "",
    ],
)
def test_what_only_looks_like_maths_is_none(text: str) -> None:
    assert pieces(text) == []


def test_a_piece_is_where_it_stands_in_code_points() -> None:
    assert pieces("👋 x = 7, ok") == [(2, 7)]
