"""Invented values in place of personal ones: of the same type and format, the same for the same person.

Everything is drawn under a secret key, so that the same key gives the same surrogates on every machine and in
every process. What a value becomes depends on its session too, unless one map is to hold for all of them; in both
cases a surrogate that would equal a real value of its session gives way to the next one.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Sequence
from itertools import count

from tamis.pii.keyed import Draw
from tamis.pii.surrogate_dates import NUMBER_WORDS, age_words, ages_in, cased, is_plausible, shifted_date
from tamis.pii.surrogate_people import WORD, People, names, plain
from tamis.pii.surrogate_words import words

_DIGIT_WORDS = words("units")[:10]
_DIGIT = re.compile(rf"\d|\b(?:{'|'.join((*_DIGIT_WORDS, 'oh'))})\b", re.IGNORECASE)
_NARROW = 100  # attempts within the narrow form, such as 555-01xx, before its digits are free


class Surrogates:
    """Stand-ins for personal values, session by session; only the last session is remembered.

    Args:
        key: The secret key.
        across_sessions: The same value has the same surrogate in every session, unless it is a real value there.
    """

    def __init__(self, key: bytes, across_sessions: bool = False) -> None:
        self._key, self._across = key, across_sessions
        self._last: tuple[str, SessionSurrogates] | None = None

    def session(
        self, session_id: str, values: Iterable[tuple[str, str]] = (), texts: Iterable[str] = ()
    ) -> SessionSurrogates:
        """The surrogates of one session.

        Args:
            session_id: The session's id.
            values: Label and text of all its personal values, so that what one becomes hangs on no order.
            texts: The session's messages: no name is invented that stands in them.
        """
        made = SessionSurrogates(self._key, "" if self._across else session_id, session_id, values, texts)
        self._last = (session_id, made)
        return made

    def replace(self, label: str, text: str, session_id: str) -> str:
        """The surrogate of one value; `session` says before it what else stands in its session."""
        if self._last is None or self._last[0] != session_id:
            self.session(session_id)
        assert self._last is not None
        return self._last[1].replace(label, text)


class SessionSurrogates:
    """The surrogates of one session; `Surrogates.session` makes it."""

    def __init__(
        self, key: bytes, scope: str, session_id: str, values: Iterable[tuple[str, str]], texts: Iterable[str]
    ) -> None:
        known = sorted({*values})
        self._draw = Draw(key, f"surrogate\0{scope}")
        self._offsets = Draw(key, f"offset\0{session_id}")
        self._real = {_canonical(text) for _, text in known}
        self._ages = {age for label, text in known if label == "AGE" for *_, age in ages_in(text)}
        self._dates = [text for label, text in known if label == "DATE_OF_BIRTH"]
        self._made: dict[tuple[str, str], int] = {}
        self._taken: set[str] = set()
        spoken = {plain(word) for text in (*texts, *(text for _, text in known)) for word in WORD.findall(text)}
        self._people = People(self._draw, spoken)
        self._people.meet(text for label, text in known if label == "PERSON")

    def replace(self, label: str, text: str) -> str:
        """The surrogate of one value of the session: never one of its real values, nor that of another value."""
        self._real.add(_canonical(text))
        if label == "PERSON":
            return self._people.replaced(text)
        if label == "AGE":
            return self._age(text)
        make = {
            "EMAIL_ADDRESS": self._email,
            "PHONE_NUMBER": self._phone,
            "URL": self._url,
            "USERNAME": self._username,
            "US_SSN": self._ssn,
            "IP_ADDRESS": self._address,
            "CREDIT_CARD": self._card,
            "LOCATION": self._location,
            "SCHOOL": self._school,
            "DATE_OF_BIRTH": self._date,
        }.get(label, self._shaped)
        return self._distinct(label, text, make)

    def _distinct(self, label: str, text: str, make: Callable[[str, int], str]) -> str:
        text = text if any(map(str.isalnum, text)) else "x" * len(text)
        key = (label, _canonical(text))
        for attempt in count(self._made.get(key, 0)):
            made = make(text, attempt) + str(attempt) * (attempt > 2 * _NARROW)
            name = _canonical(made)
            if key in self._made:  # another format of the value
                return made
            if name not in self._real and (name not in self._taken or label == "DATE_OF_BIRTH"):
                self._taken.add(name)
                self._made[key] = attempt
                return made
        raise AssertionError

    def _shaped(self, text: str, attempt: int, label: str = "") -> str:
        """The text with each digit and each letter replaced by another of its kind."""
        key, drawn = _canonical(text), count()

        def other(c: str) -> str:
            if not c.isalnum():
                return c
            number = next(drawn)
            if c.isdecimal():
                least = int(number == 0 and c != "0")
                return str(least + self._draw.below(10 - least, label, key, attempt, number))
            letter = self._draw.of(string.ascii_lowercase, label, key, attempt, number)
            return letter.upper() if c.isupper() else letter

        return "".join(map(other, text))

    def _filled(self, text: str, digits: str) -> str:
        """The text with its digits, in figures or in words, replaced by others in their order."""
        rest = iter(digits)

        def other(found: re.Match[str]) -> str:
            digit = next(rest)
            return digit if found[0].isdecimal() else cased(_DIGIT_WORDS[int(digit)], found[0])

        return _DIGIT.sub(other, text)

    def _phone(self, text: str, attempt: int) -> str:
        digits = _digits(text)
        if not digits:
            return self._shaped(text, attempt)
        country = "1" if len(digits) == 11 and digits[0] == "1" else ""
        number = digits[len(country) :]
        made = self._shaped(number, attempt, "phone")
        if attempt < _NARROW and len(number) in (7, 10):  # 555-0100 to 555-0199 are kept for fiction
            area = f"{2 + self._draw.below(8, 'area', number, attempt)}{made[1:3]}" if len(number) == 10 else ""
            made = f"{area}55501{made[-2:]}"
        return self._filled(text, country + made)

    def _ssn(self, text: str, attempt: int) -> str:
        digits = _digits(text)
        made = self._shaped(digits, attempt, "ssn")
        if len(digits) == 9:  # no number begins with 9, and the tax numbers that do have a group from 50 on
            made = f"9{made[1:3]}{1 + self._draw.below(49, 'group', digits, attempt):02}{made[5:]}"
        return self._filled(text, made) if digits else self._shaped(text, attempt)

    def _card(self, text: str, attempt: int) -> str:
        digits = _digits(text)
        numbers = [number for number in words("cards") if len(number) == len(digits)]
        if not digits:
            return self._shaped(text, attempt)
        if numbers and attempt < _NARROW:
            return self._filled(text, self._draw.of(numbers, "card", digits, attempt))
        made = f"00{self._shaped(digits, attempt, 'card')[2:-1]}"  # no network issues a number that begins so
        return self._filled(text, f"{made}{_luhn(made)}"[-len(digits) :])

    def _address(self, text: str, attempt: int) -> str:
        if found := re.search(r"\d{1,3}(?:\.\d{1,3}){3}", text):
            private = found[0].startswith("10.")
            start = "10." if private else self._draw.of(words("networks"), "net", found[0], attempt)
            parts = [1 + self._draw.below(254, "part", found[0], attempt, i) for i in range(3 if private else 1)]
            return text[: found.start()] + start + ".".join(map(str, parts)) + text[found.end() :]
        draws = count()

        def digit(_: re.Match[str]) -> str:
            made = self._draw.of("0123456789abcdef", "hex", text.lower(), attempt, next(draws))
            return made.upper() if text.isupper() else made

        made = re.sub(r"[0-9A-Fa-f]", digit, text)
        is_v6 = text.count(":") > 1 and (len(text) != 17 or "::" in text)
        return re.sub(r"^[0-9A-Fa-f]+:[0-9A-Fa-f]+", "2001:db8", made) if is_v6 and text[:2] != "::" else made

    def _email(self, text: str, attempt: int) -> str:
        local, at, domain = _split(text, r"\s*@\s*|\s+at\s+|\s*[(\[]at[)\]]\s*")
        name = self._handle(local or text, attempt)
        if not at:
            return name
        _, dot, tld = _split(domain, r"\s*\.\s*|\s+dot\s+", last=True)
        low = tld.lower() if tld.lower() in words("domains") else "org"
        host = "EXAMPLE" if domain.isupper() else "example"
        return f"{name}{at}{host}{dot or '.'}{cased(low, tld) if tld.isupper() else low}"

    def _handle(self, text: str, attempt: int) -> str:
        """Names inside a handle become their stand-ins, other words names; digits other digits."""
        made = WORD.sub(lambda found: cased(self._people.word(found[0]), found[0]), text)
        digits = self._shaped("".join(filter(str.isdecimal, text)), attempt, "handle")
        rest = iter(digits)
        made = re.sub(r"\d", lambda _: next(rest), made)
        return made if attempt == 0 or (digits and attempt < _NARROW) else f"{made}{attempt}"

    def _username(self, text: str, attempt: int) -> str:
        return self._handle(text, attempt) if WORD.search(text) else self._shaped(text, attempt)

    def _url(self, text: str, attempt: int) -> str:
        found = re.fullmatch(r"([A-Za-z][\w+.-]*://)?(www\.)?([^/?#]+)(.*)", text, re.DOTALL)
        if not found:
            return self._shaped(text, attempt)
        tld = found[3].rpartition(".")[2].lower()
        host = self._shaped(re.sub(r"\W", "", found[3].partition(".")[0])[:12].lower() or "a", attempt, "host")
        host = re.sub(r"^\d", "a", host)
        rest = re.sub(
            r"%[0-9A-Fa-f]{2}|([^%]+)", lambda m: self._shaped(m[0], attempt) if m[1] else m[0], found[4]
        )
        return f"{found[1] or ''}{found[2] or ''}{host}.example.{tld if tld in words('domains') else 'org'}{rest}"

    def _location(self, text: str, attempt: int) -> str:
        spoken = {word.lower() for word in WORD.findall(text)}
        is_address = any(c.isdecimal() for c in text) or bool(spoken & {*words("streets")})
        parts = re.split(r"(\s*,\s*)", text)
        for i, part in enumerate(parts[::2]):
            if i and re.fullmatch(r"[A-Z]{2}(\s+\d.*)?", part):  # a state, and its code
                parts[2 * i] = part[:2] + self._shaped(part[2:], attempt)
            elif is_address:
                parts[2 * i] = self._reworded(part, attempt, (*words("streets"), *words("places")))
            elif letters := plain(part):
                town = self._name(letters, attempt) + self._draw.of(words("towns"), "town", letters, attempt)
                parts[2 * i] = cased(town, "".join(filter(str.isalpha, part)))
        return "".join(parts)

    def _school(self, text: str, attempt: int) -> str:
        return self._reworded(text, attempt, words("schools"))

    def _reworded(self, text: str, attempt: int, kept: Sequence[str]) -> str:
        """The words that are names replaced, in their casing; those that say what kind it is stay."""

        def other(found: re.Match[str]) -> str:
            word = found[0]
            if word.lower() in kept:
                return word
            if len(word) <= 4 and word.isupper():  # an abbreviation
                return self._shaped(word, attempt)
            return cased(self._name(plain(word), attempt), word)

        made = WORD.sub(other, re.sub(r"\d+", lambda found: self._shaped(found[0], attempt), text))
        return made if made != text else cased(f"{self._name(plain(text), attempt)} {text}", text)

    def _name(self, word: str, attempt: int) -> str:
        pool = names("en_US", "last")
        picks = (self._draw.of(pool, "place", word, attempt, i) for i in count())
        return next(name for name in picks if plain(name) not in self._real and plain(name) != word)

    def _age(self, text: str) -> str:
        """An age moved by the session's few years, in digits or words."""
        found = list(ages_in(text))
        if not found:
            return self._distinct("AGE", text, self._shaped)
        self._ages |= {age for *_, age in found}
        for start, end, age in sorted(found, reverse=True):
            new = self._moved_age(age)
            is_word = text[start:end].lower() in NUMBER_WORDS and new < 100
            written = cased(age_words(new), text[start:end]) if is_word else str(new)
            text = text[:start] + written + text[end:]
        return text

    def _moved_age(self, age: int) -> int:
        sign = self._offsets.of((1, -1), "age")
        steps = [step for size in range(1, 120) for step in (sign * size, -sign * size)]
        first = 2 * self._offsets.below(2, "years")
        steps = steps[first:] + steps[:first]
        free = [age + step for step in steps if age + step > 0 and age + step not in self._ages]
        return next((new for new in free if is_plausible(age, new)), free[0])

    def _date(self, text: str, attempt: int) -> str:
        return shifted_date(text, self._days()) or self._shaped(text, attempt)

    def _days(self) -> int:
        """The session's offset: the first under the key that moves no date of it onto another."""
        real = {_canonical(text) for text in self._dates}
        for attempt in count():
            days = (7 + self._offsets.below(173, "days", attempt)) * self._offsets.of((1, -1), "sign", attempt)
            moved = [shifted_date(text, days) for text in self._dates]
            if attempt > _NARROW or not any(made is not None and _canonical(made) in real for made in moved):
                return days
        raise AssertionError


def _canonical(text: str) -> str:
    """A value as it is compared: another format or casing of it is the same value."""
    digits = _digits(text)
    if digits and not WORD.sub("", _DIGIT.sub("", text)).strip(" -.()+,"):
        letters = WORD.findall(_DIGIT.sub(" ", text))
        if not letters:
            return digits[-10:] if len(digits) == 11 and digits[0] == "1" else digits
    return "".join(c for c in text.casefold() if c.isalnum())


def _digits(text: str) -> str:
    figures = {word: str(i) for i, word in enumerate(_DIGIT_WORDS)} | {"oh": "0"}
    return "".join(figures.get(found.lower(), found) for found in _DIGIT.findall(text))


def _luhn(digits: str) -> int:
    """The digit that makes a number pass Luhn's check."""
    total = 0
    for i, digit in enumerate(reversed(digits)):
        doubled = int(digit) * (2 if i % 2 == 0 else 1)
        total += doubled - 9 * (doubled > 9)
    return -total % 10


def _split(text: str, pattern: str, last: bool = False) -> tuple[str, str, str]:
    found = list(re.finditer(pattern, text, re.IGNORECASE))
    if not found:
        return ("", "", text)
    cut = found[-1 if last else 0]
    return text[: cut.start()], cut[0], text[cut.end() :]
