"""All kinds of problems, over the strands of school mathematics."""

from __future__ import annotations

from functools import cache
from random import Random

from tamis.pii.invented.algebra import ALGEBRA
from tamis.pii.invented.arithmetic import ARITHMETIC
from tamis.pii.invented.functions import FUNCTIONS
from tamis.pii.invented.geometry import GEOMETRY
from tamis.pii.invented.halves import only
from tamis.pii.invented.problem import Kind, Problem
from tamis.pii.invented.ratios import RATIOS

_KINDS: dict[str, Kind] = {kind.__name__: kind for kind in (*ARITHMETIC, *RATIOS, *ALGEBRA, *FUNCTIONS, *GEOMETRY)}


_RARE = {"ssn_like": 0.2, "phone_like": 0.5, "luhn_like": 0.4}
"""How often kinds come whose numbers are made to deceive, beside others: in a real corpus they are few."""


@cache
def kinds(half: str) -> tuple[Kind, ...]:
    """The kinds of a half."""
    return tuple(_KINDS[name] for name in only(_KINDS, half))


def problem(rng: Random, half: str, a: str, b: str) -> Problem:
    """A problem about two people, named by their first names."""
    able = kinds(half)
    (kind,) = rng.choices(able, [_RARE.get(one.__name__, 1.0) for one in able])
    return kind(rng, a, b)
