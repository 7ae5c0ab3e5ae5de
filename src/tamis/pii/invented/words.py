"""Numbers in words."""

from __future__ import annotations

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
}


def in_words(n: int) -> str:
    """A number below a million as it is said."""
    if n < 20:
        return _ONES[n]
    if n < 100:
        return _TENS[n // 10 - 2] + (f"-{_ONES[n % 10]}" if n % 10 else "")
    if n < 1000:
        return f"{_ONES[n // 100]} hundred" + (f" {in_words(n % 100)}" if n % 100 else "")
    return f"{in_words(n // 1000)} thousand" + (f" {in_words(n % 1000)}" if n % 1000 else "")


def ordinal(n: int) -> str:
    """A number below a hundred as a place in an order, in words."""
    head, dash, last = in_words(n).rpartition("-")
    if last in _TENS:
        return f"{head}{dash}{last[:-1]}ieth"
    return head + dash + _ORDINALS.get(last, "twelfth" if last == "twelve" else f"{last}th")


def suffixed(n: int) -> str:
    """A number with st, nd, rd or th."""
    return f"{n}{'th' if 10 <= n % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def digits_in_words(digits: str, nought: str = "zero") -> str:
    """Each digit as a word."""
    return " ".join(nought if digit == "0" else _ONES[int(digit)] for digit in digits)
