"""Synthetic tutoring sessions with exact gold spans: nobody in them exists, and every value is a reserved one.

A session is a lesson on one to three problems with exact steps. Messages of it get personal data by chance: a line
around them, or lines between them. Wording, names and kinds of problems are divided once into two halves, `train`
and `held_out`, so that a detector trained on one can be measured on wording that it never saw.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from tamis.errors import UsageError
from tamis.pii.invented import lines, values
from tamis.pii.invented.halves import HALVES
from tamis.pii.invented.people import Person, first_name
from tamis.pii.invented.pieces import Piece, fill, joined
from tamis.pii.invented.problem import Problem
from tamis.pii.invented.problems import problem
from tamis.pii.invented.voices import SPOKEN_TUTOR, STUDENTS, SWITCHING_TUTOR, TUTORS, Voice
from tamis.pii.sessions import STUDENT, TUTOR, Annotated, Message, Session

SHARE = 0.18
"""The share of messages with personal data, where no density is given."""

_FOUND, _SPANS, _ADDED = 1.045, 1.16, 0.88
"""What one event brings: messages with personal data, spans, and messages that are added; counted over many."""
_WRAPPED = 0.22  # the share of events that are a name around a line of the lesson
_JOINED = 0.3  # of the others: how many stand in one message with a line of the lesson
_SAME_NAME = 0.12  # how often a problem is about somebody with the student's name
_LOOKALIKE = 0.2  # lines between the steps that look personal and are not
_WEIGHTS = {
    "PERSON": 50,
    "LOCATION": 7,
    "SCHOOL": 7,
    "EMAIL_ADDRESS": 6,
    "PHONE_NUMBER": 8,
    "URL": 5,
    "USERNAME": 6,
    "DATE_OF_BIRTH": 6,
    "AGE": 7,
    "ID_NUMBER": 7,
    "US_SSN": 4,
    "IP_ADDRESS": 4,
    "CREDIT_CARD": 4,
    "MIXED": 6,
}
_ADULTS = ("tutor", "mom", "dad", "teacher", "coach", "grandma", "uncle")
_FAMILY = ("mom", "dad", "sis", "bro", "grandma")


def generate(
    sessions: int, seed: int = 0, density: float | None = None, templates: str = "all"
) -> Iterator[Annotated]:
    """Sessions, one by one; the same arguments give the same ones, and a session does not depend on how many.

    Args:
        sessions: How many.
        seed: Chooses others.
        density: Spans a message; without it about `SHARE` of the messages hold some.
        templates: The part that lines, names and problems are of: `train`, `review`, `held_out` or `all`.

    Raises:
        UsageError: The density or the half is none.
    """
    if templates not in HALVES:
        raise UsageError(f"templates: {templates!r} is not one of {', '.join(HALVES)}")
    if density is not None and not 0 <= density <= 0.5:
        raise UsageError(f"density: {density} is not between 0 and 0.5 spans a message")
    rate = SHARE / (_FOUND - SHARE * _ADDED) if density is None else density / (_SPANS - density * _ADDED)
    return (
        _Lesson(Random(f"{seed}:{number}:{templates}"), templates, rate).annotated(
            f"synthetic-{seed}-{number:06d}"
        )
        for number in range(sessions)
    )


@dataclass
class _Said:
    """A line of the lesson before anything personal is put to it."""

    role: str
    pieces: list[Piece]


@dataclass
class _Lesson:
    """One session as it is made."""

    rng: Random
    half: str
    rate: float
    people: dict[str, Person] = field(default_factory=dict)
    topic: str = ""
    named: tuple[str, ...] = ()  # whom the problem is about

    def __post_init__(self) -> None:
        rng = self.rng
        self.rate = min(0.8, self.rate * rng.gammavariate(2, 0.5))  # some sessions are full of it, some have none
        ((student, _),) = rng.choices(STUDENTS, [weight for _, weight in STUDENTS])
        ((tutor, _),) = rng.choices(TUTORS, [weight for _, weight in TUTORS])
        if student.spoken:
            tutor = SPOKEN_TUTOR
        elif student.language and rng.random() < 0.6:
            tutor = SWITCHING_TUTOR[student.language]
        self.voices: dict[str, Voice] = {STUDENT: student, TUTOR: tutor}
        self.said: list[tuple[str, list[Piece]]] = []

    def annotated(self, session_id: str) -> Annotated:
        """The session and its spans."""
        plan = self._plan()
        for i, said in enumerate(plan):
            place = "start" if i < 2 else "end" if i >= len(plan) - 2 else "any"
            if self.rng.random() < self.rate:
                self._personal(said, place)
            else:
                self._say(said.role, said.pieces)
        made = [(role, *joined(pieces)) for role, pieces in self.said]
        made = [one for one in made if one[1]]
        messages = tuple(Message(i, role, content) for i, (role, content, _) in enumerate(made))
        return Annotated(Session(session_id, messages), tuple(spans for _, _, spans in made))

    def _say(self, role: str, pieces: list[Piece]) -> None:
        self.said.append((role, self.voices[role].say(pieces, self.rng)))

    def _plan(self) -> list[_Said]:
        """The lesson: a greeting, problems with their steps, chat between them, and a farewell."""
        rng, plan = self.rng, []
        if rng.random() < 0.7:
            plan += self._chat("greeting", rng.choice((STUDENT, TUTOR)), "start")
        for _ in range(rng.choices((1, 2, 3), (4, 4, 2))[0]):
            a = self._person("student").first if rng.random() < _SAME_NAME else first_name(rng, self.half)
            b = self._person("friend").first if rng.random() < _SAME_NAME / 2 else first_name(rng, self.half)
            made = problem(rng, self.half, a, b)
            self.topic, self.named = made.topic, tuple(name for name in (a, b) if name in made.text)
            plan += self._worked(made)
        if rng.random() < 0.6:
            plan += self._chat("farewell", rng.choice((STUDENT, TUTOR)), "end")
        return plan

    def _worked(self, problem: Problem) -> list[_Said]:
        """A problem and its steps."""
        rng, said = self.rng, []
        said += self._chat("problem", rng.choice((STUDENT, TUTOR)), problem=problem.text)
        for k, (ask, answer) in enumerate(problem.steps):
            if rng.random() < _LOOKALIKE:
                said += self._chat("lookalike", rng.choice((STUDENT, TUTOR)))
            said += self._chat("ask", TUTOR, ask=ask)
            if rng.random() < 0.2:
                said += self._chat("stuck", STUDENT)
                said += self._chat("hint", TUTOR, ask=ask)
            if k == len(problem.steps) - 1 and problem.wrong and rng.random() < 0.3:
                said += self._chat("answer", STUDENT, answer=problem.wrong)
                said += self._chat("not_quite", TUTOR, ask=ask)
            said += self._chat("answer", STUDENT, answer=answer)
            if rng.random() < 0.45:
                said += self._chat("praise", TUTOR)
            if rng.random() < 0.15:
                said += self._chat("small_talk", rng.choice((STUDENT, TUTOR)))
        return said

    def _chat(self, kind: str, role: str, place: str = "any", **given: str) -> list[_Said]:
        """Lines that are nobody's data."""
        voice = self.voices[role]
        for half in (self.half, "all"):
            able = [line for line in lines.chat(half).get(kind, ()) if self.named or not line.needs_names]
            line = lines.fitting(able, role, place, _kind_of(voice), self.rng)
            if line:
                break
        parts = line.parts if line else ()
        return [_Said(who := self._speaker(part, role), self._filled(text, who, given)) for part, text in parts]

    def _speaker(self, part: str, role: str) -> str:
        return role if part == "any" else part

    def _personal(self, said: _Said, place: str) -> None:
        """The line with personal data around it, before it, behind it, or in messages of its own."""
        rng, role = self.rng, said.role
        spoken = _kind_of(self.voices[role])
        if rng.random() < _WRAPPED:
            wrap = lines.fitting(lines.personal(self.half)["PERSON"], role, place, spoken, rng, wraps=True)
            if wrap:
                self._say(role, self._around(wrap.parts[0][1], said))
                return
        line = None
        while line is None:
            label = rng.choices([*_WEIGHTS], [*_WEIGHTS.values()])[0]
            line = lines.fitting(lines.personal(self.half).get(label, ()), role, place, spoken, rng)
        self._forget()
        parts = [(self._speaker(part, role), text) for part, text in line.parts]
        if len(parts) == 1 and rng.random() < _JOINED:
            mine = self._filled(parts[0][1], role, {})
            first, second = (mine, said.pieces) if rng.random() < 0.6 or place == "start" else (said.pieces, mine)
            self._say(role, [*_with_stop(first, rng), *second])
            return
        after = place == "end" and rng.random() < 0.7
        if after:
            self._say(role, said.pieces)
        for who, text in parts:
            self._say(who, self._filled(text, who, {}))
        if not after:
            self._say(role, said.pieces)

    def _around(self, text: str, said: _Said) -> list[Piece]:
        """A line of the lesson inside another; its last mark goes to the end."""
        inner, mark = said.pieces, ""
        if inner and text.find("{line}") < text.rfind("{") and inner[-1][1] is None and inner[-1][0][-1:] in ".?!":
            mark = inner[-1][0][-1]
            inner = [*inner[:-1], (inner[-1][0][:-1], None)]
        head, _, tail = text.partition("{line}")
        return [*self._filled(head, said.role, {}), *inner, *self._filled(tail, said.role, {}), (mark, None)]

    def _filled(self, text: str, role: str, given: dict[str, str]) -> list[Piece]:
        return fill(text, self.rng, lambda name: self._slot(name, role, given))

    def _slot(self, name: str, role: str, given: dict[str, str]) -> list[Piece]:
        """What stands in a slot that somebody says."""
        if name in given:
            return self._filled(given[name], role, {})
        who, _, form = name.partition(".")
        if name in values.KINDS:
            return self._person(role).pieces(name)
        other = TUTOR if role == STUDENT else STUDENT
        if name == "topic":
            return [(self.topic or "math", None)]
        if name == "fname":
            named = self.named if self.rng.random() < 0.9 else ()
            return [(self.rng.choice(named or (first_name(self.rng, self.half),)), None)]
        if who in lines.words():
            return self._filled(self.rng.choice(lines.words()[who]), role, given)
        if who in _NUMBERS:
            return [(str(self.rng.randint(*_NUMBERS[who])), None)]
        return self._person({"me": role, "you": other}.get(who, who)).pieces(form or "call")

    def _person(self, who: str) -> Person:
        if who not in self.people:
            family = self._person(STUDENT).last if who in _FAMILY and self.rng.random() < 0.7 else None
            self.people[who] = Person(self.rng, self.half, family, adult=who in _ADULTS)
            if who in ("teacher", "coach"):
                self.people[who].goes_by = "titled"
        return self.people[who]

    def _forget(self) -> None:
        """Friends and relatives come and go; student and tutor stay."""
        self.people = {
            who: person
            for who, person in self.people.items()
            if who in (STUDENT, TUTOR) or self.rng.random() < 0.5
        }


_NUMBERS = {
    "n": (2, 9),
    "nn": (10, 99),
    "nnn": (100, 999),
    "page": (3, 412),
    "room": (101, 340),
    "grade": (3, 12),
    "hour": (2, 9),
    "minutes": (3, 55),
    "percent": (40, 100),
    "day": (1, 30),
}


def _kind_of(voice: Voice) -> str:
    return "spoken" if voice.spoken else voice.language or "any"


def _with_stop(pieces: list[Piece], rng: Random) -> list[Piece]:
    """The pieces with what stands between two sentences."""
    closed = pieces[-1][0].rstrip()[-1:] in ".?!"
    return [*pieces, (" " if closed else rng.choice((". ", ", ", " ", " - ", "... ", "! ", "\n")), None)]
