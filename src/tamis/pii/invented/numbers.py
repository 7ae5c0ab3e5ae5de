"""Problems of arithmetic, fractions, ratios and statistics."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import gcd
from random import Random

from tamis.pii.invented.problem import Problem, between, decimal, number

Kind = Callable[[Random, str, str], Problem]
_THINGS = (
    "apples",
    "stickers",
    "pencils",
    "marbles",
    "cookies",
    "trading cards",
    "books",
    "tickets",
    "beads",
    "muffins",
    "seashells",
    "coins",
    "balloons",
    "LEGO bricks",
    "tacos",
    "tomatoes",
    "erasers",
)
_SHOPS = (
    "a bakery",
    "the school store",
    "a farm stand",
    "the snack bar",
    "a bookshop",
    "the arcade",
    "a food truck",
)


def give_and_get(rng: Random, a: str, b: str) -> Problem:
    """Take away, then add."""
    thing, n = rng.choice(_THINGS), between(rng, 30, 95)
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
    thing, shop = rng.choice(_THINGS), rng.choice(_SHOPS)
    text = f"At {shop}, {a} packs {p} boxes with {q} {thing} each. Then {b} shares them equally among {d} tables. How many does each table get?"
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
    p, q, r = between(rng, 900, 999), between(rng, 10, 99), between(rng, 1000, 9999)
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
                f"`{left + right}/{low} = {number(Fraction(p, q) + Fraction(r, s))}`"
                if Fraction(p, q) + Fraction(r, s) != Fraction(left + right, low) or gcd(left + right, low) > 1
                else f"`{left + right}/{low}`",
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
                f"`{p * s}/{q * r} = {number(Fraction(p * s, q * r))}`"
                if gcd(p * s, q * r) > 1
                else f"`{p * s}/{q * r}`",
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
    n, thing = q * unit, rng.choice(_THINGS)
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
        f"A recipe uses {p} cups of flour for every {q} cups of milk. {a} uses {q * k} cups of milk. How much flour is needed?",
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
        f"In `{n:,}`, what is the value of the digit in the {('ones', 'tens', 'hundreds', 'thousands', 'ten thousands', 'hundred thousands', 'millions', 'ten millions', 'hundred millions')[k]} place?",
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


NUMBERS: tuple[Kind, ...] = (
    give_and_get, boxes, long_division, order_of_operations, big_sum, ssn_like, phone_like, luhn_like, scientific, add_fractions, divide_fractions, date_like, fraction_of, mixed_numbers, recipe_ratio, unit_rate,
    percent_off, percent_change, mean_median, probability, two_dice, standard_deviation, rounding, time_sum, age_riddle, versions, place_value, lcm_gcf,
)  # fmt: skip
