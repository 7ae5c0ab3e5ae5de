"""Phone numbers, identity numbers, social security and card numbers: by shape, checksum and the words around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tamis.pii import contexts
from tamis.pii.spans import Span

_GAP = r"[ \u00a0().\-–—‐‑·•_]{0,3}"
_NUMBERISH = re.compile(rf"(?<![\w])[+(]{{0,2}}\d(?:{_GAP}\d){{6,18}}(?!\w)(?![.,]\d)")
_LOOSE = re.compile(
    r"(?<![\w])[+(]{0,2}\d(?:[^\w\n=+*<>^]{0,5}(?:(?:and|then|dash|hyphen|space|dot|y|um|uh|luego|guion)[^\w\n=]{1,3}){0,2}\d){6,14}(?!\w)", re.IGNORECASE
)
_OPERATOR_BEHIND = re.compile(r"\s*(?:[=*^<>×÷%°√]|[+/](?!\w*\s*\Z))")
_OPERATOR_BEFORE = re.compile(r"[=*^<>×÷√$€£+/]\s*\Z|\d\s*[-−–]\s+\Z")
_VALUE = re.compile(r"(?<![\w.$€£])#?[A-Za-z]{0,5}-?\d[\dA-Za-z]{0,19}(?:[- ]\d[\dA-Za-z]{0,11}){0,5}(?![\w%°]|\.\d)")
_SPOKEN = {
    "zero": "0", "oh": "0", "o": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "cero": "0", "uno": "1", "dos": "2", "tres": "3", "cuatro": "4", "cinco": "5", "seis": "6", "siete": "7",
    "ocho": "8", "nueve": "9", "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14", "fifteen": "15",
    "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19", "twenty": "2_", "thirty": "3_", "forty": "4_", "fifty": "5_",
    "sixty": "6_", "seventy": "7_", "eighty": "8_", "ninety": "9_", "hundred": "00",
}  # fmt: skip
_DIGIT_WORD = r"(?:(?:double|triple|doble)\s+)?(?:" + "|".join(sorted(_SPOKEN, key=len, reverse=True)) + ")"
_BETWEEN = r"[\s,.\-–…]{1,4}(?:(?:um+|uh+|er|like|and|then|y|dash|hyphen|space|area code|luego)[\s,.…]{1,4}){0,2}"
_SAID = re.compile(rf"(?<!\w)(?:{_DIGIT_WORD}|\d{{1,4}})(?:{_BETWEEN}(?:{_DIGIT_WORD}|\d{{1,4}})){{2,19}}(?!\w)", re.IGNORECASE)
_WORDS = re.compile(rf"(?<!\w){_DIGIT_WORD}(?!\w)", re.IGNORECASE)
_ID_CONTEXT = re.compile(
    r"(?<!\w)(?:(?:my|your|ur|his|her|our|student|school|lunch|library|zoom|meeting|portal|state|district|member|patient|employee|login|badge|test(?:ing)?|mi)\s+(?:id|pin)\b"
    r"|id(?:['’]?s)?\s*(?:is|:|#|=|num(?:ber)?|no\b)|s\.i\.d\b)",
    re.IGNORECASE,
)


def _digits(text: str) -> str:
    return "".join(letter for letter in text if letter.isdigit())


def _groups(text: str) -> tuple[int, ...]:
    return tuple(len(part) for part in re.findall(r"\d+", text))


def luhn(digits: str) -> bool:
    """Whether the last digit checks the others, as on payment cards."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def calculated(content: str, start: int, end: int) -> bool:
    """Whether an operator stands right beside a number."""
    return bool(_OPERATOR_BEHIND.match(content, end) or _OPERATOR_BEFORE.search(content[max(0, start - 4) : start]))


def find(content: str) -> Iterator[Span]:
    """Numbers that belong to somebody."""
    if sum(map(content.count, "0123456789")) > 2:
        for match in _NUMBERISH.finditer(content):
            span = _classified(content, *match.span())
            if span:
                yield span
        yield from _loose(content)
        yield from _identity(content)
        for match in _LETTERED.finditer(content):
            yield Span(match.start(), match.end(), "ID_NUMBER", 0.2 if calculated(content, *match.span()) else 0.55, "a letter and many digits")
    if len(_WORDS.findall(content[:20_000])) > 2:
        yield from _spoken(content)


def _near(content: str, start: int, end: int) -> tuple[str, int] | None:
    """The label whose context word stands nearest."""
    found = []
    for label in ("PHONE_NUMBER", "US_SSN", "CREDIT_CARD", "ID_NUMBER"):
        distance = contexts.distance(label, content, start, end)
        if distance is not None:
            found.append((distance, label))
    return (min(found)[1], min(found)[0]) if found else None


def _classified(content: str, start: int, end: int) -> Span | None:
    text = content[start:end]
    if text.count("(") != text.count(")"):
        while text[0] == "(" and ")" not in text:
            start, text = start + 1, text[1:]
    digits, groups = _digits(text), _groups(text)
    if digits in "01234567890123456789" or len(set(digits)) == 1 and len(groups) < 3:
        return None
    near = _near(content, start, end)
    label = near[0] if near else None
    worked = calculated(content, start, end)
    if len(digits) >= 13:
        valid = luhn(digits) and digits[0] in "3456" and len(digits) <= 19
        if valid and not worked:
            return Span(start, end, "CREDIT_CARD", 0.95 if label == "CREDIT_CARD" or len(groups) > 2 else 0.75, "a card number that its check digit confirms")
        if label == "CREDIT_CARD":
            return Span(start, end, "CREDIT_CARD", 0.6, "called a card number")
    if groups == (3, 2, 4):
        marks = set(text) - set("0123456789")
        score = 0.3 if worked else 0.9 if label == "US_SSN" or marks <= {"-", "–", "‐", "‑"} else 0.5
        return Span(start, end, "US_SSN", score, "three, two and four digits")
    if label == "US_SSN" and len(digits) == 9:
        return Span(start, end, "US_SSN", 0.9, "nine digits called a social security number")
    score, reason = _phone(text, digits, groups, label == "PHONE_NUMBER")
    if worked and label != "PHONE_NUMBER":
        score = min(score, 0.2)
    if label in ("ID_NUMBER", "US_SSN", "CREDIT_CARD") and not worked and score < 0.85:
        return None
    return Span(start, end, "PHONE_NUMBER", score, reason) if score else None


def _phone(text: str, digits: str, groups: tuple[int, ...], called: bool) -> tuple[float, str]:
    """How much a number's shape says that it is a phone's."""
    count, marks = len(digits), set(text) - set("0123456789 \u00a0")
    if groups in ((4, 2, 2), (2, 2, 4), (1, 2, 4), (2, 1, 4), (1, 1, 4)) and not called:
        return 0.0, ""
    if text.startswith("+") and 8 <= count <= 15:
        return 0.9, "an international phone number"
    if groups[-3:] == (3, 3, 4) and (len(groups) == 3 or (len(groups) == 4 and groups[0] < 4)):
        return (0.95 if called else 0.85 if marks else 0.65), "a phone number's three groups"
    if groups == (3, 7) and "(" in marks:
        return 0.85, "a phone number with its area code"
    if groups in ((3, 4), (1, 3, 4)) and not (marks - set("-–—‐‑.·•_")):
        sure = re.split(r"\D+", text)[-1][0] == "0" and bool(marks)
        return (0.9 if called else 0.6 if sure else 0.3), "a phone number without its area code"
    if called and 7 <= count <= 13:
        return 0.8, "digits called a phone number"
    if text.startswith("0") and len(groups) > 1 and 9 <= count <= 11 and "." not in marks:
        return 0.65, "a phone number that begins with a zero"
    if groups in ((5, 5), (4, 3, 3), (3, 3, 3)) and count >= 9:
        return 0.35, "groups as of a phone number"
    return (0.2, "ten digits") if count in (10, 11) and len(groups) == 1 else (0.0, "")


def _loose(content: str) -> Iterator[Span]:
    """Phone numbers that are broken up by words or signs, where a context word says what they are."""
    if not contexts.pattern("PHONE_NUMBER").search(content):
        return
    for match in _LOOSE.finditer(content):
        digits = _digits(match[0])
        if 7 <= len(digits) <= 13 and digits not in "01234567890" and contexts.distance("PHONE_NUMBER", content, *match.span()) is not None:
            if _near(content, *match.span()) != ("ID_NUMBER", 0) and not calculated(content, *match.span()) and not _list(match[0]):
                yield Span(match.start(), match.end(), "PHONE_NUMBER", 0.75, "digits in pieces, called a phone number")


def _list(text: str) -> bool:
    """Whether digits are a list of numbers, each with its comma."""
    return text.count(", ") > 1 and all(size < 3 for size in _groups(text))


def _identity(content: str) -> Iterator[Span]:
    """Values that words beside them call a number of somebody."""
    places = [(match.start(), match.end()) for match in _ID_CONTEXT.finditer(content)]
    for label in ("ID_NUMBER", "US_SSN"):
        strong = contexts.pattern(label)
        for match in strong.finditer(content):
            if label == "US_SSN" or match[0].lower() not in ("id", "ids", "id is", "meeting", "zoom", "library", "social", "insurance"):
                places.append((match.start(), match.end()))
            elif match[0].lower() in ("meeting", "zoom"):
                places.append((match.start(), match.end()))
    for start, end in places:
        value = _VALUE.search(content, end, min(len(content), end + 48))
        if value and not re.search(r"[.!?]\s(?!\s*\Z|\s*(?:its|it['’]s|it is|is|here|mine)\b)|\n", content[end : value.start()], re.IGNORECASE):
            yield from _called(content, start, value)
            continue
        earlier = list(_VALUE.finditer(content, max(0, start - 44), start))
        if earlier and re.fullmatch(r"\W*(?:is|es|was|for|thats|that's|as)?\W*(?:my|the|his|her|our|mi)?\W*(?:\w+\W+)?", content[earlier[-1].end() : start]):
            yield from _called(content, start, earlier[-1])


def _called(content: str, start: int, value: re.Match[str]) -> Iterator[Span]:
    digits = _digits(value[0])
    own = re.search(r"(?i)(?<!\w)(?:my|your|ur|his|her|mi|our)\s+(?:\w+\s+){0,2}\Z", content[max(0, start - 30) : start]) or re.match(r"(?i)my|your", content[start:])
    if len(digits) < 4 and not (len(digits) == 3 and value[0].strip("#").isdigit() and abs(value.start() - start) < 30 and own):
        return
    if calculated(content, value.start(), value.end()) and "=" not in content[max(0, value.start() - 2) : value.start()]:
        return
    near = _near(content, value.start(), value.end())
    if near and near[0] == "PHONE_NUMBER" and len(digits) >= 7:
        return
    label = "US_SSN" if near and near[0] == "US_SSN" else "ID_NUMBER"
    yield Span(value.start(), value.end(), label, 0.85 if len(digits) > 3 else 0.6, "called somebody's number")


_LETTERED = re.compile(r"(?<![\w.\\$-])[A-Z]{1,3}-?\d{5,9}(?![\w.]\d|\w)")


class _Said(NamedTuple):
    start: int
    end: int
    digits: str
    words: int


def said(content: str) -> Iterator[_Said]:
    """Digits that are read out: where, which, and how many of them are words."""
    for match in _SAID.finditer(content):
        digits, words = "", 0
        for part in re.finditer(rf"{_DIGIT_WORD}(?!\w)|\d+", match[0], re.IGNORECASE):
            text = part[0].lower()
            if text.isdigit():
                digits += text
                continue
            words += 1
            *times, word = text.split()
            value = _SPOKEN[word]
            if digits.endswith("_"):
                digits = digits[:-1] + ("0" if len(value) > 1 else "")
            digits += value * ({"double": 2, "doble": 2, "triple": 3}[times[0]] if times else 1)
        yield _Said(match.start(), match.end(), digits.replace("_", "0"), words)


def _spoken(content: str) -> Iterator[Span]:
    for start, end, digits, words in said(content):
        if words < 2 or digits in "01234567891011121314" or len(set(digits)) == 1 and len(digits) < 7:
            continue
        near = _near(content, start, end)
        label = near[0] if near else None
        if label in ("ID_NUMBER", "US_SSN", "CREDIT_CARD") and len(digits) >= 3:
            yield Span(start, end, label, 0.8, "digits read out, called somebody's number")
        elif label == "PHONE_NUMBER" and 7 <= len(digits) <= 13:
            yield Span(start, end, "PHONE_NUMBER", 0.9, "digits read out, called a phone number")
        elif len(digits) in (7, 10, 11):
            odd = re.search(r"(?i)\b(?:oh|o|double|triple)\b", content[start:end])
            yield Span(start, end, "PHONE_NUMBER", 0.7 if odd or len(digits) > 7 else 0.4, "as many digits read out as a phone number has")


_PIECE = re.compile(r"[+(]{0,2}\d(?:[ ().\-–]{0,3}\d){1,9}(?!\w)")
_RUN = re.compile(r"[+(]{0,2}\d(?:[ ().\-–]{0,3}\d){0,20}(?!\w)")
_LEAD = re.compile(r"\W*(?:(?:and|then|um+|uh+|the|rest|is|last|four|dash|y|luego|ends|in|with|its|it's|thats|ok|so|finish|starts|first|part|second|half|other|next|1|2)\b\W+){0,5}", re.IGNORECASE)


def split(messages: Sequence[tuple[str, str]]) -> dict[int, list[Span]]:
    """Phone numbers that somebody sends in pieces: the message's place -> the spans of its piece."""
    found: dict[int, list[Span]] = {}
    open_pieces: dict[str, list[tuple[int, int, int, int]]] = {}
    for index, (role, content) in enumerate(messages):
        pieces = open_pieces.get(role)
        if pieces and index - pieces[-1][0] <= 4:
            lead = _LEAD.match(content)
            piece = _piece(content, lead.end() if lead else 0)
            if piece and not calculated(content, piece[0], piece[1]):
                pieces.append((index, *piece))
                total = sum(item[3] for item in pieces)
                if 7 <= total <= 12:
                    for place, start, end, _ in pieces:
                        span = Span(start, end, "PHONE_NUMBER", 0.8, "a piece of a phone number sent in pieces")
                        if span not in found.setdefault(place, []):
                            found[place].append(span)
                if total >= 10:
                    del open_pieces[role]
                continue
        piece = _first_piece(content)
        if piece:
            open_pieces[role] = [(index, *piece)]
    return found


def _first_piece(content: str) -> tuple[int, int, int] | None:
    """The piece of a phone number that a message announces: its only number, too short for a whole one."""
    if len(content) > 160 or not contexts.pattern("PHONE_NUMBER").search(content):
        return None
    found = [match for match in _RUN.finditer(content)]
    if len(found) != 1:
        if found or not (spoken := list(said(content))):
            return None
        start, end, digits, _ = spoken[-1]
        return (start, end, len(digits)) if 3 <= len(digits) <= 6 and not content[end:].strip(" .,-–…!:)") else None
    start, end = found[0].span()
    size = len(_digits(found[0][0]))
    announced = len(content) < 60 or not content[end:].strip(" .,-–…!:)")
    return (start, end, size) if 3 <= size <= 6 and announced and not calculated(content, start, end) else None


def _piece(content: str, start: int) -> tuple[int, int, int] | None:
    """A piece of a number that begins at a place: start, end, how many digits."""
    match = _PIECE.match(content, start)
    if match:
        size = len(_digits(match[0]))
        return (match.start(), match.end(), size) if 2 <= size <= 8 else None
    spoken = next(iter(said(content[start : start + 120])), None)
    if spoken and spoken.start == 0 and 2 <= len(spoken.digits) <= 8 and spoken.words:
        return start, start + spoken.end, len(spoken.digits)
    return None
