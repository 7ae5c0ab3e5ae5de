"""What stands in the place of a span, and that nothing else changes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.pii.operators import TAG, Operator, applied, decrypted, inverse, moved, outside_tags
from tamis.pii.recipe import OPERATORS
from tamis.pii.sessions import Message, Session
from tamis.pii.spans import Span, settled

KEY = b"0123456789abcdef"
TEXT = "hi Jamal, x=<PERSON> and Jamal"
SPANS = [Span(3, 8, "PERSON"), Span(25, 30, "PERSON")]


def session(*texts: str) -> Session:
    return Session("s", tuple(Message(i, "student", text) for i, text in enumerate(texts)))


def made(name: str, text: str = TEXT, spans: list[Span] = SPANS, key: bytes = KEY) -> str:
    (new,) = Operator(name, key).replacements(session(text), [spans])
    return applied(text, spans, new)[0]


def test_each_operator_replaces_the_spans_and_nothing_else() -> None:
    assert made("tag") == "hi <PERSON>, x=<PERSON> and <PERSON>"
    assert made("mask") == f"hi {'█' * 5}, x=<PERSON> and {'█' * 5}"
    assert made("keep") == TEXT
    assert re.fullmatch(r"hi (<PERSON:[0-9a-f]{16}>), x=<PERSON> and \1", made("hash"))
    assert re.fullmatch(r"hi ([A-Z][a-z]+), x=<PERSON> and \1", made("surrogate")) and "Jamal" not in made(
        "surrogate"
    )
    assert made("tag", spans=[Span(3, 8, "NO_LABEL")]).startswith("hi <PII>")


def test_a_hash_is_one_value_under_one_key() -> None:
    assert (
        made("hash", "Jamal JAMAL", [Span(0, 5, "PERSON"), Span(6, 11, "PERSON")]).count(made("hash")[3:28]) == 2
    )
    assert made("hash") != made("hash", key=KEY + b"x")


def test_ciphertext_is_the_same_again_and_differs_from_place_to_place() -> None:
    text = made("encrypt")
    tags = [tag for tag in TAG.finditer(text) if tag[2]]
    assert text == made("encrypt") and tags[0][0] != tags[1][0]
    assert [decrypted(tag, KEY) for tag in tags] == ["Jamal", "Jamal"]
    assert [decrypted(tag, KEY + b"x") for tag in tags] == [None, None]


@given(st.text(), st.sampled_from(["PERSON", "URL"]))
@settings(max_examples=40, deadline=None)
def test_every_text_is_encrypted_and_back(text: str, label: str) -> None:
    span = Span(1, 1 + len(text), label)
    tag = TAG.search(made("encrypt", f"({text})", [span])) if text else None
    assert tag is None or decrypted(tag, KEY) == text


@st.composite
def spanned(draw: st.DrawFn) -> tuple[str, list[Span]]:
    text = draw(st.text(st.sampled_from("aB3 +=\N{SEE-NO-EVIL MONKEY}é\n")))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=8)))
    return text, [Span(a, b, "PERSON") for a, b in zip(cuts[::2], cuts[1::2], strict=False)]


@given(spanned(), st.sampled_from(OPERATORS))
@settings(deadline=None)
def test_what_is_outside_spans_comes_out_byte_for_byte(case: tuple[str, list[Span]], name: str) -> None:
    text, spans = case
    (new,) = Operator(name, KEY).replacements(session(text), [spans])
    result, offsets = applied(text, spans, new)
    assert [result[start:end] for *_, start, end in offsets] == new
    back, _ = applied(
        result, [Span(start, end, "") for *_, start, end in offsets], [text[o[0] : o[1]] for o in offsets]
    )
    assert back == text
    for span, (start, end, new_start, new_end) in zip(spans, offsets, strict=True):
        assert moved(offsets, span.start, span.end) == (new_start, new_end)
        assert moved(inverse(offsets), new_start, new_end) == (start, end)
    covered = {i for span in spans for i in range(span.start, span.end)}
    for i in {*range(len(text))} - covered:
        start, end = moved(offsets, i, i + 1)
        assert result[start:end] == text[i]


def test_a_piece_that_reaches_into_a_replaced_one_takes_all_of_it() -> None:
    _, offsets = applied("abcdef", [Span(2, 4, "PERSON")], ["<PERSON>"])
    assert moved(offsets, 0, 3) == (0, 10) and moved(offsets, 3, 6) == (2, 12) and moved(offsets, 4, 6) == (10, 12)


@pytest.mark.parametrize(
    ("text", "span", "left"),
    [
        ("<PERSON>", (0, 8), []),
        ("<PERSON>", (1, 7), []),
        ("<PERSON> Ortega", (0, 15), [(9, 15)]),
        ("y=<PERSON_2>", (0, 12), [(0, 2)]),
        ("<US_SSN:0123456789abcdef>.", (0, 26), []),
        ("<PERSON:jamal>", (8, 13), [(8, 13)]),
        ("a <b> c", (0, 7), [(0, 7)]),
        ("<JAMAL>", (1, 6), [(1, 6)]),
    ],
)
def test_a_tag_is_nobody(text: str, span: tuple[int, int], left: list[tuple[int, int]]) -> None:
    assert [(s.start, s.end) for s in outside_tags(text, [Span(*span, "PERSON")])] == left


def test_spans_that_overlap_give_one_tag() -> None:
    spans = settled([Span(0, 5, "PERSON", 0.6), Span(2, 9, "PERSON", 0.9), Span(9, 12, "AGE", 0.1)], 0.5)
    assert made("tag", "Jamal Ort 12", spans) == "<PERSON> 12"


def test_no_key_stands_in_what_is_shown_of_an_operator() -> None:
    assert "0123" not in repr(Operator("hash", KEY)) + repr(Operator("encrypt", KEY))
