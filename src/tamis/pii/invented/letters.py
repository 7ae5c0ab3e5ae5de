"""Problems of algebra, functions, geometry and calculus."""

from __future__ import annotations

from fractions import Fraction
from math import factorial, isqrt
from random import Random

from tamis.pii.invented.numbers import Kind
from tamis.pii.invented.problem import Problem, between, number, signed, times


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
            (f"get the x's on one side", f"`{p - r}x {signed(q)} = {s}`"),
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
        f"{a} says: three consecutive integers add up to {3 * n + 3}. Which are they?",
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
        f"{a} and {b} sold {adults + kids} tickets for ${adults * p + kids * q}. Adult tickets cost ${p} and child tickets ${q}. How many of each?",
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
            (f"then power to a power", f"multiply, `{v}^{(m + n) * k}`"),
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


def logs(rng: Random, a: str, b: str) -> Problem:
    """An exponential equation."""
    base, n = rng.choice((2, 3, 4, 5, 10)), between(rng, 2, 5)
    return Problem(
        f"Solve `log_{base}(x) = {n}`",
        (("rewrite it as an exponent", f"`x = {base}^{n}`"), ("which is", f"`x = {base**n}`")),
        "logarithms",
        f"`x = {base * n}`",
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


def pythagoras(rng: Random, a: str, b: str) -> Problem:
    """A right triangle."""
    p, q, r = rng.choice(((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25), (20, 21, 29), (9, 40, 41)))
    k = between(rng, 1, 4)
    p, q, r = p * k, q * k, r * k
    return Problem(
        f"A ladder leans on a wall: its foot is {p} ft from the wall and its top {q} ft up. How long is the ladder?",
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
        f"{a}'s rectangular garden is {k} feet longer than it is wide. The perimeter is {2 * (w + long)} feet. Find the area.",
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
        f"In a right triangle the legs are {p} and {q}, and θ is opposite the leg {p}. Find `sin(θ)`, `cos(θ)` and `tan(θ)`",
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


def permutations(rng: Random, a: str, b: str) -> Problem:
    """How many ways."""
    n = between(rng, 5, 9)
    k = between(rng, 2, 3)
    ways = factorial(n) // factorial(n - k)
    return Problem(
        f"{a}, {b} and {n - 2} others race. In how many ways can the first {k} places go?",
        (
            (f"how many choices for first?", f"{n}"),
            ("multiply", f"`{' * '.join(str(n - i) for i in range(k))} = {ways}`"),
        ),
        "permutations",
        f"`{n}! = {factorial(n)}`",
    )


LETTERS: tuple[Kind, ...] = (
    two_step, both_sides, consecutive, inequality, factor, quadratic_formula, foil, system, ticket_system, exponents, radicals, logs, complex_numbers, slope, evaluate, composition, vertex, sequences, growth, pythagoras,
    triangle_angles, circle, rectangle, volume, distance, trigonometry, transformations, similar, derivative, product_rule, integral, limit, permutations,
)  # fmt: skip
