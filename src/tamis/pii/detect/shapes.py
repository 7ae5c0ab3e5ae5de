"""What digits say by themselves: their checksum, and whether they are a part of a sum."""

from __future__ import annotations

import re

_OPERATOR_BEHIND = re.compile(r"\s*(?:[=*^<>×÷%°√]|[+/](?!\w*\s*\Z))")
_OPERATOR_BEFORE = re.compile(r"[=*^<>×÷√$€£+/]\s*\Z|\d\s*[-−–]\s+\Z")


def digits_of(text: str) -> str:
    """The digits of a text, together."""
    return "".join(letter for letter in text if letter.isdigit())


def luhn(digits: str) -> bool:
    """Whether the last digit checks the others, as on payment cards."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def calculated(content: str, start: int, end: int) -> bool:
    """Whether an operator stands right beside a number."""
    return bool(
        _OPERATOR_BEHIND.match(content, end) or _OPERATOR_BEFORE.search(content[max(0, start - 4) : start])
    )
