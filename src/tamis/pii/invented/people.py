"""Invented people, and the forms in which a name is written."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from importlib.resources import files
from random import Random
from typing import Any

import yaml

from tamis.errors import missing_extra
from tamis.pii.invented import values
from tamis.pii.invented.halves import only
from tamis.pii.invented.pieces import Piece

_TITLES = (
    "Ms.",
    "Mr.",
    "Mrs.",
    "Miss",
    "Ms",
    "Mr",
    "Mx.",
    "Dr.",
    "Prof.",
    "Coach",
    "Professor",
    "Teacher",
    "Sir",
    "Ma'am",
)
_TITLE_WEIGHTS = (30, 30, 12, 12, 10, 10, 2, 6, 3, 4, 2, 2, 1, 1)
_LATIN = re.compile(r"[A-Za-zÀ-ɏḀ-ỿ][A-Za-zÀ-ɏḀ-ỿ'’ .-]{1,17}$")


@cache
def _names() -> dict[str, Any]:
    return dict(yaml.safe_load(files("tamis.pii.invented").joinpath("names.yaml").read_text(encoding="utf-8")))


@cache
def _groups(half: str) -> tuple[tuple[str, float, tuple[str, ...], tuple[str, ...]], ...]:
    """Culture, weight, first and last names of each group, of one half."""
    found = [
        (group["culture"], float(group["weight"]), only(group["first"], half), only(group["last"], half))
        for group in _names()["groups"]
    ]
    for culture, locales in _names()["locales"].items():
        found += [(culture, 0.5, *(only(names, half) for names in _of_locale(locale))) for locale in locales]
    return tuple(found)


@cache
def _of_locale(locale: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The first and last names of one of faker's locales that are in Latin letters and not too long."""
    try:
        provider = import_module(f"faker.providers.person.{locale}").Provider
    except ImportError as error:
        raise missing_extra("pii", error) from error

    def latin(kind: str) -> tuple[str, ...]:
        lists = [getattr(provider, name, ()) for name in (f"{kind}s", f"{kind}s_female", f"{kind}s_male")]
        names = {str(name) for listed in lists if isinstance(listed, (tuple, list, dict)) for name in listed}
        return tuple(sorted(name for name in names if _LATIN.match(name) and name.count(" ") < 2))

    return latin("first_name"), latin("last_name")


def first_name(rng: Random, half: str) -> str:
    """A first name, such as a word problem has."""
    group = rng.choices(_groups(half), [group[1] for group in _groups(half)])[0]
    return rng.choice(group[2])


class Person:
    """Somebody of a session; what was said of them once stays so.

    Args:
        rng: The session's source of chance.
        half: Whose names are taken.
        family: The surname of somebody else, for a relative.
        adult: Whether it is a grown-up.
    """

    def __init__(self, rng: Random, half: str, family: str | None = None, adult: bool = False) -> None:
        self._rng, self._half, self.adult = rng, half, adult
        groups = _groups(half)
        self.culture, _, firsts, lasts = rng.choices(groups, [group[1] for group in groups])[0]
        self.first = rng.choice(firsts)
        self.last = family or self._surname(lasts)
        self.title = rng.choices(_TITLES[:-2] if adult else ("Ms.",), _TITLE_WEIGHTS[:-2] if adult else None)[0]
        self.goes_by = rng.choices(("first", "nick", "titled"), (1, 0, 1.2) if adult else (8, 1, 0))[0]
        self._said: dict[str, str] = {}

    def _surname(self, lasts: tuple[str, ...]) -> str:
        rng = self._rng
        if self.culture == "two_surnames" and rng.random() < 0.3:
            return rng.choice((" ", " ", "-", " y ")).join(rng.sample(lasts, 2)) if len(lasts) > 1 else lasts[0]
        if self.culture == "hyphen" and rng.random() < 0.1:
            return f"{rng.choice(lasts)}-{rng.choice(lasts)}".replace(" ", "")
        return rng.choice(lasts)

    def pieces(self, form: str) -> list[Piece]:
        """A name in a form, or a value that is this person's, with its label.

        Raises:
            KeyError: There is no such form.
        """
        if form == "call":
            form = self.goes_by
        if form == "titled":
            return [(f"{self.title} ", None), (self.last, "PERSON")]
        if form in _FORMS:
            if form not in self._said:
                self._said[form] = _FORMS[form](self)
            return [(self._said[form], "PERSON")]
        return self._value(form)

    def _value(self, form: str) -> list[Piece]:
        kind, label = values.KINDS[form]
        if form not in self._said:
            self._said[form] = kind(self._rng, self, self._half)
        return [(self._said[form], label)]

    def said(self, form: str) -> str:
        """The text of a value, so that parts of it stay the same."""
        return self._value(form)[0][0]

    def nick(self) -> str:
        """A short or pet name."""
        rng, first = self._rng, self.first.split()[0].split("-")[0]
        known = _names()["nicknames"].get(self.first)
        if known and rng.random() < 0.85:
            return str(rng.choice(known))
        short = first[: rng.choice((2, 3, 3, 4))].rstrip("'’")
        made = [
            short,
            f"{short}y",
            f"{short}ie",
            first[0] + self.last[0].upper(),
            f"{first[:2]}-{first[:2]}",
            f"Lil {first}",
            f"{first[0]}-money",
        ]
        free = str(rng.choice(only(_names()["free_nicknames"], self._half)))
        return rng.choices([*made, free, f"{first} {self.last[0]}"], [5, 3, 3, 2, 1, 0.7, 0.3, 7, 1.5])[0]

    def full(self) -> str:
        """First and last name together."""
        rng = self._rng
        if self.culture == "family_first" and rng.random() < 0.35:
            return f"{self.last} {self.first}"
        middle = rng.choices(
            ("", f" {rng.choice('ABCDEFGHJKLMNPRSTW')}.", f" {first_name(rng, self._half)}"), (12, 1.2, 1.5)
        )[0]
        return f"{self.first}{middle} {self.last}{rng.choices(('', ' Jr.', ' III'), (60, 1, 1))[0]}"

    def initials(self) -> str:
        """The first letters."""
        a, b = self.first[0].upper(), self.last[0].upper()
        return self._rng.choice(
            (f"{a}.{b}.", f"{a}{b}", f"{a}. {b}.", f"{a}.", f"{self.first} {b}.", f"{a}. {self.last}")
        )

    def spelled(self) -> str:
        """The letters one by one."""
        letters = [c for c in self.first if c.isalpha()]
        upper = [c.upper() for c in letters]
        return self._rng.choice(
            (
                "-".join(upper),
                " ".join(upper),
                "-".join(letters).lower(),
                " ".join(letters).lower(),
                ". ".join(upper),
            )
        )

    def misspelt(self) -> str:
        """The first name with one slip of the hand or of the ear."""
        rng, name = self._rng, self.first
        if len(name) < 4:
            return name + name[-1]
        k = rng.randrange(1, len(name) - 1)
        swaps = {
            "ph": "f",
            "y": "i",
            "i": "y",
            "c": "k",
            "k": "c",
            "ie": "ei",
            "ee": "ea",
            "z": "s",
            "h": "",
            "e": "a",
            "o": "u",
        }
        heard = [(old, new) for old, new in swaps.items() if old in name[1:]]
        ways = [
            name[:k] + name[k + 1] + name[k] + name[k + 2 :],
            name[:k] + name[k + 1 :],
            name[:k] + name[k] + name[k:],
        ]
        if heard:
            ways.append(name[0] + name[1:].replace(*rng.choice(heard), 1))
        made = rng.choice(ways)
        return made if made != name else name + name[-1]

    def stretched(self) -> str:
        """The first name as it is shouted."""
        return self.first + self.first[-1].lower() * self._rng.randrange(1, 4)


_FORMS: dict[str, Any] = {
    "first": lambda person: person.first,
    "last": lambda person: person.last,
    "full": Person.full,
    "nick": Person.nick,
    "initials": Person.initials,
    "spelled": Person.spelled,
    "misspelt": Person.misspelt,
    "stretched": Person.stretched,
    "letter": lambda person: person.last[0].upper(),
    "backward": lambda person: f"{person.last}, {person.first}",
}
