"""Problems of whole numbers and decimals, some of whose numbers look like something else."""

# ruff: noqa: ARG001  a problem may need both names, one, or none

from __future__ import annotations

from fractions import Fraction
from math import gcd
from random import Random

from tamis.pii.invented.problem import THINGS, Kind, Problem, between, decimal

_SHOPS = (
    "a bakery",
    "the school store",
    "a farm stand",
    "the snack bar",
    "a bookshop",
    "the arcade",
    "a food truck",
)

_PLACES = (
    *("ones", "tens", "hundreds", "thousands", "ten thousands", "hundred thousands"),
    *("millions", "ten millions", "hundred millions"),
)


def give_and_get(rng: Random, a: str, b: str) -> Problem:
    """Take away, then add."""
    thing, n = rng.choice(THINGS), between(rng, 30, 95)
    k, m = between(rng, 5, n - 10), between(rng, 4, 40)
    text = f"{a} has {n} {thing}. {a} gives {k} to {b} and then buys {m} more. How many {thing} does {a} have now?"
    return Problem(
        text,
        (
            (f"how many {thing} are left after {a} gives some to {b}?", f"`{n} - {k} = {n - k}`"),
            (f"and after {a} buys {m} more?", f"`{n - k} + {m} = {n - k + m}`"),
        ),
        "word problems",
        f"`{n - k - m}`",
    )


def boxes(rng: Random, a: str, b: str) -> Problem:
    """Multiply, then divide."""
    p, q = between(rng, 3, 12), between(rng, 4, 15)
    d = rng.choice([k for k in range(2, p * q) if p * q % k == 0 and k != p and k != q] or [1])
    thing, shop = rng.choice(THINGS), rng.choice(_SHOPS)
    text = (
        f"At {shop}, {a} packs {p} boxes with {q} {thing} each. Then {b} shares them equally among {d} tables. How"
        " many does each table get?"
    )
    return Problem(
        text,
        (
            ("how many in all?", f"`{p} * {q} = {p * q}`"),
            (f"then split it among {d} tables", f"`{p * q} / {d} = {p * q // d}`"),
        ),
        "multiplication and division",
        f"`{p + q}`",
    )


def long_division(rng: Random, a: str, b: str) -> Problem:
    """A quotient with a remainder."""
    d, q = between(rng, 6, 29), between(rng, 31, 980)
    r = between(rng, 1, d - 1)
    n = d * q + r
    return Problem(
        f"Divide `{n} / {d}`. Give the quotient and the remainder.",
        (
            (f"what is the biggest multiple of {d} that fits?", f"`{d} * {q} = {d * q}`"),
            ("so what's left over?", f"`{n} - {d * q} = {r}`, so {q} remainder {r}"),
        ),
        "long division",
        f"{q} r {d - r}",
    )


def order_of_operations(rng: Random, a: str, b: str) -> Problem:
    """Brackets and powers before the rest."""
    p, q, r, s = between(rng, 2, 12), between(rng, 2, 9), between(rng, 2, 9), between(rng, 1, 9)
    inner, square = q + r, s * s
    return Problem(
        f"Evaluate `{p} * ({q} + {r}) - {s}^2`",
        (
            ("what do we do first?", f"the parentheses, `{q} + {r} = {inner}`"),
            ("now the exponent?", f"`{s}^2 = {square}`"),
            ("finish it", f"`{p} * {inner} - {square} = {p * inner - square}`"),
        ),
        "order of operations",
        f"`{p * q + r - square}`",
    )


def big_sum(rng: Random, a: str, b: str) -> Problem:
    """A sum of large numbers, which look like something else."""
    p, q = between(rng, 1_200_000, 9_800_000), between(rng, 1_000_000, 9_999_999)
    return Problem(
        f"Add `{p} + {q}`",
        (("line up the digits. what do you get?", f"`{p + q}`"),),
        "adding large numbers",
        f"`{p + q - 100}`",
    )


def ssn_like(rng: Random, a: str, b: str) -> Problem:
    """A difference of three numbers."""
    p, q, r = between(rng, 101, 999), between(rng, 10, 99), between(rng, 1000, 9999)
    mark = rng.choice((" - ", "-"))
    return Problem(
        f"Simplify `{mark.join(map(str, (p, q, r)))}`",
        (
            ("left to right. first two?", f"`{p} - {q} = {p - q}`"),
            ("then the last one", f"`{p - q} - {r} = {p - q - r}`"),
        ),
        "subtracting",
        f"`{r - p + q}`",
    )


def phone_like(rng: Random, a: str, b: str) -> Problem:
    """A quotient or product with as many digits as a telephone number."""
    p = between(rng, 20_000, 99_999)
    q = between(rng, 2_000_000_000 // p + 1, 9_999_999_999 // p)
    if rng.random() < 0.5:
        return Problem(
            f"What is `{p} * {q}`?",
            (("use the area model if you want", f"`{p * q}`"),),
            "multiplication",
            f"`{p * q // 10}`",
        )
    return Problem(
        f"Compute `{p * q} / {q}`",
        (("estimate first", f"about `{round(p, -3)}`"), ("and exactly?", f"`{p * q} / {q} = {p}`")),
        "division",
        f"`{p + 10}`",
    )


def luhn_like(rng: Random, a: str, b: str) -> Problem:
    """A product of sixteen digits that passes the check of cards."""
    while True:
        p, q = between(rng, 41_000_000, 99_000_000), between(rng, 51_000_000, 99_000_000)
        digits = [int(c) for c in reversed(str(p * q))]
        if (
            len(digits) == 16
            and not sum(d if i % 2 == 0 else sum(divmod(2 * d, 10)) for i, d in enumerate(digits)) % 10
        ):
            return Problem(
                f"My calculator gives `{p} * {q} = {p * q}`. How many digits does the product have?",
                (
                    ("count them", "16 digits"),
                    ("and in scientific notation, about?", f"about `{p * q / 10**15:.1f} * 10^15`"),
                ),
                "scientific notation",
                "15",
            )


def scientific(rng: Random, a: str, b: str) -> Problem:
    """A product in scientific notation."""
    p, q, m, n = between(rng, 2, 4), between(rng, 2, 3), between(rng, 3, 9), between(rng, 2, 7)
    return Problem(
        f"Multiply `({p} * 10^{m})({q} * 10^{n})`",
        (
            ("multiply the front numbers", f"`{p} * {q} = {p * q}`"),
            ("and the powers of ten?", f"add the exponents, so `10^{m + n}`"),
            ("put it together", f"`{p * q} * 10^{m + n}`"),
        ),
        "scientific notation",
        f"`{p * q} * 10^{m * n}`",
    )


def rounding(rng: Random, a: str, b: str) -> Problem:
    """A long decimal."""
    n = rng.choice((7, 11, 13, 17, 19, 23, 27, 33, 37, 41))
    p = between(rng, 1, n - 1)
    whole = f"{p / n:.8f}"
    return Problem(
        f"Write `{p}/{n}` as a decimal and round to the nearest hundredth.",
        (("what does the calculator say?", f"`{whole}`"), ("rounded?", f"`{p / n:.2f}`")),
        "rounding decimals",
        f"`{p / n:.1f}`",
    )


def versions(rng: Random, a: str, b: str) -> Problem:
    """Numbers with several points, as in the sections of a book."""
    p, q = between(rng, 1, 12), between(rng, 1, 9)
    x, y = between(rng, 2, 9), between(rng, 11, 99)
    section = rng.choice((f"{p}.{q}", f"{p}.{q}.{x}", f"{p}.{q}.{x}.{y % 10}"))
    return Problem(
        f"Exercise {section}: find `{x}.{y} + {p}.{q}`",
        (
            ("line up the decimal points", f"`{x}.{y} + {p}.{q}0`"),
            ("and add", f"`{decimal(Fraction(100 * x + y + 100 * p + 10 * q, 100))}`"),
        ),
        "adding decimals",
        f"`{x + p}.{y + q}`",
    )


def place_value(rng: Random, a: str, b: str) -> Problem:
    """A digit's worth."""
    n = between(rng, 100_000, 999_999_999)
    k = rng.randrange(len(str(n)))
    digit = int(str(n)[-1 - k])
    return Problem(
        f"In `{n:,}`, what is the value of the digit in the {_PLACES[k]} place?",
        (("which digit is that?", f"{digit}"), ("so its value is", f"`{digit * 10**k:,}`")),
        "place value",
        f"`{digit * 10 ** (k + 1):,}`",
    )


def lcm_gcf(rng: Random, a: str, b: str) -> Problem:
    """Greatest common factor and least common multiple."""
    p, q = between(rng, 6, 60), between(rng, 6, 60)
    g = gcd(p, q)
    return Problem(
        f"Find the GCF and the LCM of {p} and {q}.",
        (
            ("GCF first", f"`gcf({p}, {q}) = {g}`"),
            ("LCM is the product over the GCF", f"`{p} * {q} / {g} = {p * q // g}`"),
        ),
        "factors and multiples",
        f"`{p * q}`",
    )


def time_sum(rng: Random, a: str, b: str) -> Problem:
    """Hours and minutes."""
    h, m, k = between(rng, 1, 10), 5 * between(rng, 1, 11), between(rng, 20, 140)
    end = h * 60 + m + k
    shown = f"{(end // 60 - 1) % 12 + 1}:{end % 60:02d}"
    return Problem(
        f"{a}'s movie starts at {h}:{m:02d} and lasts {k} minutes. When does it end?",
        ((f"how many hours and minutes is {k} minutes?", f"{k // 60} h {k % 60} min"), ("so it ends at", shown)),
        "elapsed time",
        f"{h + 1}:{m:02d}",
    )


def age_riddle(rng: Random, a: str, b: str) -> Problem:
    """Ages in a word problem, which are nobody's."""
    x, k, y = between(rng, 5, 15), between(rng, 2, 4), between(rng, 2, 9)
    return Problem(
        f"{a} is {k} times as old as {b}. In {y} years {a} will be {k * x + y} years old. How old is {b} now?",
        ((f"how old is {a} now?", f"`{k * x + y} - {y} = {k * x}`"), (f"so {b} is", f"`{k * x} / {k} = {x}`")),
        "age problems",
        f"`{k * x}`",
    )


ARITHMETIC: tuple[Kind, ...] = (
    give_and_get,
    boxes,
    long_division,
    order_of_operations,
    big_sum,
    ssn_like,
    phone_like,
    luhn_like,
    scientific,
    rounding,
    versions,
    place_value,
    lcm_gcf,
    time_sum,
    age_riddle,
)
