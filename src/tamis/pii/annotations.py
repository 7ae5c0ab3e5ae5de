"""Spans that data came with, under whatever names: read, checked against their text, and moved with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tamis.errors import UsageError
from tamis.pii.labels import FROM_PRESIDIO
from tamis.pii.spans import Span, check

KEYS = ("spans", "annotations", "entities", "privacy_mask")
"""Where a record or a message holds its spans."""
_START = ("start", "begin", "start_offset", "begin_offset", "start_char", "char_start", "start_index", "from")
_END = ("end", "stop", "end_offset", "stop_offset", "end_char", "char_end", "end_index", "to")
_LABEL = ("label", "entity_type", "entity", "type", "pii_type", "tag", "category", "class", "entity_group")
_SURFACE = ("text", "value", "surface", "content", "word", "span", "entity_text", "original", "mention")
_SCORE = ("score", "confidence")
_KNOWN = (*_START, *_END, *_LABEL, *_SURFACE, *_SCORE, "reason", "id")


def key_of(record: Mapping[str, Any]) -> str | None:
    """The key under which a record or a message holds its spans; None where it has none."""
    return next((key for key in KEYS if isinstance(record.get(key), list)), None)


def is_known(key: Any) -> bool:
    """Whether an annotation's key has a meaning here."""
    return _plain(key) in _KNOWN


def unknown_keys(given: list[Any]) -> set[str]:
    """The keys of annotations that nothing is known about."""
    return {str(key) for one in given if isinstance(one, Mapping) for key in one if not is_known(key)}


def read_spans(where: str, content: str, given: list[Any]) -> tuple[Span, ...]:
    """The spans of a text, in order.

    Args:
        where: File, row and message, for the sentence about a bad one.
        content: The text that they lie in.
        given: Objects with start, end and label under the usual names, or lists of these three.

    Raises:
        UsageError: An annotation has no start, end or label under a name that is known (those it has are named);
            its offsets are outside the text; or its own text is not what stands there.
    """
    spans = []
    for number, one in enumerate(given, 1):
        here = f"{where}: annotation {number}"
        if isinstance(one, (list, tuple)) and len(one) == 3:
            one = dict(zip(("start", "end", "label"), one, strict=True))
        if not isinstance(one, Mapping):
            raise UsageError(f"{here}: is not an object with start, end and label")
        start, end, label = (_value(one, names) for names in (_START, _END, _LABEL))
        if start is None or end is None or label is None:
            raise UsageError(
                f"{here}: no start, end or label in the keys {', '.join(map(str, one))}; "
                f"known: {', '.join((*_START, *_END, *_LABEL))}"
            )
        if not all(isinstance(offset, int) and not isinstance(offset, bool) for offset in (start, end)):
            raise UsageError(f"{here}: start and end are not whole numbers")
        name = str(label).strip("<>[]{}")
        score, reason = _value(one, _SCORE), one.get("reason")
        span = Span(
            start,
            end,
            FROM_PRESIDIO.get(name.upper(), name),
            float(score) if isinstance(score, (int, float)) else 1.0,
            reason if isinstance(reason, str) else "",
        )
        check(here, content, [span])
        surface = _value(one, _SURFACE)
        if isinstance(surface, str) and surface != content[start:end]:
            raise UsageError(f"{here}: its text is not what stands from {start} to {end}")
        spans.append(span)
    return tuple(sorted(spans))


def carried(given: list[Any], content: str, move: Callable[[int, int], tuple[int, int]]) -> list[Any]:
    """The annotations of a text that was changed: offsets moved, their own text taken from the new one.

    Args:
        given: The annotations, which `read_spans` has read.
        content: The new text.
        move: Start and end in the old text -> those in the new one.
    """
    out: list[Any] = []
    for one in given:
        if isinstance(one, (list, tuple)):
            out.append([*move(one[0], one[1]), *one[2:]])
            continue
        made = dict(one)
        first, last = (_name(one, names) for names in (_START, _END))
        made[first], made[last] = start, end = move(one[first], one[last])
        surface = _name(one, _SURFACE)
        if surface and isinstance(one[surface], str):
            made[surface] = content[start:end]
        out.append(made)
    return out


def _plain(key: Any) -> str:
    """A key as it is compared: `startOffset` and `start-offset` are `start_offset`."""
    text = "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(str(key)))
    return text.replace("-", "_").replace(" ", "_").replace("__", "_")


def _name(one: Mapping[str, Any], names: tuple[str, ...]) -> str:
    plain = {_plain(key): key for key in one}
    return next((plain[name] for name in names if name in plain and one[plain[name]] is not None), "")


def _value(one: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return one.get(_name(one, names))
