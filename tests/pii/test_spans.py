"""Spans lie in their text, overlapping ones become one, and offsets of web pages are the same places."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import UsageError
from tamis.pii.spans import Span, check, from_utf16, settled, to_utf16

TEXT = st.text(st.characters(codec="utf-8"), max_size=30)


@st.composite
def spans(draw: st.DrawFn) -> list[Span]:
    made = st.builds(
        lambda start, length, label, score: Span(start, start + length, label, score),
        st.integers(0, 20),
        st.integers(1, 6),
        st.sampled_from(["PERSON", "SCHOOL", "URL"]),
        st.sampled_from([0.1, 0.5, 0.9, 1.0]),
    )
    return draw(st.lists(made, max_size=8))


def cells(found: list[Span]) -> set[int]:
    return {cell for span in found for cell in range(span.start, span.end)}


@given(spans())
def test_settled_spans_cover_what_counts_and_nothing_else(found: list[Span]) -> None:
    left = settled(found, 0.5)
    assert cells(left) == cells([span for span in found if span.score >= 0.5])
    assert all(before.end <= after.start for before, after in pairwise(left))
    assert settled(left, 0.5) == left


def test_what_is_unsure_takes_nothing_with_it_and_the_best_gives_the_label() -> None:
    sure, unsure = Span(4, 8, "PERSON", 1.0, "roster"), Span(0, 20, "SCHOOL", 0.1)
    assert settled([unsure, sure], 0.5) == [sure]
    assert settled([sure, Span(6, 12, "URL", 0.6)], 0.5) == [Span(4, 12, "PERSON", 1.0, "roster")]
    assert settled([sure, Span(8, 12, "PERSON")], 0.5) == [sure, Span(8, 12, "PERSON")]  # they touch, no more
    assert settled([Span(0, 3, "AGE", 0.6), sure], 0.5, {"AGE": 0.7}) == [sure]


@given(TEXT, st.integers(0, 30))
def test_utf16_offsets_are_those_of_a_web_page(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    units = to_utf16(text, offset)
    assert text.encode("utf-16-le")[: 2 * units].decode("utf-16-le") == text[:offset]
    assert from_utf16(text, units) == offset


def test_an_offset_inside_a_pair_or_outside_the_text() -> None:
    assert from_utf16("a👋b", 2) == 1
    with pytest.raises(UsageError, match="5 lies outside a text of 4 units"):
        from_utf16("a👋b", 5)


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 3), (4, 2), (0, 7)])
def test_a_span_outside_its_text_is_refused_with_its_place(start: int, end: int) -> None:
    with pytest.raises(UsageError, match=rf"^pool.jsonl:3: a span from {start} to {end} lies outside"):
        check("pool.jsonl:3", "sechs!", [Span(start, end, "PERSON")])
    check("pool.jsonl:3", "sechs!", [Span(0, 6, "PERSON")])
