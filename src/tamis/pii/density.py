"""How dense the maths in each of many messages is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml

from tamis.pii.maths import patterns, terms

_BETWEEN = "\n\0\n"
"""Stands between messages, which are searched as one text: no pattern goes over a line's end and a NUL."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


@cache
def vocabulary() -> dict[str, Any]:
    """What `vocabulary.yaml` holds: terms by strand, their weights, what is silent, the thresholds."""
    return dict(yaml.safe_load(files("tamis.pii").joinpath("vocabulary.yaml").read_text(encoding="utf-8")))


@cache
def term_weights() -> dict[str, float]:
    """Each term and its weight, the greatest where it stands in several lists; a hyphen in it is a space."""
    weights = vocabulary()["weights"]
    found: dict[str, float] = {}
    for lists in vocabulary()["strands"].values():
        for kind, listed in lists.items():
            for term in (str(entry).replace("-", " ") for entry in listed):
                found[term] = max(float(weights[kind]), found.get(term, 0.0))
    return found


def density(messages: Sequence[str], length: float | None = None) -> Floats:
    """The maths density of each message, from 0 (none) to 1 (nothing else).

    It is `w / (w + words ** length)`. `w` sums the weights of what `maths.yaml` describes (where patterns overlap,
    the greatest), of the terms in `vocabulary.yaml`, and of the numbers outside both. The letters of an expression
    are no words. A time, a phone number, an address and the like count as nothing.

    Args:
        messages: The texts.
        length: How much the words count; by default as the vocabulary says.

    Returns:
        float64, `[messages]`.
    """
    power = float(vocabulary()["thresholds"]["length"]) if length is None else length
    # A lower-case letter takes one place, as its capital does, except for this one.
    texts = [text.replace("İ", "I") for text in messages]
    starts = np.array([0, *accumulate(len(text) + len(_BETWEEN) for text in texts)], dtype=np.int64)[:-1]
    whole = _BETWEEN.join(texts)
    for pattern in _silent():
        whole = pattern.sub(_blank, whole)
    begin, end, weight = _expressions(whole, starts, [len(text) for text in texts])
    rest = _without(whole, begin, end).lower()
    hits = [(found.start(), found[1]) for found in _terms().finditer(rest)]
    number = float(vocabulary()["weights"]["number"])
    said = [term_weights()[" ".join(re.split(r"[\s-]+", term))] if term else number for _, term in hits]
    at = np.concatenate([begin, np.array([place for place, _ in hits], dtype=np.int64)])
    w = _by_message(starts, at, np.concatenate([weight, np.array(said, dtype=np.float64)]))
    at = np.array([found.start() for found in _WORD.finditer(rest)], dtype=np.int64)
    words = _by_message(starts, at, np.ones(len(at)))
    return np.divide(w, w + np.where(words > 0, words**power, 0), where=w > 0, out=np.zeros(len(texts)))


def _expressions(whole: str, starts: Places, lengths: Sequence[int]) -> tuple[Places, Places, Floats]:
    """Where the pieces of maths begin and end, none touching another, and the greatest weight in each."""
    found: list[tuple[int, int, float]] = []
    for name, pattern in patterns().items():
        weight = float(terms()["patterns"][name]["weight"])
        if r"\A" in pattern.pattern:  # it speaks of a whole message
            alone = zip(starts.tolist(), lengths, strict=True)
            found += [(a, a + n, weight) for a, n in alone if pattern.match(whole[a : a + n])]
        else:
            found += [(*match.span(), weight) for match in pattern.finditer(whole)]
    if not found:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    ordered = sorted(found)
    begin: Places = np.array([a for a, *_ in ordered], dtype=np.int64)
    end: Places = np.array([b for _, b, _ in ordered], dtype=np.int64)
    weights: Floats = np.array([weight for *_, weight in ordered], dtype=np.float64)
    reached = np.maximum.accumulate(end)
    first = np.flatnonzero(np.concatenate([[True], begin[1:] > reached[:-1]]))
    return begin[first], np.maximum.reduceat(end, first), np.maximum.reduceat(weights, first)


def _without(whole: str, begin: Places, end: Places) -> str:
    """The text with spaces for the pieces."""
    parts: list[str] = []
    place = 0
    for a, b in zip(begin.tolist(), end.tolist(), strict=True):
        parts += [whole[place:a], " " * (b - a)]
        place = b
    return "".join([*parts, whole[place:]])


def _by_message(starts: Places, at: Places, weight: Floats) -> Floats:
    message = np.searchsorted(starts, at, side="right") - 1
    return np.bincount(message, weight, minlength=len(starts)).astype(np.float64)  # of no places it makes integers


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


@cache
def _silent() -> list[re.Pattern[str]]:
    return [
        re.compile(text, re.IGNORECASE | re.MULTILINE)
        for group in vocabulary()["silent"].values()
        for text in group
    ]


@cache
def _terms() -> re.Pattern[str]:
    """A term and its ending, or a number, which leaves the group empty."""
    return re.compile(rf"(?<!\w)(?:({_any_of(term_weights())})(?:[ei]?s|e?d|ing|['’]s)?|\d+(?:[.,]\d+)*)(?!\w)")


def _any_of(texts: Iterable[str]) -> str:
    """A pattern for the longest of the texts that stands somewhere; what begins alike is looked at once.

    A plain alternation of a thousand terms takes twenty times as long.
    """
    tree: dict[str, Any] = {}
    for text in texts:
        node = tree
        for character in text:
            node = node.setdefault(character, {})
        node[""] = {}

    def pattern(node: dict[str, Any]) -> str:
        branches = [
            (r"[\s-]+" if first == " " else re.escape(first)) + pattern(rest)
            for first, rest in node.items()
            if first
        ]
        if not branches:
            return ""
        return f"(?:{'|'.join(branches)})" + ("?" if "" in node else "")

    return pattern(tree)
