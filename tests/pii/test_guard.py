"""The maths guard: what stock detectors take for people, and what it must not drop."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.pii import maths
from tamis.pii.guard import guard, guarded
from tamis.pii.labels import LABELS
from tamis.pii.sessions import Message, Session
from tamis.pii.spans import Span

FAULTS = [
    ("solve x^2+3x-28=0", "x^2+3x-28", "DATE_TIME"),
    ("so 16+57+89 is the sum", "16+57+89", "DATE_OF_BIRTH"),
    ("the angles are 57°, 89°", "57°, 89°", "DATE_OF_BIRTH"),
    ("it takes 21 days", "21 days", "DATE_OF_BIRTH"),
    ("then 9351 / 7", "9351 / 7", "DATE_OF_BIRTH"),
    ("12/25 of the cake", "12/25", "DATE_OF_BIRTH"),
    ("3/4/12", "3/4/12", "DATE_TIME"),
    ("the max of the function is 3", "max", "PERSON"),
    ("plug in h(x) = 3", "h(x", "PERSON"),
    (r"so \frac{dy}{dx} = 2", r"\frac{dy}{dx}", "PERSON"),
    ("convert it to Kelvin now", "Kelvin", "PERSON"),
    ("the Taylor series", "Taylor", "PERSON"),
    ("for all x<0 it falls", "x<0", "LOCATION"),
    ("y=-2 is a line", "y=-2", "LOCATION"),
    ("the Pythagorean theorem", "Pythagorean", "NRP"),
    ("in radians please", "radians", "NRP"),
    ("it is 0.18181818", "0.18181818", "US_DRIVER_LICENSE"),
    ("100000", "100000", "US_BANK_NUMBER"),
    ("so x5 is ten", "x5", "US_DRIVER_LICENSE"),
    ("P1 and T2", "P1", "US_DRIVER_LICENSE"),
    ("choose H1 or D3", "H1", "ID_NUMBER"),
    ("the quotient is 4010232137", "4010232137", "UK_NHS"),
    ("duplicate 1234567 twice", "1234567", "US_DRIVER_LICENSE"),
    ("I get 2.So then", "2.So", "URL"),
    ("read the problem.To start", "problem.To", "URL"),
    ("we did algebra.Growing up", "algebra.Growing", "URL"),
    ("y=<PERSON>", "y=<PERSON>", "PERSON"),
    ("555-0134 = 421", "555-0134", "PHONE_NUMBER"),
    ("no phone numbers please! what is 310 + 555", "310 + 555", "PHONE_NUMBER"),
    ("um seven eighths", "seven", "AGE"),
    ("um seven eighths", "seven eighths", "PHONE_NUMBER"),
    ("use www.geogebra.org/graphing", "www.geogebra.org/graphing", "URL"),
]
KEPT = [
    ("my birthday is 12/25", "12/25", "DATE_OF_BIRTH"),
    ("my student id is 48213", "48213", "ID_NUMBER"),
    ("call 555-0134", "555-0134", "PHONE_NUMBER"),
    ("(646) 555 - 0175", "(646) 555 - 0175", "PHONE_NUMBER"),
    ("hey max r u there", "max", "PERSON"),
    ("ask Taylor about it", "Taylor", "PERSON"),
    ("my name is Kelvin", "Kelvin", "PERSON"),
    ("it is spelled I-V-A-N", "I-V-A-N", "PERSON"),
    ("R. o. s. a. l. i. e", "R. o. s. a. l. i. e", "PERSON"),
    ("K. was quick today.", "K.", "PERSON"),
    ("芳 is late", "芳", "PERSON"),
    ("we all go to p.s. 88", "p.s. 88", "SCHOOL"),
    ("12 Miles Avenue", "12 Miles Avenue", "LOCATION"),
    ("i'm 13 years old", "13", "AGE"),
    ("my ip is 192.0.2.14", "192.0.2.14", "IP_ADDRESS"),
    ("4111 1111 1111 1111", "4111 1111 1111 1111", "CREDIT_CARD"),
    ("docs.google.com/document/d/1x", "docs.google.com/document/d/1x", "URL"),
    ("a.b@example.com", "a.b@example.com", "EMAIL_ADDRESS"),
]


def span(content: str, text: str, label: str) -> Span:
    start = content.index(text)
    return Span(start, start + len(text), label)


@pytest.mark.parametrize(("content", "text", "label"), FAULTS)
def test_what_stock_tools_take_for_personal_goes_with_its_reason(content: str, text: str, label: str) -> None:
    kept, dropped = guard(content, [span(content, text, label)])
    assert not kept
    assert dropped[0][1] and text not in dropped[0][1]


@pytest.mark.parametrize(("content", "text", "label"), KEPT)
def test_a_stronger_reason_keeps_a_span_that_looks_like_maths(content: str, text: str, label: str) -> None:
    found = span(content, text, label)
    assert guard(content, [found]) == ([found], [])


def test_a_name_loses_the_sum_that_hangs_on_it() -> None:
    kept, _ = guard("Emma 12/25 is right", [Span(0, 10, "PERSON")])
    assert [(s.start, s.end) for s in kept] == [(0, 4)]


def test_a_question_before_is_context_for_a_number_alone() -> None:
    messages = Message(0, "tutor", "How old are you?"), Message(1, "student", "13")
    found = [[], [Span(0, 2, "AGE")]]
    assert guarded(Session("a", messages), found)[0] == found
    assert guard("13", found[1])[0] == []
    asked = Message(0, "tutor", "when is your birthday? next problem"), Message(1, "student", "-8 - (-15)")
    assert guarded(Session("a", asked), [[], [Span(1, 2, "DATE_OF_BIRTH"), Span(7, 9, "AGE")]])[0] == [[], []]


TERM = st.one_of(
    st.integers(0, 9999).map(str), st.decimals(0, 99, places=3).map(str), st.sampled_from(["x", "2y", "n"])
)
SUM = st.lists(TERM, min_size=2, max_size=6).flatmap(
    lambda terms: st.lists(
        st.sampled_from(["+", " * ", "=", " / ", "^", " - "]), min_size=len(terms), max_size=len(terms)
    ).map(lambda marks: "".join(a + b for a, b in zip(terms, marks, strict=True))[:-1].rstrip(" -+*/=^"))
)


@settings(max_examples=150, deadline=None)
@given(SUM, st.sampled_from(["PERSON", "DATE_TIME", "US_DRIVER_LICENSE", "LOCATION", "NRP", "AGE"]), st.data())
def test_arithmetic_is_never_covered_by_a_kept_span(formula: str, label: str, data: st.DataObject) -> None:
    content = f"so we get {formula} and that is all"
    start = data.draw(st.integers(0, len(content) - 2))
    end = data.draw(st.integers(start + 1, len(content)))
    pieces = maths.expressions(content)
    kept, _ = guard(content, [Span(start, end, label)])
    for found in kept:
        inside = [p for p in pieces if p[0] < found.end and found.start < p[1]]
        assert all(found.start < left and right < found.end for left, right in inside), "a piece of a sum is cut"
        assert not any(left <= found.start and found.end <= right for left, right in inside)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.sampled_from(LABELS), st.data())
def test_any_text_and_any_span_have_an_answer(content: str, label: str, data: st.DataObject) -> None:
    if not content:
        return
    start = data.draw(st.integers(0, len(content) - 1))
    found = Span(start, data.draw(st.integers(start + 1, len(content))), label)
    kept, dropped = guard(content, [found])
    assert len(kept) + len(dropped) == 1
    assert all(found.start <= s.start < s.end <= found.end for s in kept)
