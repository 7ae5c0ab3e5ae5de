"""Dates and ages moved a little: a date keeps its format, an age stays a child's or an adult's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

from tamis.pii.surrogate_words import months, words

_SHORT = 3
_ORDINALS = words("ordinals")
NUMBER_WORDS = {word: i for i, word in enumerate(words("units"))}
NUMBER_WORDS |= {
    f"{ten}{dash}{words('units')[i]}" if i else ten: 10 * (tens + 2) + i
    for tens, ten in enumerate(words("tens"))
    for i in range(10)
    for dash in ("-", " ")
}
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?|\d+")
_NUMBER_IN_WORDS = re.compile(
    "|".join(sorted((rf"\b{word}\b" for word in NUMBER_WORDS), key=len, reverse=True)), re.IGNORECASE
)
_YEARS = (1900, 2100)


def shifted_date(text: str, days: int) -> str | None:
    """The date in a text moved by a number of days, in its own format; None where there is no date that is known.

    Month/day unless the first number is above 12; the month may be a word; a day or a year may be missing.
    """
    parts = list(_WORD.finditer(text))
    named = next((part for part in parts if _month_of(part[0])), None)
    numbers = [part for part in parts if _value(part[0]) is not None]
    found = _with_name(named, numbers) if named else _in_numbers(text, numbers)
    if found is None:
        return None
    where, day, month_number, year = found
    try:
        moved = date(year or 2000, month_number, day or 15) + timedelta(days=days)
    except (ValueError, OverflowError):
        return None
    changes = {"day": moved.day, "month": moved.month, "year": moved.year}
    is_padded = _is_padded(where, named is not None)
    for name, part in sorted(where.items(), key=lambda item: -item[1].start()):
        text = text[: part.start()] + _written(part[0], changes[name], is_padded) + text[part.end() :]
    return re.sub(r"(\d+)(st|nd|rd|th)\b", lambda m: m[1] + _suffix(int(m[1]), m[2]), text, flags=re.IGNORECASE)


def _month_of(word: str) -> tuple[tuple[str, ...], int] | None:
    """The months of the word's language, and the position of its own among them; None if it is no month."""
    low = word.lower()
    for names in months():
        for i, name in enumerate(names):
            if low == name or (len(low) >= _SHORT and low in (name[:_SHORT], name[:4])):
                return names, i
    return None


def _is_padded(where: dict[str, re.Match[str]], has_name: bool) -> bool:
    """Whether a number below ten is written with a zero: seen from those there are, as far as they tell."""
    numbers = [part[0] for name, part in where.items() if name != "year" and part[0].isdecimal()]
    if has_name or not numbers:
        return any(number.startswith("0") for number in numbers)
    return all(len(number) == 2 for number in numbers)


Found = tuple[dict[str, re.Match[str]], int | None, int, int | None]


def _with_name(named: re.Match[str], numbers: list[re.Match[str]]) -> Found:
    where: dict[str, re.Match[str]] = {"month": named}
    day = year = None
    month = _month_of(named[0])
    assert month is not None
    for part in numbers:
        value = _value(part[0]) or 0
        if (len(part[0]) == 4 and part[0].isdecimal()) or (day is not None and year is None and value < 100):
            where["year"], year = part, _full_year(part[0])
        elif day is None and 1 <= value <= 31:
            where["day"], day = part, value
    return where, day, month[1] + 1, year


def _in_numbers(text: str, numbers: list[re.Match[str]]) -> Found | None:
    values = [int(part[0]) for part in numbers if part[0].isdecimal()]
    if len(values) != len(numbers) or not 1 <= len(values) <= 3:
        return None
    if len(values) == 1:
        part = numbers[0]
        if len(part[0]) == 4 and _YEARS[0] <= values[0] < _YEARS[1]:
            return {"year": part}, None, 7, values[0]
        if len(part[0]) == 8:  # 20100314
            return None
        return ({"day": part}, values[0], 1, None) if 1 <= values[0] <= 31 else None
    order = ["month", "day", "year"] if values[0] <= 12 else ["day", "month", "year"]
    if len(numbers[0][0]) == 4:
        order = ["year", "month", "day"]
    elif "." in text and len(values) == 3:
        order = ["day", "month", "year"]
    where = dict(zip(order, numbers, strict=False))
    if len(values) == 2 and len(numbers[1][0]) == 4:
        where = {"month": numbers[0], "year": numbers[1]}
    year = _full_year(where["year"][0]) if "year" in where else None
    day = int(where["day"][0]) if "day" in where else None
    return where, day, int(where["month"][0]), year


def _value(word: str) -> int | None:
    if word.isdecimal():
        return int(word)
    low = word.lower()
    return _ORDINALS.index(low) + 1 if low in _ORDINALS else None


def _full_year(digits: str) -> int:
    year = int(digits) if digits.isdecimal() else 0
    return year if len(digits) > 2 else 2000 + year if year < 40 else 1900 + year


def _written(old: str, number: int, is_padded: bool) -> str:
    """A number as the old one is written: padded, two digits of a year, a month's name, an ordinal in words."""
    if old.isdecimal():
        if number > 99:
            return str(number)[-2:] if len(old) == 2 else str(number)
        return str(number).zfill(2 if is_padded else 1)
    if old.lower() in _ORDINALS:
        return cased(_ORDINALS[number - 1], old)
    month = _month_of(old)
    assert month is not None
    names, i = month
    name = names[number - 1]
    return cased(name if old.lower() == names[i] else name[: len(old)], old)


def _suffix(number: int, old: str) -> str:
    end = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return end.upper() if old.isupper() else end


def cased(text: str, old: str) -> str:
    """The text in the casing of the old one: CAPS, lower case, or as a name is written."""
    if old.isupper() and (len(old) > 1 or len(text) == 1):
        return text.upper()
    return text.lower() if old.islower() else text[:1].upper() + text[1:]


def ages_in(text: str) -> Iterator[tuple[int, int, int]]:
    """Each number in a text, in digits or words: start, end and value."""
    for found in re.finditer(r"\d+", text):
        yield (*found.span(), int(found[0]))
    for found in _NUMBER_IN_WORDS.finditer(text):
        yield (*found.span(), NUMBER_WORDS[found[0].lower()])


def age_words(age: int) -> str:
    """An age below 100 in words."""
    return next(word for word, number in NUMBER_WORDS.items() if number == age)


def is_plausible(old: int, new: int) -> bool:
    """Whether one age can stand for another: a child stays a child, an adult an adult who may be alive."""
    return 4 <= new < 18 if old < 18 else 18 <= new < 100
