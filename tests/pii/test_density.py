"""Density: what is maths is dense, what is chat is not, and neither company nor length changes that."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.pii.density import density, term_weights, vocabulary

LIMIT = vocabulary()["thresholds"]["density"]

MATHS = [
    "x^2 + 3x - 28 = 0",
    "42",
    r"\frac{dy}{dx} = 2x",
    "what is the derivative of sin(x)",
    "the hypotenuse is the longest side",
    "FIND THE LEAST COMMON MULTIPLE OF 6 AND 8",
    "Tom has 5 apples and buys 7 more. How many apples does he have in total?",
    "so you cross-multiply",
    "cross  multiplying\nis next",
    "los numeradores son iguales",
]
CHAT = [
    "",
    "   ",
    "hello, how are you today?",
    "my name is Max",
    "call me at 555-0134",
    "my number is (212) 555-0134 ok?",
    "mail kid7@example.com",
    "see you tomorrow at 4:30",
    "the meeting is https://meet.example.com/abc-123-99",
    "i was born on March 4, 2012",
    "its J-A-M-A-L",
    "I'm 12",
    "im in 7th grade, room 214",
    "my server is 192.0.2.14",
    "ssn 912-34-5678",
]


@pytest.mark.parametrize("text", MATHS)
def test_maths_is_dense(text: str) -> None:
    assert density([text])[0] >= LIMIT


@pytest.mark.parametrize("text", CHAT)
def test_chat_is_not_dense_and_no_personal_number_makes_it_so(text: str) -> None:
    assert density([text])[0] < LIMIT


PIECES = st.sampled_from(
    [*MATHS, *CHAT, "$", "\\{", "(", "3 +", "= 4", "at", "5", "\n", "\0", "İ", "ß", "😀", "\ud800"]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(PIECES, max_size=4).map(" ".join), max_size=6))
def test_a_message_is_as_dense_in_company_as_alone(texts: list[str]) -> None:
    alone = [density([text])[0] for text in texts]
    assert density(texts).tolist() == pytest.approx(alone)
    assert all(0 <= value <= 1 for value in alone)


def test_words_around_it_thin_the_maths_out() -> None:
    values = density(
        ["3/4", "so it is 3/4", "so it is 3/4 and then we went on to talk about the film of last week"]
    )
    assert values[0] == 1 and values[0] > values[1] > values[2] > 0


def test_the_length_counts_as_one_says() -> None:
    text = "take the first one and then the second one times three"
    assert density([text], 1.0)[0] < density([text], 0.5)[0] < density([text], 0.0)[0]


def test_a_term_counts_with_its_endings_and_not_inside_a_word() -> None:
    one, many, inside = density(["fraction", "fractions", "refractionary"])
    assert one == many > 0 == inside


def test_every_strand_has_terms_and_no_term_is_more_than_its_list_says() -> None:
    weights = vocabulary()["weights"]
    assert len(term_weights()) > 600
    assert {*term_weights().values()} == {float(weights[name]) for name in ("sure", "likely", "hint")}
    for strand in vocabulary()["strands"].values():
        assert {*strand} <= {"sure", "likely", "hint"} and all(strand.values())


def test_long_runs_that_only_begin_like_an_address_come_to_an_end() -> None:
    """A pattern that looks at each place as far as the end would take hours."""
    text = "a-" * 50_000 + "x." * 20_000 + "solve it " * 5_000
    assert 0 < density([text])[0] < 1 and np.isfinite(density([text] * 2)).all()
