"""A line with slots to pieces of text, each with what it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from tamis.pii.spans import Span

MATHS = "MATHS"
"""What a piece of maths is called until it is written in somebody's notation; it is no label of a span."""

Piece = tuple[str, str | None]
"""A text, and its label, `MATHS`, or None."""

_CHOICE = re.compile(r"<([^<>]*\|[^<>]*)>")
_SLOT = re.compile(r"\{(\w+)\}")
_PART = re.compile(r"\{([^{}]+)\}|`([^`]*)`")


def chosen(line: str, rng: Random) -> str:
    """The line with one of each `<a|b|c>` in it, and a line's end for each ⏎."""
    while match := _CHOICE.search(line):
        line = line[: match.start()] + rng.choice(match[1].split("|")) + line[match.end() :]
    return line.replace("⏎", "\n")


def fill(line: str, rng: Random, slot: Callable[[str], list[Piece]]) -> list[Piece]:
    """The pieces of a line: choices made, `{slots}` filled by `slot`, text between backticks taken as maths."""

    def plain(found: re.Match[str]) -> str:
        return "".join(text for text, _ in slot(found[1]))

    line = chosen(line, rng)
    pieces: list[Piece] = []
    last = 0
    for match in _PART.finditer(line):
        pieces.append((line[last : match.start()], None))
        pieces += slot(match[1]) if match[1] else [(_SLOT.sub(plain, match[2]), MATHS)]
        last = match.end()
    return [piece for piece in [*pieces, (line[last:], None)] if piece[0]]


def joined(pieces: list[Piece]) -> tuple[str, tuple[Span, ...]]:
    """The text of a message and its spans, which touch no space at either end."""
    text, spans = "", list[Span]()
    for part, label in pieces:
        if label and label != MATHS:
            start = len(text)
            if label == "PERSON" and spans and spans[-1].label == label and text[spans[-1].end :] == " ":
                start = spans.pop().start  # first and last name are one
            spans.append(Span(start, len(text) + len(part), label))
        text += part
    left = len(text) - len(text.lstrip())
    return text.strip(), tuple(Span(span.start - left, span.end - left, span.label) for span in spans)
