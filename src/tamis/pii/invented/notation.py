"""How maths is written: plain, with signs, in LaTeX, or said aloud."""

from __future__ import annotations

import re
from random import Random

from tamis.pii.invented.words import in_words

NOTATIONS = ("plain", "tight", "signs", "times", "latex", "dollars", "brackets", "said")

_SUPERSCRIPTS = str.maketrans("0123456789n", "⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ")
_SAID = (
    (r"√\(?([\w ^+]+)\)?", r"the square root of \1"),
    (r"\^2\b", " squared"),
    (r"\^3\b", " cubed"),
    (r"\^\(?(-?\w+)\)?", r" to the \1"),
    (r"(\d)\(", r"\1 times ("),
    (r"([A-Za-z]'?)\((-?\w+)\)", r"\1 of \2"),
    (r"(?<=[\w)])/(?=[\w(])| / | ÷ ", " over "),
    (r"\*", " times "),
    (r"<", " is less than "),
    (r">", " is greater than "),
    (r"=", " equals "),
    (r"\+", " plus "),
    (r"(?<=[\w)]) ?- ?(?=[\w(])", " minus "),
    (r"-(?=[\w(])", " negative "),
    (r"(\d)([a-z])", r"\1 \2"),
    (r"[()]", " "),
    (r"π", " pi"),
    (r"θ", " theta"),
)


def written(text: str, notation: str, rng: Random) -> str:
    """A piece of plain maths in a notation.

    Args:
        text: Such as `3x^2 + 1/2 = 5 * 4`.
        notation: One of `NOTATIONS`.
        rng: Decides what may be either way.
    """
    if notation == "tight":
        return re.sub(r" ?([-+*/=<>]) ?", r"\1", text)
    if notation == "signs":
        text = re.sub(r"\^([0-9n]+)", lambda found: found[1].translate(_SUPERSCRIPTS), text)
        return text.replace(" * ", " × ").replace(" / ", " ÷ ").replace(" - ", rng.choice((" - ", " − ", " – ")))
    if notation == "times":
        return re.sub(r"(\d) \* (\d)", r"\1 x \2", text)
    if notation in ("latex", "dollars", "brackets"):
        return _latex(text, notation)
    if notation == "said":
        return _said(text, rng)
    return text


def _latex(text: str, notation: str) -> str:
    text = re.sub(r"√\(([^()]*)\)|√(\w+)", lambda found: rf"\sqrt{{{found[1] or found[2]}}}", text)
    text = re.sub(r"(?<![\w.])(\w+)/(\w+)(?![\w.(])", r"\\frac{\1}{\2}", text)
    text = re.sub(r"\^\(?(-?\w{2,})\)?", r"^{\1}", text)
    text = re.sub(r"\b(sin|cos|tan|ln|log|lim|gcf)\b", r"\\\1", text).replace("gcf", "gcd")
    for old, new in (
        (" * ", r" \cdot "),
        (" ÷ ", r" \div "),
        ("π", r"\pi "),
        ("θ", r"\theta"),
        ("->", r"\to "),
        ("%", r"\%"),
    ):
        text = text.replace(old, new)
    opening, closing = {"latex": ("$", "$"), "dollars": ("$$", "$$"), "brackets": (r"\(", r"\)")}[notation]
    return f"{opening}{text.strip()}{closing}"


def _said(text: str, rng: Random) -> str:
    for pattern, new in _SAID:
        text = re.sub(pattern, new, text)
    if rng.random() < 0.7:
        text = re.sub(r"(?<![\d.,])\d{1,6}(?![\d.,])", lambda found: in_words(int(found[0])), text)
    return re.sub(r" +", " ", text).strip()
