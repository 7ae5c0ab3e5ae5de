"""The tags that a provider left in a text in place of what it took out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from tamis.pii.labels import FROM_PRESIDIO, LABELS

NONE = "none"
"""The label of a tag that does not say what it stands for."""
MASK = "\N{OBJECT REPLACEMENT CHARACTER}"


@dataclass(frozen=True, order=True)
class Tag:
    """A tag in a text.

    Attributes:
        start: The offset of its first code point.
        end: The offset behind its last code point.
        label: Our label, or `none`.
        name: The tag's name as the provider wrote it, with its number: the same name may be the same value.
    """

    start: int
    end: int
    label: str
    name: str


@cache
def forms() -> dict[str, Any]:
    """What `provider_tags.yaml` holds: forms, names, cues and placeholders."""
    return dict(yaml.safe_load(files("tamis.pii").joinpath("provider_tags.yaml").read_text(encoding="utf-8")))


def find_tags(content: str) -> list[Tag]:
    """The tags of a text, in order; of two that overlap (`{{NAME}}` and `{NAME}`), the longer one."""
    found: list[Tag] = []
    for match in _pattern().finditer(content):
        name = next(group for group in match.groups() if group is not None)
        found.append(Tag(match.start(), match.end(), label_of(name), name))
    return found


def label_of(name: str) -> str:
    """Our label for a provider's name, whatever its case and number; `none` where it has none."""
    return _names().get(_plain(re.sub(r"[_\s-]?\d+\Z", "", name)), NONE)


def masked(content: str, pieces: Iterable[tuple[int, int]]) -> str:
    """The text with a sign that is no word in place of each piece, of the same length: offsets stay."""
    return replaced(content, ((start, end, MASK * (end - start)) for start, end in pieces))


def replaced(content: str, pieces: Iterable[tuple[int, int, str]]) -> str:
    """The text with other text in place of each piece; pieces are in order and do not overlap."""
    parts: list[str] = []
    place = 0
    for start, end, text in pieces:
        parts += [content[place:start], text]
        place = end
    return "".join([*parts, content[place:]])


def _plain(name: str) -> str:
    return re.sub(r"[_\s-]+", "", name).upper()


@cache
def _names() -> dict[str, str]:
    known = {_plain(name): label for name, label in FROM_PRESIDIO.items()}
    known |= {_plain(name): label for label, names in forms()["names"].items() for name in (label, *names)}
    return known | {_plain(label): label for label in LABELS}


@cache
def _pattern() -> re.Pattern[str]:
    given = {*FROM_PRESIDIO, *(name for label, names in forms()["names"].items() for name in (label, *names))}
    words = "|".join(re.sub("_", r"[_\\s-]?", name) for name in sorted(given, key=lambda name: (-len(name), name)))
    name = rf"((?:{words})(?:[_\s-]?\d{{1,3}})?)"
    longest = sorted(forms()["forms"].values(), key=len, reverse=True)
    return re.compile("|".join(form.replace("NAME", name) for form in longest), re.IGNORECASE)
