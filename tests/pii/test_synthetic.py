"""Invented sessions: exact spans, reserved values only, the same each time, with as much in them as asked for."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, islice, pairwise
from random import Random
from typing import Any

import pytest

from tamis.errors import UsageError
from tamis.pii import synthetic
from tamis.pii.invented import lines, problems
from tamis.pii.invented.halves import only
from tamis.pii.invented.notation import NOTATIONS, written
from tamis.pii.invented.people import Person, _groups
from tamis.pii.invented.pieces import MATHS, fill, joined
from tamis.pii.invented.values import KINDS
from tamis.pii.invented.voices import STUDENTS, TUTORS
from tamis.pii.invented.words import in_words, ordinal, suffixed
from tamis.pii.labels import LABELS
from tamis.pii.sessions import Annotated
from tamis.pii.spans import Span, check


@pytest.fixture(scope="module")
def sessions() -> list[Annotated]:
    return list(synthetic.generate(400, seed=11))


def spans_of(sessions: list[Annotated]) -> Iterator[tuple[str, Span]]:
    for one in sessions:
        for message, found in zip(one.session, one.spans or (), strict=True):
            for span in found:
                yield message.content, span


def test_spans_lie_in_their_text_apart_and_touch_no_space(sessions: list[Annotated]) -> None:
    for one in sessions:
        assert one.spans is not None and len(one.session) > 1
        assert [message.sequence_id for message in one.session] == list(range(len(one.session)))
        for message, found in zip(one.session, one.spans, strict=True):
            assert message.role in ("student", "tutor") and message.content == message.content.strip() != ""
            assert "{" not in re.sub(r"[_^]\{|\\\w+\{|\}\{", "", message.content), message.content
            check("", message.content, found)
            assert all(a.end <= b.start for a, b in pairwise(found))
            for span in found:
                text = message.content[span.start : span.end]
                assert (
                    text == text.strip() and not re.search(r"['’]s$", text, re.IGNORECASE)
                ) or span.label != "PERSON"
                assert span.label in LABELS


def test_every_label_is_there_and_names_are_most(sessions: list[Annotated]) -> None:
    found = Counter(span.label for _, span in spans_of(sessions))
    assert {*found} == {*LABELS}
    assert found["PERSON"] > 0.4 * found.total() and min(found.values()) > 10


def test_the_same_call_gives_the_same_bytes_and_a_session_does_not_depend_on_the_others() -> None:
    def text(count: int, seed: int) -> list[str]:
        return [repr(one) for one in synthetic.generate(count, seed)]

    assert text(12, 5) == text(12, 5) == text(20, 5)[:12]
    assert not {*text(12, 5)} & {*text(12, 6)}


def test_other_processes_give_the_same_bytes() -> None:
    import os
    import subprocess
    import sys

    code = "from tamis.pii import synthetic; print([*synthetic.generate(5, 2)])"
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


@pytest.mark.parametrize("density", [None, 0.017, 0.1])
def test_there_is_as_much_personal_data_as_asked_for(density: float | None) -> None:
    messages = held = spans = 0
    for one in synthetic.generate(1500, seed=1, density=density):
        messages += len(one.session)
        held += sum(map(bool, one.spans or ()))
        spans += sum(map(len, one.spans or ()))
    found, wanted = (held / messages, synthetic.SHARE) if density is None else (spans / messages, density)
    assert found == pytest.approx(wanted, rel=0.2)


def test_what_is_not_asked_for_right_is_refused() -> None:
    for asked in ({"density": 2.0}, {"density": -0.1}, {"templates": "both"}):
        with pytest.raises(UsageError, match=next(iter(asked))):
            synthetic.generate(1, **asked)  # type: ignore[arg-type]


RESERVED = {
    "EMAIL_ADDRESS": r"example(\.| dot )(com|org|net)$",
    "URL": r"(^|//|\.)example\.(com|org|net)",
    "US_SSN": r"^(9|nine)",
    "IP_ADDRESS": r"^(192\.0\.2|198\.51\.100|203\.0\.113|10|192\.168|172\.16|2001:db8:)",
}


def test_every_value_is_a_reserved_one() -> None:
    for k in range(300):
        person = Person(Random(k), "all", adult=k % 2 == 0)
        for form, (_, label) in KINDS.items():
            text = "".join(part for part, _ in person.pieces(form))
            assert text == text.strip() != "", form
            if pattern := RESERVED.get(label):
                assert re.search(pattern, text, re.IGNORECASE), (form, text)
            if label == "PHONE_NUMBER" and form == "phone":
                assert re.search("55501", re.sub(r"\D", "", text)), text
        halves = "".join(re.sub(r"\D", "", person.said(form)) for form in ("phone_a", "phone_b"))
        if re.fullmatch(r"\d{10}", halves):
            assert halves[3:8] == "55501"
    cards = {re.sub(r"\D", "", Person(Random(k), "all").said("card")) for k in range(200)} - {""}
    assert len(cards) > 10 and all(luhn(card) for card in cards)


def luhn(digits: str) -> bool:
    doubled = [int(c) * (1 + i % 2) for i, c in enumerate(reversed(digits))]
    return sum(d - 9 * (d > 9) for d in doubled) % 10 == 0


def test_titles_are_outside_the_span_and_first_and_last_name_are_one() -> None:
    person = Person(Random(1), "all", adult=True)
    rng = Random(0)
    content, spans = joined(fill("ask {a.titled}'s son, {a.first} {a.last}!", rng, lambda n: person.pieces(n[2:])))
    found = [content[span.start : span.end] for span in spans]
    assert found == [person.last, f"{person.first} {person.last}"]
    assert content.startswith(f"ask {person.title} {person.last}'s son")


def test_the_halves_share_no_wording_no_name_and_no_problem() -> None:
    parts = ("train", "review", "held_out")
    for held in (lines.personal, lines.chat):
        found = [{line for of in held(part).values() for line in of} for part in parts]
        assert all(found) and sum(map(len, found)) == len(set().union(*found))
        assert set().union(*found) == {line for of in held("all").values() for line in of}
    kinds = [{*problems.kinds(part)} for part in parts]
    assert sum(map(len, kinds)) == len(set().union(*kinds)) == len(problems.kinds("all"))
    for groups in zip(*map(_groups, parts), strict=True):
        for one, other in combinations([{*group[2]} for group in groups], 2):
            assert not one & other
    assert only(["a", "b"], "all") == ("a", "b")


def test_there_are_many_lines_and_each_can_be_filled() -> None:
    everything = [line for of in lines.personal("all").values() for line in of]
    assert len(everything) > 1200
    assert len(everything) == len({*everything})
    lesson = synthetic._Lesson(Random(3), "all", 0.0)
    for line in everything:
        labels = set()
        for part, text in line.parts:
            role = "student" if part == "any" else part
            pieces = lesson._filled(text.replace("{line}", "ok"), role, {})
            labels |= {label for _, label in pieces} - {None, MATHS}
            assert "{" not in joined(pieces)[0]
        assert labels, line
        assert line.kind in labels or line.kind == "MIXED", line


def test_lines_that_only_look_personal_hold_nothing() -> None:
    lesson = synthetic._Lesson(Random(3), "all", 0.0)
    given = {"problem": "p", "ask": "a", "answer": "1"}
    for of in lines.chat("all").values():
        for line in of:
            for _, text in line.parts:
                assert not joined(lesson._filled(text, "student", given))[1], text


def test_a_word_problem_may_name_the_student_without_a_span(sessions: list[Annotated]) -> None:
    seen = 0
    for one in sessions:
        named = {
            message.content[span.start : span.end].lower()
            for message, found in zip(one.session, one.spans or (), strict=True)
            for span in found
            if span.label == "PERSON"
        }
        for message, found in zip(one.session, one.spans or (), strict=True):
            words = {word.lower() for word in re.findall(r"[\w'-]{3,}", message.content)}
            seen += not found and bool(words & named)
    assert seen > 5


def test_a_telephone_number_comes_in_two_messages_at_times(sessions: list[Annotated]) -> None:
    halves = 0
    for one in sessions:
        found = [[span for span in of if span.label == "PHONE_NUMBER"] for of in one.spans or ()]
        halves += sum(
            len(a) == len(b) == 1 and sum(map(str.isdigit, m.content[a[0].start : a[0].end])) in range(1, 7)
            for a, b, m in zip(found, found[1:], one.session, strict=False)
        )
    assert halves > 3


@pytest.mark.parametrize("kind", problems.kinds("all"), ids=lambda kind: kind.__name__)
def test_the_sums_in_a_problem_are_right(kind: Any) -> None:
    for k in range(40):
        made = kind(Random(k), "Ana", "Bo")
        assert made.topic and made.steps
        assert all(text.count("`") % 2 == 0 for step in (*made.steps, (made.text, "")) for text in step), made
        for piece in re.findall(r"`([^`]*)`", " ".join(answer for _, answer in made.steps)):
            for a, b in pairwise(value(side) for side in piece.split("=")):
                assert None in (a, b) or a == pytest.approx(b, abs=1e-6), piece


SOLVED = {"two_step", "both_sides", "ticket_system", "similar"}
SAME = {"factor": 1, "foil": 2}  # the step whose answer equals the expression of the problem


@pytest.mark.parametrize("kind", problems.kinds("all"), ids=lambda kind: kind.__name__)
def test_an_answer_solves_its_equation(kind: Any) -> None:
    for k in range(40):
        made = kind(Random(k), "Ana", "Bo")
        if kind.__name__ in SOLVED:
            final = made.steps[-1][1].strip("`").replace(" ft", "").strip("`")
            known = {name: float(number) for name, number in re.findall(r"([a-z]) = (-?[\d.]+)", final)}
            asked = re.findall(r"`([^`]*=[^`]*)`", " ".join([made.text, made.steps[0][1]]))
            sides = [[value(side, known) for side in one.split("=")] for one in asked]
            assert sides and all(a is not None and a == pytest.approx(b) for a, b in sides), made
        if step := SAME.get(kind.__name__):
            asked, answer = re.findall(r"`([^`]*)`", f"{made.text} {made.steps[step][1]}")
            for x in (-2.0, 0.5, 3.0):
                assert value(asked, {"x": x}) == pytest.approx(value(answer, {"x": x})), made


def value(text: str, known: dict[str, float] | None = None) -> float | None:
    """What a side of an equation comes to, where it holds numbers and known letters alone."""
    for name, number in (known or {}).items():
        text = re.sub(rf"(?<=\d){name}", f"*({number})", text)
        text = re.sub(rf"(?<![a-z]){name}(?![a-z])", f"({number})", text)
    text = text.replace("^", "**").replace("÷", "/").replace(",", "")
    text = re.sub(r"√(\d+|\([^()]*\))", r"(\1)**0.5", text)
    text = re.sub(r"(?<=[\d)])\s*\(", "*(", text)
    if not re.fullmatch(r"[\d.+\-*/() ]*\d[\d.+\-*/() ]*", text):
        return None
    try:
        return float(eval(text))
    except (SyntaxError, ZeroDivisionError):
        return None


@pytest.mark.parametrize("notation", NOTATIONS)
def test_maths_is_written_in_every_notation(notation: str) -> None:
    text = written("3x^2 + 1/2 = √16 * 4", notation, Random(0))
    expected = {
        "latex": r"$3x^2 + \frac{1}{2} = \sqrt{16} \cdot 4$",
        "tight": "3x^2+1/2=√16*4",
        "signs": "3x² + 1/2 = √16 × 4",
    }
    assert text == expected.get(notation, text)
    assert notation != "said" or re.search("x squared plus .* over .* equals the square root of", text)


def test_a_voice_changes_no_label_and_no_character_of_what_is_copied() -> None:
    pieces = [("My mail is ", None), ("Ana.Bo@example.com", "EMAIL_ADDRESS"), (" not ", None), ("3x", MATHS)]
    for voice, _ in (*STUDENTS, *TUTORS):
        for k in range(20):
            content, spans = joined(voice.say(list(pieces), Random(k)))
            (span,) = spans
            assert content[span.start : span.end].lower() == "ana.bo@example.com"


def test_numbers_in_words() -> None:
    assert [in_words(n) for n in (0, 13, 40, 99, 105, 2011)] == [
        *("zero", "thirteen", "forty", "ninety-nine", "one hundred five", "two thousand eleven"),
    ]
    assert [ordinal(n) for n in (1, 2, 3, 5, 8, 9, 12, 20, 21, 30, 14)] == [
        *("first", "second", "third", "fifth", "eighth", "ninth", "twelfth", "twentieth", "twenty-first"),
        *("thirtieth", "fourteenth"),
    ]
    assert [suffixed(n) for n in (1, 2, 3, 11, 12, 13, 22, 23, 30)] == [
        *("1st", "2nd", "3rd", "11th", "12th", "13th", "22nd", "23rd", "30th"),
    ]


def test_importing_it_brings_nothing_heavy() -> None:
    import subprocess
    import sys

    code = (
        "import sys, tamis.pii.synthetic; print([m for m in ('torch', 'faker', 'datasets') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.replace("'", '"')) == []


def test_it_is_a_stream() -> None:
    assert len(list(islice(synthetic.generate(10**9), 3))) == 3
