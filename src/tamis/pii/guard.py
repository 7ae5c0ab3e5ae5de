"""The maths guard: which spans of a detector are maths, not persons; it works on any detector's spans."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from ipaddress import ip_address

from tamis.pii import contexts, lexicon, maths
from tamis.pii.detect.shapes import luhn
from tamis.pii.labels import FROM_PRESIDIO
from tamis.pii.sessions import Session
from tamis.pii.spans import Span

_WORDED = frozenset({"PERSON", "LOCATION", "SCHOOL", "ORGANIZATION"})
"""Labels of what has words; of other labels, what is no address on the net is a number."""
_ON_THE_NET = ("EMAIL_ADDRESS", "URL", "USERNAME")
_SUM = re.compile(r"\d\s*[=+*×÷^<>]\s*[\d(]")
_LITTLE = 30
"""A message with less than this beside a number is an answer, so that the messages before it are its context."""
_PHONE = re.compile(
    r"\+\d[\d ().-]{6,20}|(?:\+?\d{1,3}[ .-]{1,3})?\(?\d{3}\)?[ .-]{0,3}\d{3}[ .-]{1,3}\d{4}|\d{3}[-.]0\d{"
    r"3}|0\d{1,4}(?:[ .-]\d{2,4}){2,4}"
    r"|[2-9]\d\d/\d{3}-\d{4}"
)
_SSN = re.compile(r"\d{3}[-– ]\d{2}[-– ]\d{4}")
_EMAIL = re.compile(
    r"[^\s@]+\s?@\s?[^\s@]+\.\s?[^\W\d_]{2,}|.*\b(?:at|arroba)\b.*\b(?:dot|punto)\b.*", re.IGNORECASE | re.DOTALL
)
_LINK = re.compile(r"(?:https?|ftp)://|www\.|[\w.-]+\.[a-z]{2,}[/:]|.*\bdot\b", re.DOTALL)
_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)*\.([a-z]{2,})")
_ADDRESS = re.compile(r"\d{1,5}[A-Za-z]?\s+(?:[^\W_][\w.'’]*\s+){1,6}?[^\W\d_]{2,}\b.*", re.DOTALL)
_CARD = re.compile(r"\d(?:[ -]?\d){12,18}")
_VALUE = re.compile(r"[A-Z]{1,3}-?\d{5,9}|\d{2,4}(?:-\d{2,6}){1,3}")
_NO_QUANTITY = re.compile(r"0\d{5,}|0\d{2,}(?:-\d+){2,}")
"""A number that begins with a nought is a number of something."""
_GRADES = re.compile(r"(?:[A-Z][\w'’.]+ ){1,3}(?:[KkPp]|Pre-?K)-(?:5|6|8|12)(?: \w+)?")
_WORKED_BEFORE = re.compile(r"[=+*/^<>×÷·√∫∑\\{_|]\s*\Z|\d\s*[-−]\s*\Z")
_WORKED_BEHIND = re.compile(r"\s*(?:[=*^<>×÷·{}|²³°%]|\+|/\s*[\w(]|-\s*[\w(]+\s*=)")
_LETTERS = re.compile(r"[^\W\d_]{2,}|(?=[^\W\d_])[\u0590-\uffff]")
_INITIALS = re.compile(r"[^\W\d_]\.|(?:[^\W\d_][.\s]*){2,15}")
_NUMBERED_SCHOOL = re.compile(r"(?:[^\W\d_]\.?){2,3}\s?#?\d{1,3}")
_FUNCTIONS = frozenset(
    [
        "max",
        "min",
        "sin",
        "cos",
        "tan",
        "cot",
        "sec",
        "csc",
        "log",
        "ln",
        "exp",
        "sqrt",
        "lim",
        "mod",
        "gcd",
        "lcm",
        "gcf",
        "lcd",
        "abs",
        "det",
        "dim",
        "frac",
        "cdot",
        "times",
        "dx",
        "dy",
        "dt",
        "deg",
        "rad",
    ]
)
_TERMS = frozenset(
    [
        "pythagorean",
        "euclidean",
        "gaussian",
        "cartesian",
        "radian",
        "radians",
        "degree",
        "degrees",
        "newtonian",
        "riemannian",
        "eulerian",
        "boolean",
        "fibonacci",
        "celsius",
        "fahrenheit",
    ]
)
_SHAPES = {"EMAIL_ADDRESS": _EMAIL, "PHONE_NUMBER": _PHONE, "US_SSN": _SSN}
_NAMES_TOO = frozenset({"max", "deg", "det", "dim", "abs"})
_FUNCTION_BEHIND = re.compile(r"\s*(?:[(_=\d]|of\b|value|height|point|is\b|and\s+min\b)", re.IGNORECASE)
_UNIT_BEFORE = re.compile(
    r"(?:\d\s*°?|\b(?:degrees?|to|in|into|use|using|by|the|apply|of|a|with))\s*\Z", re.IGNORECASE
)
_VARIABLE = re.compile(r"[A-Za-z]{1,2}\d{1,3}")
_LETTER_BY_LETTER = re.compile(r"[^\W\d_](?:([ .,–-]|, | - |\.\.\.)[^\W\d_])(?:\1[^\W\d_]){1,14}")
_EDGES = " \t\n,.;:"
_HAND = re.compile(r"@[\w.-]+")


def guard(content: str, spans: Iterable[Span], before: str = "") -> tuple[list[Span], list[tuple[Span, str]]]:
    """The spans that are personal, and those that are maths, each with the reason.

    A span inside a maths expression is dropped unless a stronger reason holds: a context word of its label near
    it, the shape of an e-mail address, a phone number and the like, or a self-introduction. One that holds maths
    at its edges is cut to what is left, so that no kept span covers arithmetic that it is not made of.

    Args:
        content: The message.
        spans: The spans of a detector, of any labels.
        before: The messages before it, where a context word counts too ("how old are you?").

    Returns:
        The kept spans, in order; the dropped ones with why.
    """
    ordered = sorted(spans)
    if not ordered:
        return [], []
    pieces = maths.expressions(content)
    starts = [start for start, _ in pieces]
    kept, dropped = [], []
    for span in ordered:
        at = max(bisect_right(starts, span.start) - 1, 0)
        touching = []
        while at < len(pieces) and pieces[at][0] < span.end:
            if pieces[at][1] > span.start:
                touching.append(pieces[at])
            at += 1
        result = _judged(content, span, touching, before)
        if isinstance(result, str):
            dropped.append((span, result))
        else:
            kept.append(result)
    return kept, dropped


def guarded(
    session: Session, spans: Sequence[Iterable[Span]]
) -> tuple[list[list[Span]], list[list[tuple[Span, str]]]]:
    """A session's spans through the guard, each message with the three before it: kept, and dropped with why."""
    kept, dropped = [], []
    for place, (message, found) in enumerate(zip(session, spans, strict=True)):
        before = "\n".join(earlier.content[-200:] for earlier in session.messages[max(0, place - 3) : place])
        good, bad = guard(message.content, found, before)
        kept.append(good)
        dropped.append(bad)
    return kept, dropped


def _judged(content: str, span: Span, pieces: list[tuple[int, int]], before: str) -> Span | str:
    """The span, or what is left of it; or the reason why it goes."""
    text = content[span.start : span.end]
    if span.label == "URL" and contexts.is_public(text):
        return "a public site"
    if span.label not in (*_WORDED, *_ON_THE_NET) and _SUM.search(text):
        return "a sum"
    if shaped(content, span):
        return span
    if span.label == "URL":
        return span if _linked(text) else "no link: a full stop between words"
    if span.label in _ON_THE_NET:
        inside = _covers(pieces, span) and not _HAND.fullmatch(text)
        return "inside a maths expression" if inside else span
    if span.label in _WORDED:
        return _worded(content, span, pieces)
    if _said(content, span, before):
        return span
    if pieces:
        return "inside a maths expression"
    if text.lower() in _TERMS:
        return "a function or a term of mathematics"
    return _unnamed(span.label, text) or span


def _linked(text: str) -> bool:
    """Whether a text is a link, and not two sentences without a space between them."""
    host = _HOST.fullmatch(text)
    if host:
        return host[1] in contexts.words("top_level") and host[1] not in contexts.words("top_level_words")
    return _LINK.match(text) is not None


def _said(content: str, span: Span, before: str) -> bool:
    """Whether a word near a number says what it is; no other number may stand between the two."""
    label = FROM_PRESIDIO.get(span.label, "ID_NUMBER")
    if label not in contexts.table()["context"]:
        return False
    pattern = contexts.pattern(label)
    left = content[max(0, span.start - contexts.LEFT) : span.start]
    found = list(pattern.finditer(left))
    if found and not re.search(r"\d", left[found[-1].end() :]):
        return True
    behind = pattern.search(content, span.end, min(len(content), span.end + contexts.RIGHT))
    if behind and not re.search(r"\d", content[span.end : behind.start()]):
        return True
    rest = content[: span.start] + content[span.end :]
    alone = len(rest) < _LITTLE and not re.search(r"[=+*^<>×÷]|[-−(]\s*\(?[-−]?\s*\d|[-−] \(", rest)
    return alone and pattern.search(before) is not None


def _unnamed(label: str, text: str) -> str:
    """Why a number in plain text is not personal where no word says that it is; empty if it may be."""
    if label == "AGE" or not any(map(str.isdigit, text)):
        return ""
    if _VARIABLE.fullmatch(text):
        return "a variable with an index"
    if text.strip().isdigit() or re.fullmatch(r"\d*\.\d+", text):
        return "a plain number that no word calls personal"
    return ""


def _worded(content: str, span: Span, pieces: list[tuple[int, int]]) -> Span | str:
    """What becomes of a name, a place or an organisation: maths has no words but its functions and terms."""
    text = content[span.start : span.end]
    introduced = (
        span.label == "PERSON" and contexts.distance("PERSON", content, span.start, span.end, 24, 0) is not None
    )
    words = [word.lower() for word in _LETTERS.findall(text)]
    if (
        span.label in ("LOCATION", "SCHOOL")
        and pieces
        and _ADDRESS.fullmatch(text)
        and contexts.distance("LOCATION", content, span.start, span.end)
    ):
        return span
    if not introduced and words and all(word in _FUNCTIONS | _TERMS for word in words):
        named = words[0] in _NAMES_TOO and not _FUNCTION_BEHIND.match(content, span.end) and not pieces
        if not named:
            return "a function or a term of mathematics"
    if not introduced and words and _theorem(content, span, lexicon.folded(words[-1])):
        return "what mathematics is called after"
    form = _NUMBERED_SCHOOL if span.label == "SCHOOL" else _INITIALS
    if not pieces and form.fullmatch(text):
        return span
    if pieces or not words:
        left = _cut(content, span, pieces)
        if left is None or not _LETTERS.search(content[left.start : left.end]):
            short = introduced and not any(c.isdigit() or c in "=<>^\\{}" for c in text)
            return (
                span
                if short and not _covers(pieces, span)
                else "inside a maths expression"
                if pieces
                else "no words in it"
            )
        return left
    if re.search(r"[=<>^\\{}|]|\d\s*[+*/×÷]", text):
        return "operators in it"
    worked = _WORKED_BEFORE.search(content[max(0, span.start - 3) : span.start]) or _WORKED_BEHIND.match(
        content[span.end : span.end + 6]
    )
    return "a variable in a formula" if worked and len(text) < 3 else span


def _theorem(content: str, span: Span, key: str) -> bool:
    """Whether a name is a mathematician's, or that of a theorem, a rule or a unit here."""
    if lexicon.kind(key) != lexicon.EPONYM:
        return False
    after = [token.norm for token in lexicon.tokens(content[span.end : span.end + 32])]
    if any(word in lexicon.listed("eponym_nouns") for word in after[: 1 + (after[:1] == ["s"])]):
        return True
    before = content[max(0, span.start - 12) : span.start]
    return key not in lexicon.listed("shared_eponyms") or bool(_UNIT_BEFORE.search(before))


def _covers(pieces: list[tuple[int, int]], span: Span) -> bool:
    return any(start <= span.start and span.end <= end for start, end in pieces)


def _cut(content: str, span: Span, pieces: list[tuple[int, int]]) -> Span | None:
    """A span without the maths at its edges; None if nothing is left."""
    start, end = span.start, span.end
    for left, right in pieces:
        start += len(content[start:end]) - len(content[start:end].lstrip(_EDGES))
        if left <= start < right:
            start = right
    for left, right in reversed(pieces):
        end -= len(content[start:end]) - len(content[start:end].rstrip(_EDGES))
        if left < end <= right:
            end = left
    start += len(content[start:end]) - len(content[start:end].lstrip(_EDGES))
    end -= len(content[start:end]) - len(content[start:end].rstrip(_EDGES))
    return replace(span, start=start, end=end) if start < end else None


def shaped(content: str, span: Span) -> bool:
    """Whether a span's own shape says what it is, and no operator makes it a part of a sum."""
    text = content[span.start : span.end]
    if span.label in ("IP_ADDRESS", "CREDIT_CARD"):
        fits = (
            _address(text)
            if span.label == "IP_ADDRESS"
            else bool(_CARD.fullmatch(text)) and luhn("".join(filter(str.isdigit, text)))
        )
    elif span.label == "PERSON":
        fits = _spelled(content, span)
    elif span.label == "ID_NUMBER":
        fits = bool(_VALUE.fullmatch(text) and text[0].isalpha()) or bool(_NO_QUANTITY.fullmatch(text))
    elif span.label == "SCHOOL":
        fits = bool(_GRADES.fullmatch(text))
    elif span.label == "URL":
        fits = bool(re.match(r"(?:https?|ftp)://|www\.|[\w.-]+\.[a-z]{2,}/", text, re.IGNORECASE))
    elif span.label == "LOCATION":
        fits = bool(_ADDRESS.fullmatch(text)) and any(
            word in contexts.words("street_types") for word in re.findall(r"[a-z]+", text.lower())
        )
    else:
        shape = _SHAPES.get(span.label)
        fits = bool(shape and shape.fullmatch(text))
    if not fits or span.label in ("EMAIL_ADDRESS", "URL"):
        return fits
    edge = content[max(0, span.start - 4) : span.start], content[span.end : span.end + 12]
    return not (_WORKED_BEFORE.search(edge[0]) or _WORKED_BEHIND.match(edge[1]))


def _spelled(content: str, span: Span) -> bool:
    """Whether a name is spelled letter by letter: and the letters or the text say a name."""
    text = content[span.start : span.end]
    if not _LETTER_BY_LETTER.fullmatch(text):
        return False
    said = re.search(
        r"(?i)\b(?:spel\w*|names?|nombre|letters)\b", content[max(0, span.start - contexts.LEFT) : span.start]
    )
    return bool(said) or lexicon.kind(lexicon.folded(text)) in (lexicon.GIVEN, lexicon.FAMILY)


def _address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return bool(re.fullmatch(r"(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}", text))
    return True
