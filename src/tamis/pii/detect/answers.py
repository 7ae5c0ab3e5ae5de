"""Numbers that somebody asks for, and values that were called somebody's elsewhere in the session."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tamis.pii import contexts
from tamis.pii.detect.shapes import calculated, digits_of
from tamis.pii.detect.views import View
from tamis.pii.spans import Span

_NUMBERS = ("PHONE_NUMBER", "US_SSN", "CREDIT_CARD", "ID_NUMBER")
_ASKS = re.compile(
    r"\?|\b(?:what|whats|your|ur|type|enter|send|give|tell|read|need|confirm|verify|cual|tu)\b", re.IGNORECASE
)
_VALUE = re.compile(r"(?<![\w.$€£])(?:[A-Za-z]{1,4}-?\d(?:[ -]?\d){3,15}|\d(?:[ -]?\d){5,15})(?![\w%°]|\.\d)")
_SHORT = 48
"""An answer that is more than a number is no longer than so many characters."""
_LEAST, _MOST_VALUES = 5, 200
_REPEATED = frozenset({*_NUMBERS, "USERNAME", "DATE_OF_BIRTH", "EMAIL_ADDRESS"})


def asked(views: Sequence[View], place: int) -> Iterator[Span]:
    """The number that answers a question for one."""
    seen = views[place]
    if len(seen.content) > _SHORT or not (value := _VALUE.search(seen.content)):
        return
    start, end = value.span()
    digits = len(digits_of(value[0]))
    if digits_of(value[0]) in "01234567890123456789" or any(mark in seen.content for mark in "=+*^√"):
        return
    if calculated(seen.content, start, end):
        return
    for earlier in reversed(views[max(0, place - 2) : place]):
        if earlier.role == seen.role or earlier.problem[1] or not _ASKS.search(earlier.content):
            continue
        named = [
            (found[-1].end(), label)
            for label in _NUMBERS
            if (found := list(contexts.pattern(label).finditer(earlier.content[-300:])))
        ]
        if named:
            label = max(named)[1]
            if label == "ID_NUMBER" or digits >= 7:
                yield Span(start, end, label, 0.65, "answers a question for a number")
            return


def repeated(views: Sequence[View], found: Sequence[Sequence[Span]], threshold: float) -> list[list[Span]]:
    """The other places where values stand that were told to be somebody's."""
    labels: dict[str, str] = {}
    for seen, spans in zip(views, found, strict=True):
        for span in spans:
            text = seen.content[span.start : span.end]
            counts = (span.label == "USERNAME" and not text.isalpha()) or len(digits_of(text)) >= _LEAST
            if span.label in _REPEATED and span.score >= threshold and len(text) >= _LEAST and counts:
                labels.setdefault(text.casefold(), span.label)
    if not labels:
        return [[] for _ in views]
    listed = sorted(list(labels)[:_MOST_VALUES], key=len, reverse=True)
    either = re.compile(rf"(?<![\w.$])(?:{'|'.join(map(re.escape, listed))})(?!\w)", re.IGNORECASE)
    return [
        [
            Span(*match.span(), labels[match[0].casefold()], 0.7, "a value that is somebody's elsewhere")
            for match in either.finditer(seen.content)
            if match[0].casefold() in labels and not calculated(seen.content, *match.span())
        ]
        for seen in views
    ]
