"""Problems of geometry and trigonometry."""

# ruff: noqa: ARG001  a problem may need both names, one, or none

from __future__ import annotations

from fractions import Fraction
from random import Random

from tamis.pii.invented.problem import Kind, Problem, between, number


def pythagoras(rng: Random, a: str, b: str) -> Problem:
    """A right triangle."""
    p, q, r = rng.choice(((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25), (20, 21, 29), (9, 40, 41)))
    k = between(rng, 1, 4)
    p, q, r = p * k, q * k, r * k
    return Problem(
        f"A ladder leans on a wall: its foot is {p} ft from the wall and its top {q} ft up. How long is the"
        " ladder?",
        (
            ("which theorem?", f"pythagorean theorem, `{p}^2 + {q}^2 = c^2`"),
            ("add the squares", f"`{p * p} + {q * q} = {r * r}`"),
            ("square root", f"`c = {r}` ft"),
        ),
        "the Pythagorean theorem",
        f"`c = {p + q}`",
    )


def triangle_angles(rng: Random, a: str, b: str) -> Problem:
    """The third angle."""
    p, q = between(rng, 25, 80), between(rng, 25, 80)
    x, y, z = rng.choice(("ABC", "PQR", "XYZ", "JKL"))
    return Problem(
        f"In triangle {x}{y}{z}, angle {x} is {p}° and angle {y} is {q}°. Find angle {z}.",
        (
            ("what do the angles add up to?", "180°"),
            ("so", f"`180 - {p} - {q} = {180 - p - q}`, angle {z} is {180 - p - q}°"),
        ),
        "angles of a triangle",
        f"{p + q}°",
    )


def circle(rng: Random, a: str, b: str) -> Problem:
    """The area of a circle."""
    r = between(rng, 2, 20)
    return Problem(
        f"A round garden has radius {r} m. Find its area and circumference in terms of π.",
        (("area formula?", f"`A = πr^2 = {r * r}π`"), ("circumference", f"`C = 2πr = {2 * r}π`")),
        "circles",
        f"`A = {2 * r}π`",
    )


def rectangle(rng: Random, a: str, b: str) -> Problem:
    """Perimeter and area of a rectangle."""
    w, k = between(rng, 3, 20), between(rng, 2, 12)
    long = w + k
    return Problem(
        f"{a}'s rectangular garden is {k} feet longer than it is wide. The perimeter is {2 * (w + long)} feet."
        " Find the area.",
        (
            ("set up the perimeter", f"`2w + 2(w + {k}) = {2 * (w + long)}`"),
            ("solve for w", f"`w = {w}`"),
            ("area?", f"`{w} * {long} = {w * long}` square feet"),
        ),
        "area and perimeter",
        f"`{2 * (w + long)}`",
    )


def volume(rng: Random, a: str, b: str) -> Problem:
    """A cylinder."""
    r, h = between(rng, 2, 12), between(rng, 3, 20)
    return Problem(
        f"Find the volume of a cylinder with radius {r} cm and height {h} cm (leave π in).",
        (("formula?", "`V = πr^2h`"), ("plug in", f"`V = π * {r}^2 * {h} = {r * r * h}π` cm^3")),
        "volume",
        f"`{r * h}π`",
    )


def distance(rng: Random, a: str, b: str) -> Problem:
    """Between two points."""
    x, y = between(rng, -9, 9), between(rng, -9, 9)
    p, q, r = rng.choice(((3, 4, 5), (5, 12, 13), (6, 8, 10), (8, 15, 17)))
    return Problem(
        f"How far is it from `A({x}, {y})` to `B({x + p}, {y + q})`?",
        (
            ("distance formula", f"`d = √({p}^2 + {q}^2)`"),
            ("so", f"`d = √{p * p + q * q} = {r}`"),
            ("and the midpoint?", f"`({number(Fraction(2 * x + p, 2))}, {number(Fraction(2 * y + q, 2))})`"),
        ),
        "the distance formula",
        f"`d = {p + q}`",
    )


def trigonometry(rng: Random, a: str, b: str) -> Problem:
    """A ratio in a right triangle."""
    p, q, r = rng.choice(((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25)))
    return Problem(
        f"In a right triangle the legs are {p} and {q}, and θ is opposite the leg {p}. Find `sin(θ)`, `cos(θ)` and"
        " `tan(θ)`",
        (
            ("hypotenuse first", f"`√({p * p} + {q * q}) = {r}`"),
            ("SOH CAH TOA", f"`sin(θ) = {p}/{r}`, `cos(θ) = {q}/{r}`, `tan(θ) = {p}/{q}`"),
        ),
        "trigonometry",
        f"`sin(θ) = {q}/{r}`",
    )


def transformations(rng: Random, a: str, b: str) -> Problem:
    """A point moved and mirrored."""
    x, y, h, k = (between(rng, -8, 8, but=(0,)) for _ in range(4))
    return Problem(
        f"Point `P({x}, {y})` is translated by `({h}, {k})` and then reflected over the x-axis. Where is it?",
        (
            ("translate first", f"`({x + h}, {y + k})`"),
            ("reflect over x-axis means y changes sign", f"`P'({x + h}, {-y - k})`"),
        ),
        "transformations",
        f"`({-x - h}, {y + k})`",
    )


def similar(rng: Random, a: str, b: str) -> Problem:
    """A shadow."""
    h, s, k = between(rng, 4, 6), between(rng, 2, 9), between(rng, 2, 9)
    return Problem(
        f"{a} is {h} ft tall and casts a {s} ft shadow. A tree casts a {s * k} ft shadow. How tall is the tree?",
        (
            ("set up the proportion", f"`{h}/{s} = x/{s * k}`"),
            ("cross multiply", f"`{s}x = {h * s * k}`"),
            ("so", f"`x = {h * k}` ft"),
        ),
        "similar triangles",
        f"`x = {s * k - s + h}`",
    )


GEOMETRY: tuple[Kind, ...] = (
    pythagoras,
    triangle_angles,
    circle,
    rectangle,
    volume,
    distance,
    trigonometry,
    transformations,
    similar,
)
