"""Where a message holds maths, by its look."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@cache
def terms() -> dict[str, Any]:
    """What `maths.yaml` holds: patterns with their weights and reasons."""
    return dict(yaml.safe_load(files("tamis.pii").joinpath("maths.yaml").read_text(encoding="utf-8")))


@cache
def patterns() -> dict[str, re.Pattern[str]]:
    """Each pattern's name and regular expression, its parts put in."""
    parts: dict[str, str] = {}

    def whole(text: str) -> str:
        return re.sub(r"<([A-Z]+)>", lambda found: parts[found[1]], text)

    for name, text in terms()["parts"].items():
        parts[name] = whole(text)
    return {name: re.compile(whole(entry["regex"])) for name, entry in terms()["patterns"].items()}


def expressions(text: str) -> list[tuple[int, int]]:
    """The maths in a text: start and end of each piece, in order; pieces that touch or overlap are one."""
    found = sorted(match.span() for pattern in patterns().values() for match in pattern.finditer(text))
    pieces: list[tuple[int, int]] = []
    for start, end in found:
        if pieces and start <= pieces[-1][1]:
            pieces[-1] = (pieces[-1][0], max(end, pieces[-1][1]))
        else:
            pieces.append((start, end))
    return pieces
