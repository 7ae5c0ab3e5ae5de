"""Personal data that has a shape: numbers, addresses on the net and in a street, ages, dates and schools."""

from __future__ import annotations

from collections.abc import Sequence

from tamis.pii.detect import answers, dates, net, numbers, places, spoken
from tamis.pii.detect.views import View
from tamis.pii.spans import Span

_THRESHOLD = 0.5
"""A value that scores so much is looked for in the whole session."""


def find(views: Sequence[View]) -> list[list[Span]]:
    """The spans of each message that have a shape, those below the threshold too."""
    pieces = spoken.split([(seen.role, seen.content) for seen in views])
    found = []
    for place, seen in enumerate(views):
        spans = [*net.find(seen.content), *numbers.find(seen.content), *pieces.get(place, ())]
        spans += [*answers.asked(views, place), *dates.find(views, place), *places.find(views, place)]
        found.append(spans)
    again = answers.repeated(views, found, _THRESHOLD)
    return [spans + more for spans, more in zip(found, again, strict=True)]
