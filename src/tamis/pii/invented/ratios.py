"""Problems of fractions, ratios, percentages, statistics and chance."""

# ruff: noqa: ARG001  a problem may need both names, one, or none

from __future__ import annotations

from fractions import Fraction
from math import factorial, gcd
from random import Random

from tamis.pii.invented.problem import THINGS, Kind, Problem, between, decimal, number


def add_fractions(rng: Random, a: str, b: str) -> Problem:
    """A sum of fractions, which look like dates."""
    q, s = between(rng, 3, 12), between(rng, 3, 12)
    p, r = between(rng, 1, q - 1), between(rng, 1, s - 1)
    low = q * s // gcd(q, s)
    left, right = p * low // q, r * low // s
    return Problem(
        f"Add `{p}/{q} + {r}/{s}`",
        (
            ("what's the common denominator?", f"{low}"),
            ("rewrite both", f"`{left}/{low} + {right}/{low}`"),
            (
                "add and simplify",
                (
                    f"`{left + right}/{low} = {number(Fraction(p, q) + Fraction(r, s))}`"
                    if Fraction(p, q) + Fraction(r, s) != Fraction(left + right, low) or gcd(left + right, low) > 1
                    else f"`{left + right}/{low}`"
                ),
            ),
        ),
        "adding fractions",
        f"`{p + r}/{q + s}`",
    )


def divide_fractions(rng: Random, a: str, b: str) -> Problem:
    """A quotient of fractions."""
    p, q, r, s = (between(rng, 1, 9), between(rng, 2, 12), between(rng, 1, 9), between(rng, 2, 12))
    return Problem(
        f"Divide `{p}/{q} ÷ {r}/{s}`",
        (
            ("keep change flip?", f"`{p}/{q} * {s}/{r}`"),
            (
                "multiply across",
                (
                    f"`{p * s}/{q * r} = {number(Fraction(p * s, q * r))}`"
                    if gcd(p * s, q * r) > 1
                    else f"`{p * s}/{q * r}`"
                ),
            ),
        ),
        "dividing fractions",
        f"`{p * r}/{q * s}`",
    )


def date_like(rng: Random, a: str, b: str) -> Problem:
    """Fractions in a row, or a fraction of a fraction: 3/4/12."""
    q, r = between(rng, 2, 9), between(rng, 2, 12)
    p = between(rng, 1, 12)
    return Problem(
        f"Simplify `{p}/{q}/{r}`",
        (
            ("dividing by a number is the same as multiplying by what?", f"`1/{r}`"),
            ("so?", f"`{p}/{q} * 1/{r} = {number(Fraction(p, q * r))}`"),
        ),
        "complex fractions",
        f"`{p * r}/{q}`",
    )


def fraction_of(rng: Random, a: str, b: str) -> Problem:
    """A fraction of an amount."""
    q = between(rng, 3, 9)
    p, unit = between(rng, 1, q - 1), between(rng, 4, 15)
    n, thing = q * unit, rng.choice(THINGS)
    return Problem(
        f"{a} has {n} {thing} and uses `{p}/{q}` of them for a project with {b}. How many are left?",
        (
            (f"what is `1/{q}` of {n}?", f"`{n}/{q} = {unit}`"),
            (f"so `{p}/{q}`?", f"`{unit} * {p} = {unit * p}`"),
            ("how many left?", f"`{n} - {unit * p} = {n - unit * p}`"),
        ),
        "fractions of a whole",
        f"`{unit * p}`",
    )


def mixed_numbers(rng: Random, a: str, b: str) -> Problem:
    """A mixed number as an improper fraction."""
    w, q = between(rng, 2, 9), between(rng, 2, 9)
    p = between(rng, 1, q - 1)
    return Problem(
        f"Write `{w} {p}/{q}` as an improper fraction.",
        (
            (f"multiply the whole number by {q}", f"`{w} * {q} = {w * q}`"),
            ("then add the numerator", f"`{w * q} + {p} = {w * q + p}`, so `{w * q + p}/{q}`"),
        ),
        "mixed numbers",
        f"`{w + p}/{q}`",
    )


def recipe_ratio(rng: Random, a: str, b: str) -> Problem:
    """A ratio scaled up."""
    p, q, k = between(rng, 2, 5), between(rng, 3, 9), between(rng, 2, 8)
    return Problem(
        f"A recipe uses {p} cups of flour for every {q} cups of milk. {a} uses {q * k} cups of milk. How much"
        " flour is needed?",
        (
            ("write it as a proportion", f"`{p}/{q} = x/{q * k}`"),
            ("what's the scale factor?", f"`{q * k}/{q} = {k}`"),
            ("so x is", f"`x = {p} * {k} = {p * k}`"),
        ),
        "ratios",
        f"`x = {p + k}`",
    )


def unit_rate(rng: Random, a: str, b: str) -> Problem:
    """Miles an hour."""
    v, t = between(rng, 8, 70), between(rng, 2, 7)
    t2 = between(rng, 2, 9, but=(t,))
    who = rng.choice((f"{a} bikes", f"{a} drives", f"{a} and {b} hike", "A train goes"))
    return Problem(
        f"{who} {v * t} miles in {t} hours. At that rate, how far is it in {t2} hours?",
        (
            ("what's the unit rate?", f"`{v * t}/{t} = {v}` miles per hour"),
            (f"now for {t2} hours", f"`{v} * {t2} = {v * t2}` miles"),
        ),
        "unit rates",
        f"`{v + t2}`",
    )


def percent_off(rng: Random, a: str, b: str) -> Problem:
    """A price after a discount."""
    price, off = 5 * between(rng, 4, 60), 5 * between(rng, 1, 12)
    cut = Fraction(price * off, 100)
    return Problem(
        f"{a} wants a jacket that costs ${price}. It is {off}% off. What does {a} pay?",
        (
            (f"what is {off}% of {price}?", f"`{price} * {decimal(Fraction(off, 100))} = {decimal(cut)}`"),
            (
                "and the sale price?",
                f"`{price} - {decimal(cut)} = {decimal(price - cut)}`, so ${decimal(price - cut)}",
            ),
        ),
        "percent discount",
        f"${decimal(cut)}",
    )


def percent_change(rng: Random, a: str, b: str) -> Problem:
    """By how many percent something grew."""
    n, p = 20 * between(rng, 2, 30), 5 * between(rng, 1, 15)
    new = n + n * p // 100
    p = 100 * (new - n) * 1000 // (n * 1000) if (new - n) * 100 % n == 0 else 0
    if not p:
        n, new, p = 200, 250, 25
    return Problem(
        f"A club had {n} members and now has {new}. Find the percent increase.",
        (
            ("how much did it go up?", f"`{new} - {n} = {new - n}`"),
            ("divide by the original", f"`{new - n}/{n} = {decimal(Fraction(new - n, n), 4)}`"),
            ("as a percent?", f"{p}%"),
        ),
        "percent change",
        f"{new - n}%",
    )


def mean_median(rng: Random, a: str, b: str) -> Problem:
    """Mean and median of five numbers."""
    data = [between(rng, 2, 40) for _ in range(5)]
    data[-1] += -sum(data) % 5
    total, shown = sum(data), ", ".join(map(str, data))
    return Problem(
        f"{a}'s quiz scores are `{shown}`. Find the mean and the median.",
        (
            ("add them up", f"`{' + '.join(map(str, data))} = {total}`"),
            ("divide by how many there are", f"`{total}/5 = {total // 5}`"),
            (
                "and the median? put them in order first",
                f"`{', '.join(map(str, sorted(data)))}` so the median is {sorted(data)[2]}",
            ),
        ),
        "mean and median",
        f"{data[2]}",
    )


def probability(rng: Random, a: str, b: str) -> Problem:
    """Drawing from a bag."""
    r, g, w = between(rng, 2, 9), between(rng, 2, 9), between(rng, 2, 9)
    n = r + g + w
    return Problem(
        f"A bag holds {r} red, {g} green and {w} white marbles. {a} takes one without looking. What is P(red)?",
        (
            ("how many marbles in all?", f"`{r} + {g} + {w} = {n}`"),
            (
                "so P(red) is",
                f"`P(red) = {r}/{n}`" + (f", which is `{number(Fraction(r, n))}`" if gcd(r, n) > 1 else ""),
            ),
        ),
        "probability",
        f"`{r}/{g + w}`",
    )


def two_dice(rng: Random, a: str, b: str) -> Problem:
    """The sum of two dice."""
    total = between(rng, 3, 11)
    ways = 6 - abs(7 - total)
    return Problem(
        f"{a} rolls two dice. What is the probability that the sum is {total}?",
        (
            ("how many outcomes are there?", "`6 * 6 = 36`"),
            (f"how many add to {total}?", f"{ways}"),
            (
                "so the probability is",
                f"`{ways}/36 = {number(Fraction(ways, 36))}`" if gcd(ways, 36) > 1 else f"`{ways}/36`",
            ),
        ),
        "probability",
        f"`{total}/36`",
    )


def standard_deviation(rng: Random, a: str, b: str) -> Problem:
    """A z-score."""
    mean, sd, k = 5 * between(rng, 10, 20), between(rng, 2, 12), between(rng, -3, 3, but=(0,))
    x = mean + k * sd
    return Problem(
        f"A test has mean {mean} and standard deviation {sd}. {a} scored {x}. Find the z-score.",
        (("what's the formula?", "`z = (x - μ)/σ`"), ("plug in", f"`z = ({x} - {mean})/{sd} = {k}`")),
        "z-scores",
        f"`z = {-k}`",
    )


def permutations(rng: Random, a: str, b: str) -> Problem:
    """How many ways."""
    n = between(rng, 5, 9)
    k = between(rng, 2, 3)
    ways = factorial(n) // factorial(n - k)
    return Problem(
        f"{a}, {b} and {n - 2} others race. In how many ways can the first {k} places go?",
        (
            ("how many choices for first?", f"{n}"),
            ("multiply", f"`{' * '.join(str(n - i) for i in range(k))} = {ways}`"),
        ),
        "permutations",
        f"`{n}! = {factorial(n)}`",
    )


RATIOS: tuple[Kind, ...] = (
    add_fractions,
    divide_fractions,
    date_like,
    fraction_of,
    mixed_numbers,
    recipe_ratio,
    unit_rate,
    percent_off,
    percent_change,
    mean_median,
    probability,
    two_dice,
    standard_deviation,
    permutations,
)
