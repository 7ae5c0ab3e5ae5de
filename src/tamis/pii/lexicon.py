"""Words of a message, and what is known of them: a given name, a family name, a common word, or nothing."""

from __future__ import annotations

import importlib
import pkgutil
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

GIVEN, FAMILY, BOTH, SURNAME, WORD, EPONYM, UNKNOWN = (
    "given",
    "family",
    "both",
    "surname",
    "word",
    "eponym",
    "unknown",
)
"""What a token may be: `both` and `surname` are common words too, `eponym` is what maths is called after."""

_LETTERS = r"(?:[^\W\d_]++|[\u0300-\u036f]++)++"
_TOKEN = re.compile(rf"{_LETTERS}(?:['’ʼ‘`-]{_LETTERS})*+")
_REPEATED = re.compile(r"(.)\1{2,}")
_SUFFIX = re.compile(
    r"\w{2,}(?:ing|tion|sion|ness|ment|ful|less|ous|able|ible|ically|ally|ated|ized|ised|ished|ered|wards?|like|ship|'?ve|'?ll)"
)


class Token(NamedTuple):
    """A word as it stands in a text.

    Attributes:
        start: The offset of its first code point.
        end: The offset behind its last one; a possessive 's is outside.
        stop: The offset behind the possessive.
        text: The word as written.
        norm: The whole word in plain lower-case letters, a possessive s with it; sounds drawn out are cut short.
        key: The same without the possessive.
    """

    start: int
    end: int
    stop: int
    text: str
    norm: str
    key: str


@lru_cache(maxsize=65536)
def folded(text: str) -> str:
    """A word in lower-case letters alone: no accents or marks, no letter more than twice in a row."""
    if text.isascii():
        plain = text.lower()
    else:
        parts = unicodedata.normalize("NFKD", text.casefold())
        plain = "".join(letter for letter in parts if not unicodedata.combining(letter))
    letters = "".join(letter for letter in plain if letter.isalpha())
    return _REPEATED.sub(r"\1", letters)


def tokens(text: str) -> list[Token]:
    """The words of a text, in order."""
    found = []
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        word = match[0]
        norm = folded(word) if len(word) < 64 else ""
        if len(word) > 2 and word[-1] in "sS" and word[-2] in "'’ʼ‘`":
            found.append(Token(start, end - 2, end, word[:-2], norm, folded(word[:-2]) if norm else ""))
        else:
            found.append(Token(start, end, end, word, norm, norm))
    return found


@cache
def data(name: str) -> dict[str, Any]:
    """What a data file of this package holds."""
    return dict(yaml.safe_load(files("tamis.pii").joinpath(f"{name}.yaml").read_text(encoding="utf-8")))


def _faker_names() -> Iterator[tuple[str, str]]:
    from faker.providers import person

    for module in pkgutil.iter_modules(person.__path__):
        provider = importlib.import_module(f"{person.__name__}.{module.name}").Provider
        for attribute in dir(provider):
            names = getattr(provider, attribute)
            if "name" not in attribute or "language" in attribute or not isinstance(names, (Mapping, Sequence)):
                continue
            kind = FAMILY if "last" in attribute else GIVEN
            for name in names:
                if isinstance(name, str):
                    yield from ((kind, folded(part)) for part in name.split())


@cache
def kinds() -> dict[str, str]:
    """Every listed word, and what it is. Words win over names, unless they stand among those that are both."""
    from faker.providers.lorem.en_US import Provider as English
    from faker.providers.lorem.es_ES import Provider as Spanish

    names, words = data("names"), data("words")
    found: dict[str, str] = {}
    for kind, name in _faker_names():
        if len(name) > 1 and found.get(name) != GIVEN:
            found[name] = kind
    found |= dict.fromkeys(names["family"].split(), FAMILY) | dict.fromkeys(names["given"].split(), GIVEN)
    short = {folded(form) for forms in names["nicknames"].values() for form in forms}
    found |= dict.fromkeys(short, GIVEN)
    certain = {*names["given"].split(), *names["family"].split(), *short}
    for word in (*English.word_list, *Spanish.word_list):
        if folded(word) not in certain:
            found[folded(word)] = WORD
    found |= dict.fromkeys(words["vocabulary"].split() + words["spanish"].split(), WORD)
    found |= dict.fromkeys(words["surnames"].split(), SURNAME)
    found |= dict.fromkeys(words["both"].split(), BOTH)
    return found | dict.fromkeys(names["eponyms"].split(), EPONYM)


@lru_cache(maxsize=65536)
def kind(key: str) -> str:
    """What a word is, its inflections too: a regular plural or a common ending makes an unlisted word a word."""
    listed = kinds().get(key)
    if listed:
        return listed
    if _SUFFIX.fullmatch(key):
        return WORD
    if len(key) > 5 and (
        key.endswith("ly") or (key.startswith(("re", "un", "mis", "pre")) and kinds().get(key[2:]) == WORD)
    ):
        return WORD
    for ending, instead in (
        ("s", ""),
        ("es", ""),
        ("ies", "y"),
        ("ed", ""),
        ("d", ""),
        ("ly", ""),
        ("er", "e"),
        ("er", ""),
        ("y", ""),
    ):
        if key.endswith(ending) and kinds().get(key[: len(key) - len(ending)] + instead) == WORD:
            return WORD
    return UNKNOWN


@cache
def short_forms() -> dict[str, frozenset[str]]:
    """A given name -> the nicknames that go with it."""
    return {name: frozenset(map(folded, forms)) for name, forms in data("names")["nicknames"].items()}


@cache
def listed(name: str) -> frozenset[str]:
    """One of the plain lists of `names.yaml`: particles, eponyms or eponym_nouns."""
    return frozenset(data("names")[name].split())
