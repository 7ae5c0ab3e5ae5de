"""The lists of words in `surrogates.yaml`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@cache
def _content() -> dict[str, Any]:
    return dict(yaml.safe_load(files("tamis.pii").joinpath("surrogates.yaml").read_text(encoding="utf-8")))


@cache
def words(name: str) -> tuple[str, ...]:
    """A list of words."""
    return tuple(_content()[name].split())


@cache
def months() -> tuple[tuple[str, ...], ...]:
    """The twelve months of each language."""
    return tuple(tuple(names.split()) for names in _content()["months"])


def locale_of(script: str) -> str:
    """Faker's locale for names in a script; the one for Latin letters where there is none of its own."""
    return str(_content()["locales"].get(script, LATIN))


LATIN = "en_US"
