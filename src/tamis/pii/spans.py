"""Where personal data stands in a text: spans, their checks, and how overlapping ones become one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeVar

from tamis.errors import UsageError

Found = TypeVar("Found")


@dataclass(frozen=True, order=True)
class Span:
    """A piece of a message.

    Attributes:
        start: The offset of its first code point.
        end: The offset behind its last code point.
        label: One of `labels.LABELS`, or a detector's own name where that has no label of ours.
        score: How sure the detector is, from 0 to 1.
        reason: Why, in words that hold nothing of the text itself.
    """

    start: int
    end: int
    label: str
    score: float = 1.0
    reason: str = ""


def check(where: str, content: str, spans: Iterable[Span]) -> None:
    """Refuses spans that do not lie in their text.

    Raises:
        UsageError: Offsets are outside the text or the wrong way round; the sentence begins with `where`.
    """
    for span in spans:
        if not 0 <= span.start < span.end <= len(content):
            raise UsageError(
                f"{where}: a span from {span.start} to {span.end} lies outside a text of {len(content)} characters"
            )


def settled(spans: Iterable[Span], threshold: float, thresholds: Mapping[str, float] | None = None) -> list[Span]:
    """The spans that count, in order, none overlapping another.

    What scores below its threshold goes first, so that it takes nothing with it. Then spans that overlap become
    one over all that they cover: nothing that was found stays in the text, and one person has one tag.

    Args:
        spans: Spans of one message, in any order.
        threshold: The least score.
        thresholds: The least score of single labels, in its place.

    Returns:
        The joined spans; label, score and reason are those of the best of each (then the longest, then the first).
    """
    least = thresholds or {}
    counted = (span for span in spans if span.score >= least.get(span.label, threshold))
    return [_joined(group) for group in overlapping(counted, lambda span: span)]


def overlapping(found: Iterable[Found], place: Callable[[Found], Span]) -> list[list[Found]]:
    """What is found in one message, in groups that overlap nothing outside themselves, each in order.

    Args:
        found: Spans, or what has one.
        place: Says which span it has.
    """
    groups: list[list[Found]] = []
    end = -1
    for one in sorted(found, key=place):
        if groups and place(one).start < end:
            groups[-1].append(one)
            end = max(end, place(one).end)
        else:
            groups.append([one])
            end = place(one).end
    return groups


def _joined(group: list[Span]) -> Span:
    best = min(group, key=lambda span: (-span.score, span.start - span.end, span.start))
    return replace(best, start=group[0].start, end=max(span.end for span in group))


def to_utf16(text: str, offset: int) -> int:
    """A code-point offset as UTF-16 units, which web pages and JavaScript count in."""
    return len(text[:offset].encode("utf-16-le", "surrogatepass")) // 2


def from_utf16(text: str, offset: int) -> int:
    """A UTF-16 offset as code points; one that falls inside a surrogate pair counts as before it.

    Raises:
        UsageError: The offset lies outside the text.
    """
    ends = [0, *accumulate(1 + (ord(c) > 0xFFFF) for c in text)]
    if not 0 <= offset <= ends[-1]:
        raise UsageError(f"the UTF-16 offset {offset} lies outside a text of {ends[-1]} units")
    return bisect_right(ends, offset) - 1
