"""Problems of functions and calculus."""

# ruff: noqa: ARG001  a problem may need both names, one, or none

from __future__ import annotations

from fractions import Fraction
from random import Random

from tamis.pii.invented.problem import Kind, Problem, between, number, signed, times


def logs(rng: Random, a: str, b: str) -> Problem:
    """An exponential equation."""
    base, n = rng.choice((2, 3, 4, 5, 10)), between(rng, 2, 5)
    return Problem(
        f"Solve `log_{base}(x) = {n}`",
        (("rewrite it as an exponent", f"`x = {base}^{n}`"), ("which is", f"`x = {base**n}`")),
        "logarithms",
        f"`x = {base * n}`",
    )


def slope(rng: Random, a: str, b: str) -> Problem:
    """The slope between two points."""
    x, y, m, run = between(rng, -6, 6), between(rng, -6, 6), between(rng, -5, 5), between(rng, 1, 6)
    rise = m * run
    return Problem(
        f"Find the slope of the line through `({x}, {y})` and `({x + run}, {y + rise})`",
        (
            ("what's the formula?", "`m = (y2 - y1)/(x2 - x1)`"),
            ("plug in", f"`m = {rise}/{run} = {m}`"),
            ("and the y-intercept?", f"`b = {y} - ({m})({x}) = {y - m * x}`"),
        ),
        "slope",
        f"`m = {number(Fraction(run, rise)) if rise else 'undefined'}`",
    )


def evaluate(rng: Random, a: str, b: str) -> Problem:
    """A value of a function."""
    p, q, r, x = (
        between(rng, 1, 5),
        between(rng, -9, 9, but=(0,)),
        between(rng, -9, 9, but=(0,)),
        between(rng, -5, 5),
    )
    f = rng.choice("fghpQ")
    return Problem(
        f"If `{f}(x) = {times(p, 'x^2')} {signed(q)}x {signed(r)}`, find `{f}({x})`",
        (
            (f"put {x} in for x", f"`{f}({x}) = {p}({x})^2 {signed(q)}({x}) {signed(r)}`"),
            ("square first", f"`({x})^2 = {x * x}`"),
            ("and the total", f"`{f}({x}) = {p * x * x + q * x + r}`"),
        ),
        "evaluating functions",
        f"`{p * x + q * x + r}`",
    )


def composition(rng: Random, a: str, b: str) -> Problem:
    """A function of a function."""
    p, q, r, x = between(rng, 2, 6), between(rng, -9, 9, but=(0,)), between(rng, 1, 9), between(rng, 1, 6)
    return Problem(
        f"`f(x) = {p}x {signed(q)}` and `g(x) = x^2 - {r}`. Find `f(g({x}))`",
        (
            ("inside first", f"`g({x}) = {x * x - r}`"),
            ("then f of that", f"`f({x * x - r}) = {p * (x * x - r) + q}`"),
        ),
        "composition of functions",
        f"`g(f({x})) = {(p * x + q) ** 2 - r}`",
    )


def vertex(rng: Random, a: str, b: str) -> Problem:
    """The vertex, and max or min."""
    h, k, p = between(rng, -6, 6, but=(0,)), between(rng, -9, 9, but=(0,)), rng.choice((-3, -2, -1, 1, 2, 3))
    return Problem(
        f"Find the vertex of `y = {p}(x {signed(-h)})^2 {signed(k)}`",
        (
            ("what's h? watch the sign", f"`h = {h}`"),
            ("and k?", f"`k = {k}`, so the vertex is `({h}, {k})`"),
            (
                "is it a max or a min?",
                f"a {'max' if p < 0 else 'min'} because a is {'negative' if p < 0 else 'positive'}",
            ),
        ),
        "quadratic functions",
        f"`({-h}, {k})`",
    )


def derivative(rng: Random, a: str, b: str) -> Problem:
    """A polynomial's derivative."""
    p, n, q, x = between(rng, 2, 7), between(rng, 2, 5), between(rng, -9, 9, but=(0,)), between(rng, -2, 3)
    power = f"{p * n}x^{n - 1}" if n > 2 else f"{p * n}x"
    return Problem(
        f"Find `f'(x)` for `f(x) = {p}x^{n} {signed(q)}x`, and `f'({x})`",
        (
            ("power rule on the first term", f"`{power}`"),
            ("whole derivative", f"`f'(x) = {power} {signed(q)}`"),
            (f"at {x}", f"`f'({x}) = {p * n * x ** (n - 1) + q}`"),
        ),
        "derivatives",
        f"`{p}x^{n - 1}`",
    )


def product_rule(rng: Random, a: str, b: str) -> Problem:
    """A product's derivative."""
    n, f, g = between(rng, 2, 5), *rng.choice((("sin(x)", "cos(x)"), ("e^x", "e^x"), ("ln(x)", "1/x")))
    return Problem(
        f"Differentiate `y = x^{n} * {f}`",
        (
            ("product rule says", "`(uv)' = u'v + uv'`"),
            ("u' and v'?", f"`u' = {n}x^{n - 1}`, `v' = {g}`".replace("^1`", "`")),
            ("so dy/dx is", f"`{n}x^{n - 1} * {f} + x^{n} * {g}`".replace("x^1 ", "x ")),
        ),
        "the product rule",
        f"`{n}x^{n - 1} * {g}`",
    )


def integral(rng: Random, a: str, b: str) -> Problem:
    """A definite integral."""
    n, top = between(rng, 1, 3), between(rng, 1, 4)
    c = (n + 1) * between(rng, 1, 4)
    inner = f"{c}x^{n}" if n > 1 else f"{c}x"
    return Problem(
        f"Evaluate the integral of `{inner}` from 0 to {top}",
        (
            ("antiderivative?", f"`F(x) = {c // (n + 1)}x^{n + 1}`"),
            ("plug in the limits", f"`F({top}) - F(0) = {c // (n + 1) * top ** (n + 1)}`"),
        ),
        "integrals",
        f"`{c * top**n}`",
    )


def limit(rng: Random, a: str, b: str) -> Problem:
    """A limit with a hole."""
    k = between(rng, 1, 9)
    return Problem(
        f"Find `lim x->{k} (x^2 - {k * k})/(x - {k})`",
        (
            ("what happens if you plug in?", "you get `0/0`"),
            ("so factor", f"`(x - {k})(x + {k})/(x - {k}) = x + {k}`"),
            ("and now plug in", f"`{k} + {k} = {2 * k}`"),
        ),
        "limits",
        "`0`",
    )


FUNCTIONS: tuple[Kind, ...] = (
    logs,
    slope,
    evaluate,
    composition,
    vertex,
    derivative,
    product_rule,
    integral,
    limit,
)
