"""Whose data a value is, and the words that values are put together from."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any, Protocol
from unicodedata import normalize

import yaml

from tamis.pii.invented.halves import only

HOSTS = ("example.com", "example.org", "example.net")
"""The hosts that are kept for examples."""


class Owner(Protocol):
    """Whose data it is."""

    first: str
    last: str
    adult: bool

    def said(self, form: str) -> str:
        """The text of another value of the same person."""
        ...


@cache
def places() -> dict[str, Any]:
    """What `places.yaml` holds."""
    return dict(yaml.safe_load(files("tamis.pii.invented").joinpath("places.yaml").read_text(encoding="utf-8")))


def one(rng: Random, half: str, name: str) -> str:
    """One of the words of a name in `places.yaml`."""
    return rng.choice(only(places()[name], half))


def plain(text: str) -> str:
    """A name in the letters that handles have."""
    text = text.replace("ł", "l").replace("ø", "o").replace("đ", "d").replace("Đ", "D")
    return re.sub(r"[^a-z]", "", normalize("NFKD", text).lower()) or "kid"


def code(rng: Random, shape: str) -> str:
    """A shape with a digit for each 0 and a letter for each a."""
    letters = "abcdefghijkmnpqrstuvwxyz"
    return "".join(rng.choice(letters) if c == "a" else str(rng.randrange(10)) if c == "0" else c for c in shape)
