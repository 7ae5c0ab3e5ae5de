"""Problems of algebra."""

# ruff: noqa: ARG001  a problem may need both names, one, or none

from __future__ import annotations

from math import isqrt
from random import Random

from tamis.pii.invented.problem import Kind, Problem, between, signed, times


def two_step(rng: Random, a: str, b: str) -> Problem:
    """A linear equation."""
    p, q, x, v = between(rng, 2, 12), between(rng, -20, 20, but=(0,)), between(rng, -9, 12), rng.choice("xxynkmw")
    r = p * x + q
    verb = "subtract" if q > 0 else "add"
    return Problem(
        f"Solve `{p}{v} {signed(q)} = {r}`",
        (
            (f"what do we {verb} first?", f"{verb} {abs(q)} on both sides, `{p}{v} = {r - q}`"),
            (f"then divide by {p}", f"`{v} = {x}`"),
        ),
        "two-step equations",
        f"`{v} = {r - q}`",
    )


def both_sides(rng: Random, a: str, b: str) -> Problem:
    """Variables on both sides."""
    p, r, x, q = between(rng, 5, 12), between(rng, 2, 4), between(rng, -8, 9), between(rng, -15, 15, but=(0,))
    s = (p - r) * x + q
    return Problem(
        f"Solve `{p}x {signed(q)} = {r}x {signed(s)}`",
        (
            ("get the x's on one side", f"`{p - r}x {signed(q)} = {s}`"),
            ("then the numbers", f"`{p - r}x = {s - q}`"),
            ("so x is", f"`x = {x}`"),
        ),
        "equations with variables on both sides",
        f"`x = {-x}`",
    )


def consecutive(rng: Random, a: str, b: str) -> Problem:
    """Numbers in a row."""
    n = between(rng, 5, 90)
    return Problem(
        f"{a} picks three consecutive integers that add up to {3 * n + 3}. Which are they?",
        (
            ("call the first one n. what are the others?", "`n + 1` and `n + 2`"),
            ("so the equation is", f"`3n + 3 = {3 * n + 3}`"),
            ("and n is", f"`n = {n}`, so `{n}, {n + 1}, {n + 2}`"),
        ),
        "writing equations",
        f"`n = {n + 1}`",
    )


def inequality(rng: Random, a: str, b: str) -> Problem:
    """An inequality whose sign turns round."""
    p, x, q = between(rng, 2, 9), between(rng, -8, 8), between(rng, 1, 20)
    return Problem(
        f"Solve `-{p}x + {q} < {q - p * x}`",
        (
            (f"subtract {q}", f"`-{p}x < {-p * x}`"),
            (f"divide by -{p}. what happens to the sign?", f"it flips, `x > {x}`"),
        ),
        "inequalities",
        f"`x < {x}`",
    )


def factor(rng: Random, a: str, b: str) -> Problem:
    """A quadratic into two factors."""
    p, q = between(rng, -9, 9, but=(0,)), between(rng, -9, 9, but=(0,))
    middle = f" {signed(p + q)}x".replace(" 1x", " x") if p + q else ""
    return Problem(
        f"Factor `x^2{middle} {signed(p * q)}`",
        (
            (f"which two numbers multiply to {p * q} and add to {p + q}?", f"{p} and {q}"),
            ("so the factors are", f"`(x {signed(p)})(x {signed(q)})`"),
            ("and the zeros?", f"`x = {-p}, x = {-q}`"),
        ),
        "factoring",
        f"`(x {signed(-p)})(x {signed(-q)})`",
    )


def quadratic_formula(rng: Random, a: str, b: str) -> Problem:
    """The discriminant."""
    p, q, r = between(rng, 1, 5), between(rng, -9, 9, but=(0,)), between(rng, -9, 9, but=(0,))
    d = q * q - 4 * p * r
    kind = "two real solutions" if d > 0 else "one real solution" if d == 0 else "no real solutions"
    root = (
        f"`√{d} = {isqrt(d)}`, so they are rational"
        if d > 0 and isqrt(d) ** 2 == d
        else f"because `{d}` is {'positive' if d > 0 else 'zero' if d == 0 else 'negative'}"
    )
    return Problem(
        f"How many real solutions does `{times(p, 'x^2')} {signed(q)}x {signed(r)} = 0` have?",
        (
            ("what is the discriminant?", f"`b^2 - 4ac = ({q})^2 - 4({p})({r}) = {d}`"),
            ("so how many?", f"{kind}, {root}"),
        ),
        "the quadratic formula",
        f"`{q * q + 4 * p * r}`",
    )


def foil(rng: Random, a: str, b: str) -> Problem:
    """A product of binomials."""
    p, q, r, s = (
        between(rng, 1, 5),
        between(rng, -9, 9, but=(0,)),
        between(rng, 1, 5),
        between(rng, -9, 9, but=(0,)),
    )
    outer, inner = p * s, r * q
    middle = f" {signed(outer + inner)}x" if outer + inner else ""
    return Problem(
        f"Expand `({times(p, 'x')} {signed(q)})({times(r, 'x')} {signed(s)})`",
        (
            ("first terms?", f"`{times(p * r, 'x^2')}`"),
            ("outer and inner", f"`{outer}x {signed(inner)}x`"),
            ("all together", f"`{times(p * r, 'x^2')}{middle} {signed(q * s)}`"),
        ),
        "multiplying binomials",
        f"`{times(p * r, 'x^2')} {signed(q * s)}`",
    )


def system(rng: Random, a: str, b: str) -> Problem:
    """Two equations."""
    x, y, p, q = between(rng, -6, 9), between(rng, -6, 9), between(rng, 2, 5), between(rng, 2, 5)
    return Problem(
        f"Solve the system `{p}x + y = {p * x + y}` and `{q}x - y = {q * x - y}`",
        (
            ("what happens if we add them?", f"y cancels, `{p + q}x = {(p + q) * x}`"),
            ("so x is", f"`x = {x}`"),
            ("plug back in for y", f"`y = {y}`, so `({x}, {y})`"),
        ),
        "systems of equations",
        f"`({y}, {x})`",
    )


def ticket_system(rng: Random, a: str, b: str) -> Problem:
    """Two kinds of tickets."""
    adults, kids, p, q = between(rng, 5, 40), between(rng, 5, 60), between(rng, 8, 15), between(rng, 3, 7)
    return Problem(
        f"{a} and {b} sold {adults + kids} tickets for ${adults * p + kids * q}. Adult tickets cost ${p} and child"
        f" tickets ${q}. How many of each?",
        (
            ("set it up", f"`x + y = {adults + kids}` and `{p}x + {q}y = {adults * p + kids * q}`"),
            ("substitute", f"`{p}x + {q}({adults + kids} - x) = {adults * p + kids * q}`"),
            ("so", f"`x = {adults}, y = {kids}`"),
        ),
        "systems of equations",
        f"`x = {kids}, y = {adults}`",
    )


def exponents(rng: Random, a: str, b: str) -> Problem:
    """Laws of exponents."""
    m, n, k, v = between(rng, 3, 12), between(rng, 2, 9), between(rng, 2, 4), rng.choice("xyab")
    return Problem(
        f"Simplify `({v}^{m} * {v}^{n})^{k}`",
        (
            ("inside first. multiply means", f"add, `{v}^{m + n}`"),
            ("then power to a power", f"multiply, `{v}^{(m + n) * k}`"),
        ),
        "exponent rules",
        f"`{v}^{m + n + k}`",
    )


def radicals(rng: Random, a: str, b: str) -> Problem:
    """A root made simpler."""
    k, n = between(rng, 2, 9), rng.choice((2, 3, 5, 6, 7, 10, 11))
    return Problem(
        f"Simplify `√{k * k * n}`",
        (("what's the biggest perfect square inside?", f"`{k * k}`"), ("so", f"`√{k * k * n} = {k}√{n}`")),
        "simplifying radicals",
        f"`{n}√{k}`",
    )


def complex_numbers(rng: Random, a: str, b: str) -> Problem:
    """A product of complex numbers."""
    p, q, r, s = (between(rng, 1, 7) for _ in range(4))
    return Problem(
        f"Multiply `({p} + {q}i)({r} - {s}i)`",
        (
            ("FOIL it", f"`{p * r} - {p * s}i + {q * r}i - {q * s}i^2`"),
            ("and `i^2` is?", "`i^2 = -1`"),
            ("so", f"`{p * r + q * s} {signed(q * r - p * s)}i`"),
        ),
        "complex numbers",
        f"`{p * r - q * s} {signed(q * r - p * s)}i`",
    )


def sequences(rng: Random, a: str, b: str) -> Problem:
    """An arithmetic sequence."""
    s, d, n = between(rng, -5, 20), between(rng, -6, 9, but=(0,)), between(rng, 10, 60)
    shown = ", ".join(str(s + d * i) for i in range(4))
    return Problem(
        f"Find the {n}th term of `{shown}, ...`",
        (
            ("what's the common difference?", f"`d = {d}`"),
            ("formula?", "`a_n = a_1 + (n - 1)d`"),
            ("plug in", f"`a_{n} = {s} + {n - 1} * ({d}) = {s + (n - 1) * d}`"),
        ),
        "arithmetic sequences",
        f"`{s + n * d}`",
    )


def growth(rng: Random, a: str, b: str) -> Problem:
    """A doubling."""
    n, k = between(rng, 2, 30) * 10, between(rng, 2, 7)
    return Problem(
        f"A population of {n} bacteria doubles every hour. How many are there after {k} hours?",
        (("what's the model?", f"`P(t) = {n} * 2^t`"), (f"at t = {k}", f"`{n} * 2^{k} = {n * 2**k}`")),
        "exponential growth",
        f"`{n * 2 * k}`",
    )


ALGEBRA: tuple[Kind, ...] = (
    two_step,
    both_sides,
    consecutive,
    inequality,
    factor,
    quadratic_formula,
    foil,
    system,
    ticket_system,
    exponents,
    radicals,
    complex_numbers,
    sequences,
    growth,
)
