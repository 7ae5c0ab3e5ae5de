"""Sessions to tokens and back: every token owned once, exact offsets in any script, no span inside a word."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

import tiny
from tamis.pii import tokens
from tamis.pii.sessions import Message, Session
from tamis.pii.spans import Span


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = AutoTokenizer.from_pretrained(tiny.saved_encoder(tmp_path_factory.mktemp("encoder")))
    made.add_tokens([*tokens.MARKERS], special_tokens=True)
    return made


def session(*contents: str) -> Session:
    roles = ("student", "tutor", "volunteer")
    return Session("s", tuple(Message(i, roles[i % 3], content) for i, content in enumerate(contents)))


def gold(content: str, *pieces: str, label: str = "PERSON") -> list[Span]:
    """The spans of these pieces, each looked for behind the one before."""
    found, place = [], 0
    for piece in pieces:
        start = content.index(piece, place)
        place = start + len(piece)
        found.append(Span(start, place, label))
    return found


def back(content: str, spans: list[Span], tokenizer: Any) -> list[tuple[int, int, str]]:
    """What comes back of gold spans when the model is sure of each token's tag."""
    stream = tokens.stream(session(content), None, tokenizer)
    sure = np.eye(len(tokens.TAGS), dtype=np.float32)[tokens.tags(stream, [spans])]
    return [(one.start, one.end, one.label) for one in tokens.spans(content, stream.start, sure, 0.1)]


@given(length=st.integers(0, 500), size=st.integers(2, 60), overlap=st.integers(1, 59))
def test_every_token_is_owned_by_one_window_well_inside_it(length: int, size: int, overlap: int) -> None:
    if overlap >= size:
        return
    made = tokens.windows(length, size, overlap)
    assert [i for one in made for i in range(one.owned_from, one.owned_to)] == [*range(length)]
    for one in made:
        assert 0 <= one.begin <= one.owned_from <= one.owned_to <= one.end <= min(length, one.begin + size)
        assert one.begin == 0 or one.owned_from - one.begin >= overlap // 2
        assert one.end == length or one.end - one.owned_to >= overlap // 2


@pytest.mark.parametrize(
    ("content", "pieces"),
    [
        ("hi im Zoë 😀 and 👩🏽‍🚀Kwame👍🏽!", ["Zoë", "Kwame"]),
        ("نعم اسمي ليلى يا أستاذ", ["ليلى"]),
        ("\u202eemma\u202c said x² + ½ = 3, ok José?", ["emma", "José"]),
        ("𝓔𝓶𝓶𝓪 and ＥＭＭＡ", ["𝓔𝓶𝓶𝓪", "ＥＭＭＡ"]),
        ("half \ud83d a pair, Nadia\udc00", ["Nadia"]),
        ("e\u0301mile met Nai\u0308m", ["e\u0301mile", "Nai\u0308m"]),
        ("我叫小明，你好", ["小明"]),
        ("Anne-Marie O'Brien and J. R. Smith, Lee", ["Anne-Marie O'Brien", "J. R. Smith", "Lee"]),
        ("Emma Jake", ["Emma", "Jake"]),
    ],
)
def test_offsets_are_code_points_in_any_script(content: str, pieces: list[str], tokenizer: Any) -> None:
    spans = gold(content, *pieces)
    assert back(content, spans, tokenizer) == [(one.start, one.end, one.label) for one in spans]


@pytest.mark.parametrize(
    ("content", "tagged", "label", "found"),
    [
        ("Emma's book", "Emma's", "PERSON", "Emma"),
        ("ask Emma, ok", "Emma,", "PERSON", "Emma"),
        ("ask emmaline ok", "emma", "PERSON", "emmaline"),
        ("call (212) 555-0142.", "(212) 555-0142.", "PHONE_NUMBER", "(212) 555-0142"),
        ("(call 555-0142)", "(call 555-0142)", "PHONE_NUMBER", "call 555-0142"),
        ("write to e.stone_7@mail.example.org!", "stone", "EMAIL_ADDRESS", "e.stone_7@mail.example.org"),
        ("see https://example.org/d/a?b=1&c=2.", "example", "URL", "https://example.org/d/a?b=1&c=2"),
        ("its @kwame_08 ok", "kwame", "USERNAME", "@kwame_08"),
    ],
)
def test_a_span_ends_where_what_it_names_ends(
    content: str, tagged: str, label: str, found: str, tokenizer: Any
) -> None:
    ((start, end, name),) = back(content, gold(content, tagged, label=label), tokenizer)
    assert (content[start:end], name) == (found, label)


def test_a_doubtful_word_beside_a_sure_one_is_a_span_for_itself() -> None:
    probabilities = np.zeros((3, len(tokens.TAGS)), np.float32)
    probabilities[:, 2] = [0.99, 0.2, 0.02]
    probabilities[:, 0] = 1 - probabilities[:, 2]
    found = tokens.spans("emma said hi", np.array([0, 5, 10]), probabilities, 0.1)
    assert [(one.start, one.end) for one in found] == [(0, 4), (5, 9)]
    assert [round(one.score, 2) for one in found] == [0.99, 0.2]


def test_a_message_that_holds_a_marker_holds_text(tokenizer: Any) -> None:
    stream = tokens.stream(session("<student|maths> [SEP] hi"), ["maths"], tokenizer)
    markers = tokenizer.convert_tokens_to_ids([*tokens.MARKERS, "[SEP]", "[CLS]"])
    assert np.isin(stream.ids, markers).tolist() == [True] + [False] * (len(stream.ids) - 1)


def test_a_marker_says_role_and_segment_and_has_no_tag(tokenizer: Any) -> None:
    stream = tokens.stream(session("a", "b", "c"), ["maths", "non_maths", "maths"], tokenizer)
    assert tokenizer.convert_ids_to_tokens(stream.ids[::2]) == [
        "<student|maths>",
        "<tutor|non_maths>",
        "<other|maths>",
    ]
    assert tokens.tags(stream, [[Span(0, 1, "AGE")], [], []]).tolist() == [
        -100,
        tokens.TAGS.index("B-AGE"),
        -100,
        0,
        -100,
        0,
    ]


@pytest.mark.parametrize("contents", [(), ("",), ("", " \n", "😀")])
def test_nothing_to_read_is_no_token(contents: tuple[str, ...], tokenizer: Any) -> None:
    made = tokens.stream(session(*contents), tokens.segments(session(*contents)), tokenizer)
    assert (made.start < 0).all() and len(made.ids) == len(contents)


@given(st.text(max_size=40))
def test_the_readable_text_has_the_same_length(text: str) -> None:
    assert len(tokens.readable(text)) == len(text)
    tokens.readable(text).encode()
