"""The lines that people say: those that hold personal data, and those that only look so."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

import yaml

from tamis.pii.invented.halves import in_half
from tamis.pii.sessions import STUDENT, TUTOR

_FILES = ("names", "contact", "private", "switching")
_SPEAKERS = {"S": STUDENT, "T": TUTOR}
_IN_A_PROBLEM = re.compile(
    "problem|story|puzzle|says|example|question|claims|share|Bakery|Pizza|let |^if |^like if"
)
_NEXT = " ¶ "


@dataclass(frozen=True)
class Line:
    """One message or several that belong together.

    Attributes:
        kind: The label that it is there for, or what sort of chat it is.
        place: `start`, `any` or `end`: where in a session it may stand.
        voice: `any`, `spoken`, or the second language of those who say it.
        parts: The role of each message, and its line with slots.
    """

    kind: str
    place: str
    voice: str
    parts: tuple[tuple[str, str], ...]

    @property
    def role(self) -> str:
        """Who begins; `any` if either may."""
        return self.parts[0][0]

    @property
    def wraps(self) -> bool:
        """Whether it goes around another line."""
        return "{line}" in self.parts[0][1]

    @property
    def needs_names(self) -> bool:
        """Whether it speaks of people of a problem, and nothing else in it says that they are no real ones."""
        text = self.parts[0][1]
        return "{fname}" in text and not _IN_A_PROBLEM.search(text)


@cache
def _read(name: str) -> dict[str, Any]:
    path = files("tamis.pii.invented").joinpath("lines", f"{name}.yaml")
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


def _line(group: dict[str, Any], text: str) -> Line:
    role = str(group.get("role", "any"))
    parts = []
    for part in text.split(_NEXT):
        said = part[3:] if part[1:3] == "> " else part
        parts.append((_SPEAKERS[part[0]] if said is not part else role, said))
    return Line(str(group["kind"]), str(group.get("place", "any")), str(group.get("voice", "any")), tuple(parts))


def _lines(groups: Iterable[dict[str, Any]], half: str) -> list[Line]:
    return [
        _line(group, text.strip())
        for group in groups
        for text in str(group["lines"]).splitlines()
        if text.strip() and in_half(text.strip(), half)
    ]


@cache
def personal(half: str) -> dict[str, tuple[Line, ...]]:
    """The lines that hold personal data, by label."""
    found: dict[str, list[Line]] = {}
    for name in _FILES:
        for line in _lines(_read(name)["groups"], half):
            found.setdefault(line.kind, []).append(line)
    return {kind: tuple(lines) for kind, lines in found.items()}


@cache
def chat(half: str) -> dict[str, tuple[Line, ...]]:
    """The lines that hold none, by kind."""
    found: dict[str, list[Line]] = {}
    for name in ("chat", "lookalikes"):
        for line in _lines(_read(name)["groups"], half):
            found.setdefault(line.kind, []).append(line)
    return {kind: tuple(lines) for kind, lines in found.items()}


@cache
def words() -> dict[str, list[str]]:
    """What stands in the slots that are nobody's data."""
    return {name: [str(one) for one in listed] for name, listed in _read("chat")["slots"].items()}


def fitting(
    lines: Iterable[Line], role: str, place: str, voice: str, rng: Random, *, wraps: bool = False
) -> Line | None:
    """One of the lines that this role may say here in this voice; those made for the place or the voice first.

    Args:
        lines: The lines.
        role: Who speaks.
        place: `start`, `any` or `end`.
        voice: `any`, `spoken`, or a language.
        rng: Chooses.
        wraps: Whether it has to go around another line.
    """
    able = [
        line
        for line in lines
        if line.role in (role, "any")
        and line.place in (place, "any")
        and line.voice in (voice, "any")
        and line.wraps == wraps
    ]
    own = [line for line in able if line.voice == voice != "any"]
    here = [line for line in able if line.place == place != "any"]
    if own and rng.random() < 0.6:
        return rng.choice(own)
    if here and rng.random() < 0.7:
        return rng.choice(here)
    return rng.choice(able) if able else None
