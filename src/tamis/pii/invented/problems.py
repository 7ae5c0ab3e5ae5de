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


@cache
def kinds(half: str) -> tuple[Kind, ...]:
    """The kinds of a half."""
    return tuple(_KINDS[name] for name in only(_KINDS, half))


def problem(rng: Random, half: str, a: str, b: str) -> Problem:
    """A problem about two people, named by their first names."""
    return rng.choice(kinds(half))(rng, a, b)
