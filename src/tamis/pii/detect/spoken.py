"""Digits that people read out, and phone numbers that they send in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from tamis.pii import contexts
from tamis.pii.detect.shapes import calculated, digits_of
from tamis.pii.spans import Span

_BETWEEN = r"[\s,.\-–…]{1,4}(?:(?:um+|uh+|er|like|and|then|y|dash|hyphen|space|area code|luego)[\s,.…]{1,4}){0,2}"


@cache
def _digit_word() -> str:
    listed = sorted(contexts.table()["spoken_digits"], key=len, reverse=True)
    return rf"(?:(?:double|triple|doble)\s+)?(?:{'|'.join(listed)})"


@cache
def _said() -> re.Pattern[str]:
    one = rf"(?:{_digit_word()}|\d{{1,4}})"
    return re.compile(rf"(?<!\w){one}(?:{_BETWEEN}{one}){{2,19}}(?!\w)", re.IGNORECASE)


@cache
def digit_words() -> re.Pattern[str]:
    """A digit in words, such as "oh" or "double five"."""
    return re.compile(rf"(?<!\w){_digit_word()}(?!\w)", re.IGNORECASE)


class Said(NamedTuple):
    """Digits that are read out: where they stand, which, and how many of them are words."""

    start: int
    end: int
    digits: str
    words: int


def said(content: str) -> Iterator[Said]:
    """Digits that are read out: where, which, and how many of them are words."""
    for match in _said().finditer(content):
        digits, words = "", 0
        for part in re.finditer(rf"{_digit_word()}(?!\w)|\d+", match[0], re.IGNORECASE):
            text = part[0].lower()
            if text.isdigit():
                digits += text
                continue
            words += 1
            *times, word = text.split()
            value = contexts.table()["spoken_digits"][word]
            if digits.endswith("_"):
                digits = digits[:-1] + ("0" if len(value) > 1 else "")
            digits += value * ({"double": 2, "doble": 2, "triple": 3}[times[0]] if times else 1)
        yield Said(match.start(), match.end(), digits.replace("_", "0"), words)


_PIECE = re.compile(r"[+(]{0,2}\d(?:[ ().\-–]{0,3}\d){1,9}(?!\w)")
_RUN = re.compile(r"[+(]{0,2}\d(?:[ ().\-–]{0,3}\d){0,20}(?!\w)")
_LEAD = re.compile(
    r"\W*(?:(?:and|n|then|okay|um+|uh+|the|rest|is|last|four|dash|y|luego|ends|in|with|its|it's|thats"
    r"|ok|so|finish|starts|first|part|second|half|other|next|1|2)\b\W+){0,5}",
    re.IGNORECASE,
)


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
        piece = _first_piece(content) if contexts.pattern("PHONE_NUMBER").search(content) else None
        if piece is None and _wanted(messages, index):
            lead = _LEAD.match(content)
            piece = _piece(content, lead.end() if lead else 0) if len(content) < 40 else None
            piece = piece if piece and piece[2] in (3, 6) else None
        if piece:
            open_pieces[role] = [(index, *piece)]
    for index, span in _bare(messages):
        if span not in found.setdefault(index, []):
            found[index].append(span)
    return found


_TRIPLE, _SIX, _LAST = (
    re.compile(pattern) for pattern in (r"\(?(\d{3})\)?\W?", r"\(?(\d{3}\)?[ -]\d{3})\W?", r"(\d{4})\W?")
)


def _bare(messages: Sequence[tuple[str, str]]) -> Iterator[tuple[int, Span]]:
    """Messages of one writer in a row that hold nothing but three, three and four digits of a phone number."""
    for last in range(1, len(messages)):
        role = messages[last][0]
        for shapes in ((_TRIPLE, _TRIPLE, _LAST), (_SIX, _LAST)):
            first = last - len(shapes) + 1
            if first < 0 or any(writer != role for writer, _ in messages[first:last]):
                continue
            pieces = [
                shape.fullmatch(text.strip())
                for shape, (_, text) in zip(shapes, messages[first : last + 1], strict=True)
            ]
            for place, piece in enumerate(pieces, first):
                if all(pieces) and piece:
                    offset = messages[place][1].index(piece[1])
                    end = offset + len(piece[1])
                    yield (
                        place,
                        Span(offset, end, "PHONE_NUMBER", 0.75, "a piece of a phone number sent in pieces"),
                    )


_ASKED = re.compile(r"\?|\b(?:what|your|ur|give|send|type|tell|number)\b", re.IGNORECASE)


def _wanted(messages: Sequence[tuple[str, str]], index: int) -> bool:
    """Whether somebody else asked for a phone number in one of the two messages before."""
    role = messages[index][0]
    return any(
        writer != role and contexts.pattern("PHONE_NUMBER").search(text) and _ASKED.search(text)
        for writer, text in messages[max(0, index - 2) : index]
    )


def _first_piece(content: str) -> tuple[int, int, int] | None:
    """The piece of a phone number that a message announces: its only number, too short for a whole one."""
    if len(content) > 160:
        return None
    found = list(_RUN.finditer(content))
    if len(found) != 1:
        if found or not (spoken := list(said(content))):
            return None
        start, end, digits, _ = spoken[-1]
        return (
            (start, end, len(digits)) if 3 <= len(digits) <= 6 and not content[end:].strip(" .,-–…!:)") else None
        )
    start, end = found[0].span()
    size = len(digits_of(found[0][0]))
    announced = len(content) < 60 or not content[end:].strip(" .,-–…!:)")
    return (start, end, size) if 3 <= size <= 6 and announced and not calculated(content, start, end) else None


def _piece(content: str, start: int) -> tuple[int, int, int] | None:
    """A piece of a number that begins at a place: start, end, how many digits."""
    match = _PIECE.match(content, start)
    if match:
        size = len(digits_of(match[0]))
        return (match.start(), match.end(), size) if 2 <= size <= 8 else None
    spoken = next(iter(said(content[start : start + 120])), None)
    if spoken and spoken.start == 0 and 2 <= len(spoken.digits) <= 8 and spoken.words:
        return start, start + spoken.end, len(spoken.digits)
    return None
