"""Every tag of a provider is found and judged by what stands beside it."""

from __future__ import annotations

import pytest

from tamis.pii.assess import Item, assess, without_tags
from tamis.pii.provider_tags import find_tags, forms
from tamis.pii.sessions import Annotated, Message, Session
from tamis.pii.spans import Span


def session(*texts: str, role: str = "student") -> Session:
    return Session("s", tuple(Message(i, role, text) for i, text in enumerate(texts)))


def judged(*texts: str) -> list[Item]:
    one = session(*texts)
    return assess(Annotated(one), [[] for _ in texts])[0]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("<PERSON>", "PERSON"),
        ("[NAME]", "PERSON"),
        ("[[person_2]]", "PERSON"),
        ("[**First Name 3**]", "PERSON"),
        ("{{LOCATION}}", "LOCATION"),
        ("{school}", "SCHOOL"),
        ("<Phone-Number>", "PHONE_NUMBER"),
        ("<US_DRIVER_LICENSE>", "ID_NUMBER"),
        ("[REDACTED]", "none"),
    ],
)
def test_a_tag_is_found_whole_in_any_form(text: str, label: str) -> None:
    [tag] = find_tags(f"so {text}, ok")
    assert (tag.start, tag.end, tag.label) == (3, 3 + len(text), label)


@pytest.mark.parametrize("text", ["[x] <b>bold</b> {n}", "f[1] = {2}", "a < person > b", "<PERSONAL>", "(name)"])
def test_what_only_looks_like_a_tag_is_none(text: str) -> None:
    assert find_tags(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "y=<PERSON>",
        "so x + <DATE_TIME> = 12",
        "<PERSON> + <PERSON> = <PERSON>",
        "f(<PERSON>) = 3",
        r"\frac{<PERSON>}{2}",
        "the point (<PERSON>, 4)",
        "that is <PERSON> days",
        "x - <LOCATION>",
        "<PHONE_NUMBER>%",
        "hi! y=<PERSON>",
    ],
)
def test_a_tag_inside_an_expression_is_false_and_an_unknown_number(text: str) -> None:
    for item in judged(text):
        assert (item.proposed, item.inferred) == ("false", "number")
        assert item.reason == forms()["cues"]["expression"]["reason"]


@pytest.mark.parametrize(
    "text",
    [
        "hi <PERSON>, 3 + 4?",
        "<PERSON> - 5 is right",
        "<PERSON>: 3+4 = 7",
        "my name is <PERSON>",
        "Ms. <PERSON>",
        "ask <PERSON> and <PERSON>",
        "ok <PERSON> 2x+3=5",
        "<PERSON>?",
        "<PERSON>/<PERSON>",
        "<PERSON> said x + 3 = 12",
        "call me at <PHONE_NUMBER>, x=2",
        "i live in <LOCATION>",
        "I am <AGE> years old",
    ],
)
def test_a_tag_that_speaks_of_a_person_is_true_even_beside_maths(text: str) -> None:
    assert {item.proposed for item in judged(text)} == {"true"}


@pytest.mark.parametrize(
    ("text", "inferred"),
    [
        ("so <PERSON>'s theorem", "term"),
        ("the <PERSON>ean theorem", "term"),
        ("<PERSON>(3) = 4", "term"),
        ("<PERSON> has 5 apples", "fictional_name"),
        ("2x = 4, 3x = 9. I got <US_DRIVER_LICENSE>", "number"),
        ("2x = 4, 3x = 9. the <PERSON> is 4", "term"),
    ],
)
def test_other_false_tags_say_what_they_were(text: str, inferred: str) -> None:
    [item] = judged(text)
    assert (item.proposed, item.inferred) == ("false", inferred)


def test_a_name_behind_a_list_of_numbers_is_no_number() -> None:
    [item] = judged("is it 4, 5 <PERSON> or not")
    assert item.inferred != "number"
    [item] = judged("is it 4, 5 <DATE_TIME> or not")
    assert item.inferred == "number"


def test_a_tag_in_a_number_makes_its_message_maths() -> None:
    [item] = judged("y=<PERSON>")
    assert item.segment == "maths"
    [item] = judged("hi <PERSON>")
    assert item.segment == "non_maths"


def test_a_name_belongs_to_a_role_where_that_can_be_told() -> None:
    said = (("tutor", "Hi <PERSON>! I'm <PERSON>."), ("student", "ask <PERSON> or <PERSON_1>, thx <PERSON>"))
    one = Session("s", tuple(Message(i, role, text) for i, (role, text) in enumerate(said)))
    whose = [item.whose for item in assess(Annotated(one), [[], []])[0]]
    assert whose == ["student", "tutor", "unknown 1 4", "PERSON1", "tutor"]


def test_a_detector_sees_no_tag_and_keeps_its_offsets() -> None:
    one = Annotated(session("hi <PERSON>, emma"))
    hidden = without_tags(one).messages[0].content
    assert "PERSON" not in hidden
    assert hidden.index("emma") == one.session.messages[0].content.index("emma")


def test_what_a_detector_finds_beside_the_tags_was_missed() -> None:
    one = session("hi <PERSON>, emma")
    found = [[Span(3, 11, "PERSON", 0.9, "a"), Span(13, 17, "PERSON", 0.9, "b")]]
    items = assess(Annotated(one), found)[0]
    assert [(item.origin, item.proposed, item.start) for item in items] == [
        ("tag", "true", 3),
        ("detector", "missed", 13),
    ]


def test_a_providers_span_is_judged_as_its_tag_and_over_a_tag_counts_once() -> None:
    one = session("y = 7", "hi <PERSON>", "hi emma")
    spans = ((Span(4, 5, "PERSON"),), (Span(3, 11, "PERSON"),), (Span(3, 7, "PERSON"),))
    items = assess(Annotated(one, spans), [[], [], []])[0]
    assert [(item.origin, item.proposed) for item in items] == [
        ("span", "false"),
        ("tag", "true"),
        ("span", "true"),
    ]


def test_the_reason_holds_no_text_and_a_long_message_is_seen_in_part() -> None:
    [item] = judged("secretword " * 40_000 + "hi <PERSON>" + " secretword" * 40_000)
    assert "secretword" not in item.reason
    assert len(item.context) < 400
    assert "⟦<PERSON>⟧" in item.context
