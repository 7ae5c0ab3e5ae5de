"""What stands in papers and machines: dates of birth, ages, numbers of people, cards and IP addresses."""

# ruff: noqa: ARG001  a value may hang on its owner, or not

from __future__ import annotations

from random import Random

from tamis.pii.invented.owner import Owner, code
from tamis.pii.invented.words import digits_in_words, in_words, ordinal, suffixed

_MONTHS = (
    [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    [
        "enero",
        "febrero",
        "marzo",
        "abril",
        "mayo",
        "junio",
        "julio",
        "agosto",
        "septiembre",
        "octubre",
        "noviembre",
        "diciembre",
    ],
)


def _birth(rng: Random, owner: Owner) -> tuple[int, int, int]:
    year = rng.randrange(1960, 2002) if owner.adult else rng.randrange(2005, 2019)
    return year, rng.randrange(1, 13), rng.randrange(1, 29)


def birth_date(rng: Random, owner: Owner, half: str) -> str:
    """A whole date of birth."""
    y, m, d = _birth(rng, owner)
    month, short = _MONTHS[0][m - 1], f"{y % 100:02d}"
    said = (
        f"{month} {ordinal(d)},"
        f" {'two thousand ' + in_words(y - 2000) if y > 2000 else 'nineteen ' + in_words(y % 100)}"
        if y != 2000
        else f"{month} {d}, 2000"
    )
    shapes = (
        f"{month} {d}, {y}",
        f"{m}/{d}/{y}",
        f"{m:02d}/{d:02d}/{y}",
        f"{m}/{d}/{short}",
        f"{y}-{m:02d}-{d:02d}",
        f"{d} {month} {y}",
        f"{month[:3]} {d} {y}",
        f"{d:02d}.{m:02d}.{y}",
        f"{m}-{d}-{y}",
        f"{month} {suffixed(d)}, {y}",
        f"{suffixed(d)} of {month} {y}",
        f"{month} {suffixed(d)} {y}",
        f"{d}-{month[:3]}-{short}",
        f"{m:02d}{d:02d}{y}",
        said,
        f"{month[:3]}. {d}, {y}",
        f"{month} {d} '{short}",
        f"{m}.{d}.{short}",
    )
    return rng.choices(shapes, (5, 5, 3, 4, 3, 2, 2, 1, 2, 3, 1, 2, 1, 1, 2, 1, 1, 1))[0]


def birthday(rng: Random, owner: Owner, half: str) -> str:
    """A date of birth without its year, or without its day."""
    y, m, d = _birth(rng, owner)
    month = _MONTHS[0][m - 1]
    shapes = (
        f"{month} {suffixed(d)}",
        f"{month} {d}",
        f"{m}/{d}",
        f"the {suffixed(d)} of {month}",
        f"{month[:3]} {d}",
        f"{month} {ordinal(d)}",
        f"{d} {month}",
        f"{month} {y}",
        f"{m:02d}/{d:02d}",
        f"{month} the {suffixed(d)}",
    )
    return rng.choices(shapes, (6, 5, 4, 2, 3, 3, 1, 1, 1, 2))[0]


def birthday_es(rng: Random, owner: Owner, half: str) -> str:
    """The same in Spanish."""
    y, m, d = _birth(rng, owner)
    month = _MONTHS[1][m - 1]
    return rng.choice((f"{d} de {month}", f"{d} de {month} de {y}", f"{d} de {month} del {y}", f"{d}/{m}/{y}"))


def birth_year(rng: Random, owner: Owner, half: str) -> str:
    """A year of birth."""
    return str(_birth(rng, owner)[0])


def age(rng: Random, owner: Owner, half: str) -> str:
    """An age in digits."""
    return str(rng.randrange(22, 79) if owner.adult else rng.randrange(6, 19))


def age_words(rng: Random, owner: Owner, half: str) -> str:
    """An age in words."""
    return in_words(rng.randrange(22, 79) if owner.adult else rng.randrange(6, 19))


def student_id(rng: Random, owner: Owner, half: str) -> str:
    """A student's number."""
    return code(
        rng,
        rng.choice(
            (
                "000000",
                "0000000",
                "00000000",
                "000000000",
                "S0000000",
                "A00-000-000",
                "00-00000",
                "STU-00000",
                "2000-0000",
                "N00000000",
                "000 000 000",
                "00000",
                "LN0000000",
                "u0000000",
                "0000-000",
            )
        ),
    )


def card_number(rng: Random, owner: Owner, half: str) -> str:
    """A library card's number, or that of another account."""
    return code(
        rng,
        rng.choice(
            (
                "2 0000 00000 0000",
                "20000000000000",
                "LIB-000000",
                "0000000000",
                "B0000000",
                "000-000-0000-0",
                "21000 00000 0000",
                "L000-00",
                "00000-000",
                "P-0000000",
            )
        ),
    )


def lunch_number(rng: Random, owner: Owner, half: str) -> str:
    """A lunch number or PIN."""
    return code(rng, rng.choice(("0000", "00000", "000000", "00-00", "0000")))


def meeting_id(rng: Random, owner: Owner, half: str) -> str:
    """A meeting's number."""
    return code(
        rng,
        rng.choice(
            (
                "000 0000 0000",
                "000 000 0000",
                "00000000000",
                "000-000-000",
                "000-0000-0000",
                "0000000000",
                "000 000 000",
            )
        ),
    )


def ssn(rng: Random, owner: Owner, half: str) -> str:
    """A social security number that is never issued."""
    a, b, c = rng.randrange(900, 1000), rng.randrange(1, 100), rng.randrange(1, 10000)
    shapes = (
        f"{a}-{b:02d}-{c:04d}",
        f"{a} {b:02d} {c:04d}",
        f"{a}{b:02d}{c:04d}",
        f"{a}.{b:02d}.{c:04d}",
        digits_in_words(f"{a}{b:02d}{c:04d}"),
        f"{a} - {b:02d} - {c:04d}",
    )
    return rng.choices(shapes, (8, 3, 3, 1, 1, 1))[0]


def ip_address(rng: Random, owner: Owner, half: str) -> str:
    """An IP address."""
    end = rng.randrange(1, 255)
    shapes = (
        f"192.0.2.{end}",
        f"198.51.100.{end}",
        f"203.0.113.{end}",
        f"10.{rng.randrange(256)}.{rng.randrange(256)}.{end}",
        f"192.168.{rng.randrange(3)}.{end}",
        f"172.16.{rng.randrange(99)}.{end}",
        f"2001:db8::{rng.randrange(1, 65535):x}",
        f"2001:db8:{rng.randrange(65535):x}:{rng.randrange(65535):x}::{end}",
        f"10.0.0.{end}",
    )
    return rng.choices(shapes, (4, 4, 4, 4, 2, 1, 1.5, 1.5, 2))[0]


def credit_card(rng: Random, owner: Owner, half: str) -> str:
    """A public test number of a card."""
    digits = rng.choice(
        (
            "4111111111111111",
            "4242424242424242",
            "5555555555554444",
            "378282246310005",
            "6011111111111117",
            "371449635398431",
            "4012888888881881",
            "5105105105105100",
            "3566002020360505",
            "4000056655665556",
            "5200828282828210",
            "2223003122003222",
            "6011000990139424",
            "30569309025904",
            "38520000023237",
            "3530111333300000",
        )
    )
    cuts = (4, 10) if len(digits) in (14, 15) else (4, 8, 12)
    parts = [digits[i:j] for i, j in zip((0, *cuts), (*cuts, len(digits)), strict=True)]
    return rng.choices(
        (" ".join(parts), "-".join(parts), digits, ".".join(parts), digits_in_words(digits)), (6, 4, 4, 0.3, 0.4)
    )[0]
