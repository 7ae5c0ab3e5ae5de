"""Invented personal data: telephone numbers, mail, dates of birth and the rest, in many shapes.

Nothing here can be somebody's: telephone numbers are 555-01xx, hosts are example.com, .org and .net, cards are public
test numbers, social security numbers begin with 9, and IP addresses are of the documentation or private ranges.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any, Protocol
from unicodedata import normalize

import yaml

from tamis.pii.invented.halves import only
from tamis.pii.invented.words import digits_in_words, in_words, ordinal, suffixed

_HOSTS = ("example.com", "example.org", "example.net")
_MONTHS = (
    "January February March April May June July August September October November December".split(),
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
)


class Owner(Protocol):
    """Whose data it is."""

    first: str
    last: str
    adult: bool

    def said(self, form: str) -> str:
        """The text of another value of the same person."""
        ...


@cache
def _places() -> dict[str, Any]:
    return dict(yaml.safe_load(files("tamis.pii.invented").joinpath("places.yaml").read_text(encoding="utf-8")))


def _one(rng: Random, half: str, name: str) -> str:
    return rng.choice(only(_places()[name], half))


def _plain(text: str) -> str:
    """A name in the letters that handles have."""
    text = text.replace("ł", "l").replace("ø", "o").replace("đ", "d").replace("Đ", "D")
    return re.sub(r"[^a-z]", "", normalize("NFKD", text).lower()) or "kid"


def phone(rng: Random, owner: Owner, half: str) -> str:
    """A telephone number, of which `phone_a` and `phone_b` are the halves."""
    area, line = rng.randrange(201, 990), f"01{rng.randrange(100):02d}"
    shapes = (
        f"{area}-555-{line}", f"({area}) 555-{line}", f"{area}.555.{line}", f"{area} 555 {line}", f"{area}555{line}",
        f"+1 {area} 555 {line}", f"+1-{area}-555-{line}", f"1-{area}-555-{line}", f"+1{area}555{line}", f"1 ({area}) 555-{line}",
        f"555-{line}", f"555 {line}", f"555{line}", f"({area})555-{line}", f"{area}/555-{line}", f"{area}-555 {line}",
        f"555-{line} ext. {rng.randrange(10, 999)}", f"{' '.join(str(area))} 5 5 5 {' '.join(line)}", f"{area} - 555 - {line}",
    )  # fmt: skip
    return rng.choices(shapes, (9, 6, 4, 4, 4, 2, 2, 2, 1, 1, 3, 1, 1, 2, 1, 2, 1, 1.5, 1))[0]


def phone_words(rng: Random, owner: Owner, half: str) -> str:
    """The same in words."""
    area, line = str(rng.randrange(201, 990)), f"01{rng.randrange(100):02d}"
    nought = rng.choice(("zero", "oh", "o"))
    pair = in_words(int(line[2:])) if line[2] != "0" else digits_in_words(line[2:], nought)
    comma = rng.choice((" ", " ", ", ", " - "))
    groups = [digits_in_words(area, nought), "triple five" if rng.random() < 0.15 else digits_in_words("555")]
    groups.append(digits_in_words(line, nought) if rng.random() < 0.6 else f"{nought} one {pair}")
    return comma.join(groups[rng.random() < 0.15 :])


def phone_long(rng: Random, owner: Owner, half: str) -> str:
    """A number with its area code; a bar stands where it is cut in two."""
    area, line = str(rng.randrange(201, 990)), f"01{rng.randrange(100):02d}"
    mark = rng.choice("- .")
    words, last = digits_in_words(area), digits_in_words(line, rng.choice(("zero", "oh")))
    shapes = (
        f"{area}{mark}|555{mark}{line}",
        f"({area})|555-{line}",
        f"{area}{mark}555|{line}",
        f"{area}|555{line}",
        f"555|{line}",
        f"{words}|five five five {last}",
        f"{area} 5|55 {line}",
        f"{words} 555|{last}",
    )
    return rng.choice(shapes)


def phone_a(rng: Random, owner: Owner, half: str) -> str:
    """Its first half."""
    return owner.said("phone_long").partition("|")[0].strip(" -.")


def phone_b(rng: Random, owner: Owner, half: str) -> str:
    """Its second half."""
    return owner.said("phone_long").partition("|")[2].strip(" -.")


def _handle(rng: Random, owner: Owner, half: str) -> str:
    first, last, n = (
        _plain(owner.first),
        _plain(owner.last),
        rng.choice((rng.randrange(1, 99), rng.randrange(1990, 2017))),
    )
    word, other = _one(rng, half, "handle_words"), _one(rng, half, "handle_words")
    shapes = (f"{first}{n}", f"{first}_{last}", f"{first}.{last}", f"{first[0]}{last}{n}", f"{word}{other}{n}", f"{word}_{first}", f"its{first}",
              f"{word}.{other}", f"xx_{word}_xx", f"{word}{n}", f"{first}{word}", f"the_real_{first}", f"{last}{first[0]}", f"{word}-{other}-{n}",
              f"{first}_{n}_", f"not{first}{n}", f"{word.title()}{other.title()}", f"{first.title()}{n}YT", f"{word}gamer{n}", f"{last}.fam")  # fmt: skip
    return rng.choice(shapes)


def username(rng: Random, owner: Owner, half: str) -> str:
    """An account's name without an at sign."""
    made = _handle(rng, owner, half)
    if made.isalpha() and rng.random() < 0.7:
        made += str(rng.randrange(1, 999))
    return made + (f"#{rng.randrange(1000, 9999)}" if rng.random() < 0.08 else "")


def at_name(rng: Random, owner: Owner, half: str) -> str:
    """An account's name with its at sign."""
    return f"@{_handle(rng, owner, half)}"


def email(rng: Random, owner: Owner, half: str) -> str:
    """A mail address."""
    first, last = _plain(owner.first), _plain(owner.last)
    local = rng.choice((f"{first}.{last}", f"{first}{last}", f"{first[0]}{last}", f"{first}_{last}", f"{first}{rng.randrange(100)}", f"{last}.{first}",
                        f"{first}+{_one(rng, half, 'handle_words')}", _handle(rng, owner, half), f"{first}.{last}{rng.randrange(20, 30)}", f"{first}-{last}"))  # fmt: skip
    host = rng.choice(_HOSTS)
    host = rng.choices(
        (host, f"{rng.choice(('mail', 'students', 'school', 'k12', 'family', 'my'))}.{host}"), (3, 1)
    )[0]
    return rng.choices((f"{local}@{host}", f"{local}@{host}".upper(), f"{local.title()}@{host}"), (12, 1, 1))[0]


def email_words(rng: Random, owner: Owner, half: str) -> str:
    """A mail address as it is said."""
    first, last = _plain(owner.first), _plain(owner.last)
    local = rng.choice(
        (
            f"{first} dot {last}",
            f"{first}{last}",
            f"{first} underscore {last}",
            f"{first} {in_words(rng.randrange(1, 99))}",
            f"{first[0]} {last}",
        )
    )
    return f"{local} at example dot {rng.choice(('com', 'org', 'net'))}"


def _code(rng: Random, shape: str) -> str:
    letters = "abcdefghijkmnpqrstuvwxyz"
    return "".join(rng.choice(letters) if c == "a" else str(rng.randrange(10)) if c == "0" else c for c in shape)


def _scheme(rng: Random) -> str:
    return rng.choices(("https://", "http://", "", "www."), (10, 1, 4, 2))[0]


def meeting_url(rng: Random, owner: Owner, half: str) -> str:
    """A private room's link."""
    host = rng.choice(_HOSTS)
    scheme = _scheme(rng)
    where = rng.choice((f"meet.{host}/{_code(rng, 'aaa-aaaa-aaa')}", f"{host}/j/{_code(rng, '00000000000')}", f"zoom.{host}/j/{_code(rng, '0000000000')}?pwd={_code(rng, 'a0a0a0')}",
                        f"{host}/room/{_plain(owner.first)}", f"call.{host}/{_code(rng, 'a0a0-aa')}", f"video.{host}/join/{_code(rng, 'aaaaa')}", f"board.{host}/{_code(rng, '0a0a0a')}"))  # fmt: skip
    return ("" if scheme == "www." and where[0] != "e" else scheme) + where


def document_url(rng: Random, owner: Owner, half: str) -> str:
    """A private document's link."""
    host, scheme = rng.choice(_HOSTS), _scheme(rng)
    where = rng.choice((f"docs.{host}/d/{_code(rng, 'a0a0aa00a0')}/edit", f"{host}/share/{_code(rng, 'a0aa0a')}", f"{host}/~{_plain(owner.last)}/hw{rng.randrange(1, 12)}.pdf", f"drive.{host}/file/{_code(rng, '0a0a0a0a')}",
                        f"{host}/doc?id={_code(rng, '00000a')}", f"photos.{host}/{_code(rng, 'aa00aa00')}", f"{host}/{_plain(owner.first)}/notes", f"files.{host}/u/{_plain(owner.last)}/scan{rng.randrange(9)}.jpg"))  # fmt: skip
    return ("" if scheme == "www." and where[0] != "e" else scheme) + where


def profile_url(rng: Random, owner: Owner, half: str) -> str:
    """The link of somebody's page."""
    host, scheme, handle = rng.choice(_HOSTS), _scheme(rng), _handle(rng, owner, half)
    where = rng.choice(
        (
            f"{host}/u/{handle}",
            f"{host}/@{handle}",
            f"{host}/{handle}",
            f"{host}/user/{_code(rng, '000000')}",
            f"{host}/channel/{handle}",
            f"profile.{host}/{handle}",
            f"{host}/people/{_plain(owner.last)}",
        )
    )
    return ("" if scheme == "www." and where[0] != "e" else scheme) + where


def _birth(rng: Random, owner: Owner) -> tuple[int, int, int]:
    year = rng.randrange(1960, 2002) if owner.adult else rng.randrange(2005, 2019)
    return year, rng.randrange(1, 13), rng.randrange(1, 29)


def birth_date(rng: Random, owner: Owner, half: str) -> str:
    """A whole date of birth."""
    y, m, d = _birth(rng, owner)
    month, short = _MONTHS[0][m - 1], f"{y % 100:02d}"
    said = (
        f"{month} {ordinal(d)}, {'two thousand ' + in_words(y - 2000) if y > 2000 else 'nineteen ' + in_words(y % 100)}"
        if y != 2000
        else f"{month} {d}, 2000"
    )
    shapes = (f"{month} {d}, {y}", f"{m}/{d}/{y}", f"{m:02d}/{d:02d}/{y}", f"{m}/{d}/{short}", f"{y}-{m:02d}-{d:02d}", f"{d} {month} {y}", f"{month[:3]} {d} {y}", f"{d:02d}.{m:02d}.{y}", f"{m}-{d}-{y}",
              f"{month} {suffixed(d)}, {y}", f"{suffixed(d)} of {month} {y}", f"{month} {suffixed(d)} {y}", f"{d}-{month[:3]}-{short}", f"{m:02d}{d:02d}{y}", said, f"{month[:3]}. {d}, {y}", f"{month} {d} '{short}", f"{m}.{d}.{short}")  # fmt: skip
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
    return _code(
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
    return _code(
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
    return _code(rng, rng.choice(("0000", "00000", "000000", "00-00", "0000")))


def meeting_id(rng: Random, owner: Owner, half: str) -> str:
    """A meeting's number."""
    return _code(
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
    shapes = (f"192.0.2.{end}", f"198.51.100.{end}", f"203.0.113.{end}", f"10.{rng.randrange(256)}.{rng.randrange(256)}.{end}", f"192.168.{rng.randrange(3)}.{end}", f"172.16.{rng.randrange(99)}.{end}",
              f"2001:db8::{rng.randrange(1, 65535):x}", f"2001:db8:{rng.randrange(65535):x}:{rng.randrange(65535):x}::{end}", f"10.0.0.{end}")  # fmt: skip
    return rng.choices(shapes, (4, 4, 4, 4, 2, 1, 1.5, 1.5, 2))[0]


def credit_card(rng: Random, owner: Owner, half: str) -> str:
    """A public test number of a card."""
    digits = rng.choice(("4111111111111111", "4242424242424242", "5555555555554444", "378282246310005", "6011111111111117", "371449635398431", "4012888888881881", "5105105105105100", "3566002020360505",
                         "4000056655665556", "5200828282828210", "2223003122003222", "6011000990139424", "30569309025904", "38520000023237", "3530111333300000"))  # fmt: skip
    cuts = (4, 10) if len(digits) in (14, 15) else (4, 8, 12)
    parts = [digits[i:j] for i, j in zip((0, *cuts), (*cuts, len(digits)), strict=True)]
    return rng.choices(
        (" ".join(parts), "-".join(parts), digits, ".".join(parts), digits_in_words(digits)), (6, 4, 4, 0.3, 0.4)
    )[0]


def town(rng: Random, owner: Owner, half: str) -> str:
    """A town, with its state at times."""
    made = f"{_one(rng, half, 'town_heads')}{rng.choice(_places()['town_tails'])}"
    place = rng.choice((_one(rng, half, "cities"), _one(rng, half, "cities"), made))
    return rng.choices(
        (place, f"{place}, {rng.choice(_places()['states'])}", f"{place} {rng.choice(_places()['states'])}"),
        (6, 1, 0.5),
    )[0]


def address(rng: Random, owner: Owner, half: str) -> str:
    """A street address, with more or less behind it."""
    street = f"{rng.randrange(1, 9999)} {rng.choices(('', 'N ', 'West ', 'S. '), (8, 1, 1, 1))[0]}{_one(rng, half, 'street_names')} {rng.choice(_places()['street_kinds'])}"
    if rng.random() < 0.1:
        street = f"{rng.choice(('Calle', 'Avenida', 'Av.', 'C/', 'Rue', 'Rua'))} {_one(rng, half, 'street_names')} {rng.choice(('', '#', 'No. '))}{rng.randrange(1, 400)}"
    flat = rng.choices(
        (
            "",
            f" Apt {rng.randrange(1, 40)}{rng.choice('ABC')}",
            f", Apt. {rng.randrange(1, 400)}",
            f" #{rng.randrange(1, 60)}",
            f" Unit {rng.randrange(1, 20)}",
        ),
        (6, 1, 1, 1, 1),
    )[0]
    place, state, code = (
        _one(rng, half, "cities"),
        rng.choice(_places()["states"]),
        f"{rng.randrange(10000, 99999)}",
    )
    tail = rng.choices(
        (
            "",
            f", {place}",
            f", {place}, {state} {code}",
            f", {place}, {state}",
            f" in {place}",
            f" {place} {state} {code}",
        ),
        (7, 2, 2, 1, 0.6, 1),
    )[0]
    return rng.choices((street + flat + tail, f"P.O. Box {rng.randrange(10, 9999)}{tail}"), (40, 1))[0]


def school(rng: Random, owner: Owner, half: str) -> str:
    """A school's name as people write it."""
    stem = rng.choice(
        (
            _one(rng, half, "school_names"),
            _one(rng, half, "street_names"),
            f"{_one(rng, half, 'town_heads')}{rng.choice(_places()['town_tails'])}",
        )
    )
    kind = rng.choice(_places()["school_kinds"])
    other = (f"{rng.choice(('P.S.', 'PS', 'I.S.', 'IS', 'M.S.', 'MS', 'JHS', 'P.S./I.S.'))} {rng.randrange(2, 399)}", f"{_one(rng, half, 'saints')} {rng.choice(('School', 'Academy', 'Catholic School', 'Prep', 'High', 'Elementary'))}",
             f"Escuela {rng.choice(('Primaria', 'Secundaria', ''))} {stem}".replace("  ", " "), f"Colegio {stem}", f"{stem} {rng.choice(('Montessori', 'STEM Academy', 'Magnet', 'Prep Academy', 'School for the Arts', 'Early College', 'Day School'))}")  # fmt: skip
    return rng.choices((f"{stem} {kind}", rng.choice(other)), (3, 1))[0]


KINDS: dict[str, tuple[Callable[[Random, Any, str], str], str]] = {
    "phone": (phone, "PHONE_NUMBER"),
    "phone_words": (phone_words, "PHONE_NUMBER"),
    "phone_long": (phone_long, "PHONE_NUMBER"),
    "phone_a": (phone_a, "PHONE_NUMBER"),
    "phone_b": (phone_b, "PHONE_NUMBER"),
    "user": (username, "USERNAME"),
    "at": (at_name, "USERNAME"),
    "email": (email, "EMAIL_ADDRESS"),
    "email_words": (email_words, "EMAIL_ADDRESS"),
    "meet": (meeting_url, "URL"),
    "doc": (document_url, "URL"),
    "profile": (profile_url, "URL"),
    "dob": (birth_date, "DATE_OF_BIRTH"),
    "bday": (birthday, "DATE_OF_BIRTH"),
    "bday_es": (birthday_es, "DATE_OF_BIRTH"),
    "birthyear": (birth_year, "DATE_OF_BIRTH"),
    "age": (age, "AGE"),
    "age_words": (age_words, "AGE"),
    "sid": (student_id, "ID_NUMBER"),
    "libcard": (card_number, "ID_NUMBER"),
    "lunch": (lunch_number, "ID_NUMBER"),
    "meeting": (meeting_id, "ID_NUMBER"),
    "ssn": (ssn, "US_SSN"),
    "ip": (ip_address, "IP_ADDRESS"),
    "card": (credit_card, "CREDIT_CARD"),
    "town": (town, "LOCATION"),
    "address": (address, "LOCATION"),
    "school": (school, "SCHOOL"),
}
"""The name of a slot -> what makes its value, and its label."""
