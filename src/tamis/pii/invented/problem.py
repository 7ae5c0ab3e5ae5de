"""A problem of school mathematics with the steps that solve it; how numbers are written in one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random


@dataclass(frozen=True)
class Problem:
    """A problem; what stands between backticks is maths, to be written in somebody's notation.

    Attributes:
        text: What is asked.
        steps: What the tutor asks for, and the student's exact answer.
        topic: What it is about, in words.
        wrong: A wrong answer to the last step.
    """

    text: str
    steps: tuple[tuple[str, str], ...]
    topic: str
    wrong: str = ""


def number(value: Fraction | int) -> str:
    """A whole number, or a fraction in lowest terms."""
    value = Fraction(value)
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


def decimal(value: Fraction | int, places: int = 2) -> str:
    """A number with at most so many decimals; none where they would be noughts."""
    text = f"{float(value):.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def signed(value: int) -> str:
    """A number with its sign as the next term of a sum."""
    return f"+ {value}" if value >= 0 else f"- {-value}"


def times(value: int, letter: str) -> str:
    """A multiple of a variable: x, -x, 3x."""
    return {1: letter, -1: f"-{letter}"}.get(value, f"{value}{letter}")


def between(rng: Random, low: int, high: int, *, but: tuple[int, ...] = ()) -> int:
    """A whole number from low to high, both included, that is none of `but`."""
    while (found := rng.randint(low, high)) in but:
        pass
    return found
