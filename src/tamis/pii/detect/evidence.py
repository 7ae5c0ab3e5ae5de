"""How much speaks for a word as a name: what cues, the word lists and the casing say together."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from math import prod

from tamis.pii import lexicon
from tamis.pii.detect.naming import Candidate
from tamis.pii.detect.views import View, capital, table, words
from tamis.pii.lexicon import BOTH, EPONYM, UNKNOWN

_MOST_CUES = 6


@dataclass
class Known:
    """What speaks for one word as somebody's name.

    Attributes:
        weights: The weight of each cue.
        prior: What the word lists say.
        real: Whether a cue speaks for a person of the chat.
        reason: The reason of its heaviest cue.
    """

    weights: list[float] = field(default_factory=list)
    prior: float = 0.0
    real: bool = False
    reason: str = ""

    def add(self, weight: float) -> None:
        """Takes a cue in; only the heaviest count: a thousand times is no surer than often."""
        self.weights = sorted((*self.weights, weight), reverse=True)[:_MOST_CUES]

    def score(self) -> float:
        """How sure one may be, all cues together."""
        return 1 - (1 - self.prior) * prod(1 - weight for weight in self.weights)


def prior(seen: View, place: int) -> float:
    """What the word lists and the casing say for a token, before any cue."""
    token = seen.tokens[place]
    kind = lexicon.kind(token.key)
    weights: dict[str, float] = table()["lists"]
    if kind == UNKNOWN and capital(token) and not seen.shouted:
        return weights["first_capital" if place in seen.heads else "capital"]
    if kind == BOTH and not (capital(token) and place not in seen.heads):
        return 0.0
    return weights[kind]


def impersonal(seen: View, candidate: Candidate) -> bool:
    """Whether a message has numbers and nobody in it but third persons, as a word problem has."""
    return seen.numbers and not seen.personal and candidate.cue.removesuffix("_together") not in words("addressed")


@cache
def _famous() -> frozenset[str]:
    """Two words that name somebody of the history of mathematics, or that a rule to remember uses."""
    return frozenset(" ".join(name.split()) for name in lexicon.data("names")["famous"].split("|"))


def renowned(seen: View, place: int) -> bool:
    """Whether a word is a part of a name that lessons tell of."""
    pairs = (seen.tokens[place : place + 2], seen.tokens[max(0, place - 1) : place + 1])
    return any(" ".join(token.key for token in pair) in _famous() for pair in pairs)


def curriculum(seen: View, place: int) -> bool:
    """Whether a word names a theorem, a rule or a unit here."""
    tokens, token = seen.tokens, seen.tokens[place]
    if renowned(seen, place):
        return True
    if place + 1 < len(tokens) and tokens[place + 1].norm in lexicon.listed("eponym_nouns"):
        return lexicon.kind(token.key) == EPONYM or capital(token)
    before = seen.content[max(0, token.start - 3) : token.start]
    return lexicon.kind(token.key) == EPONYM and bool(re.search(r"\d[ °]?\Z", before))
