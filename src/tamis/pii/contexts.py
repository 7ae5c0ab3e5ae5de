"""Words near a span that say what it is, as whole words."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from tamis.pii import lexicon

LEFT, RIGHT = 60, 28
"""How many characters before and behind a span a context word may stand."""


@cache
def table() -> dict[str, Any]:
    """What `contexts.yaml` holds."""
    return lexicon.data("contexts")


@cache
def words(name: str) -> frozenset[str]:
    """One of the plain word lists of `contexts.yaml`."""
    return frozenset(table()[name].split())


@cache
def phrases(name: str) -> str:
    """One of the lists of phrases that `|` parts, as the inside of a regular expression, the longest first."""
    listed = sorted((" ".join(phrase.split()) for phrase in table()[name].split("|")), key=len, reverse=True)
    return "|".join(re.escape(phrase).replace("\\ ", r"\s") for phrase in listed)


@cache
def pattern(label: str) -> re.Pattern[str]:
    """A label's context words."""
    listed = sorted(table()["context"][label], key=len, reverse=True)
    inside = "|".join(re.escape(phrase).replace("\\ ", r"\s+").replace("'", "['’]?") for phrase in listed)
    return re.compile(rf"(?<!\w)(?:{inside})(?!\w)", re.IGNORECASE)


def is_public(link: str) -> bool:
    """Whether a link, or a host, is of a site that anybody may name, and no page of somebody's own there."""
    host = re.sub(r"^(?:\w+://)?(?:www\.)?", "", link.lower())
    whose = re.search(table()["private_paths"], link, re.IGNORECASE)
    return re.split(r"[/:?#]", host, maxsplit=1)[0] in words("public_sites") and not whose


def distance(label: str, content: str, start: int, end: int, left: int = LEFT, right: int = RIGHT) -> int | None:
    """How far the nearest context word of a label stands from a span; None where there is none near it."""
    if label not in table()["context"]:
        return None
    found = pattern(label)
    before = [match.end() for match in found.finditer(content, max(0, start - left), start)]
    after = found.search(content, end, min(len(content), end + right))
    near = [start - before[-1]] if before else []
    if after:
        near.append(after.start() - end)
    return min(near) if near else None
