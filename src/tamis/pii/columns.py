"""A row's texts by their columns: which are structure, which were scanned, and which nobody looked at."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from tamis.pii.annotations import carried, is_known
from tamis.pii.operators import Offset, moved
from tamis.pii.reading import Passage, at, dotted, texts

_IDS = ("session_id", "sequence_id", "id", "row_id", "conversation_id")
_ID = re.compile(r"(?=.*\d)[\w.:/-]{1,64}")
_ROLES = ("role", "from", "speaker")
_ROLE_NAMES = frozenset(
    ["student", "tutor", "teacher", "volunteer", "learner", "user", "assistant", "system", "human", "gpt", "tool"]
)
Path = tuple[str | int, ...]
_LONG_NUMBER = 7  # digits from which on a number may be somebody's


def unscanned(passage: Passage, dropped: Collection[str]) -> set[str]:
    """The columns of a passage that hold text which is no message, by dotted names.

    Ids with a digit in them, the usual roles, short numbers and the labels of annotations are no text.
    """
    found: set[str] = set()
    scanned: list[set[Path]] = [set() for _ in passage.records]
    gold: list[set[Path]] = [set() for _ in passage.records]
    for place in passage.places:
        scanned[place.record].add(place.path)
        if place.gold:
            gold[place.record].add(place.gold)
    for i, record in enumerate(passage.records):
        for path, text in texts(record.fields):
            name = dotted(path)
            if path in scanned[i] or name in found or _is_under(name, dropped):
                continue
            lies_in = next((len(one) for one in gold[i] if path[: len(one)] == one), None)
            if not _is_structure(path, text) and (lies_in is None or not _is_annotation(path[lies_in:])):
                found.add(name)
    return found


def _is_structure(path: Path, text: str) -> bool:
    key = next(key for key in reversed(path) if isinstance(key, str))
    if key in _IDS:
        return not text or bool(_ID.fullmatch(text))
    if key in _ROLES and text.lower() in _ROLE_NAMES:
        return True
    digits = sum(c.isdigit() for c in text)
    return not any(c.isalpha() for c in text) and digits < _LONG_NUMBER


def _is_annotation(rest: Path) -> bool:
    """Whether a text of an annotation is one that `annotations` knows, from the path inside the list of them."""
    return rest[1:] == (2,) or (len(rest) == 2 and is_known(rest[1]))


def _is_under(name: str, columns: Collection[str]) -> bool:
    return any(name == column or name.startswith(f"{column}.") for column in columns)


def names_in(fields: Any, path: str = "") -> set[str]:
    """The dotted names of all columns of a row, those that hold others too."""
    found: set[str] = set()
    if isinstance(fields, Mapping):
        for key, value in fields.items():
            name = f"{path}.{key}" if path else str(key)
            found |= {name, *names_in(value, name)}
    elif isinstance(fields, (list, tuple)):
        for value in fields:
            found |= names_in(value, path)
    return found


def edited(
    passage: Passage, new: Sequence[str], offsets: Sequence[Sequence[Offset]], dropped: Collection[str] = ()
) -> list[dict[str, Any]]:
    """The passage's rows with its messages' new texts, their annotations moved, and columns left out.

    A row in which nothing changes is the very object that it was.

    Args:
        passage: The passage.
        new: The new text of each message.
        offsets: Where its replaced pieces stand.
        dropped: Dotted names of columns; what stands inside an Arrow column becomes null there.
    """
    rows = [record.fields for record in passage.records]
    for place, message, text, changes in zip(passage.places, passage.annotated.session, new, offsets, strict=True):
        if text == message.content:
            continue
        row = _with(rows[place.record], place.path, text)
        if place.gold:
            given = at(passage.records[place.record].fields, place.gold)
            row = _with(row, place.gold, carried(given, text, partial(moved, changes)))
        rows[place.record] = row
    if dropped:
        rows = [
            _without(row, dropped, is_arrow=hasattr(record.raw, "schema"))
            for row, record in zip(rows, passage.records, strict=True)
        ]
    return rows


def _with(fields: Any, path: Sequence[str | int], value: Any) -> Any:
    """A copy in which one value is another; all that does not lead to it is shared."""
    if not path:
        return value
    copy: Any = dict(fields) if isinstance(fields, Mapping) else list(fields)
    copy[path[0]] = _with(fields[path[0]], path[1:], value)
    return copy


def _without(fields: Any, dropped: Collection[str], is_arrow: bool, path: str = "") -> Any:
    if isinstance(fields, Mapping):
        made = {}
        for key, value in fields.items():
            name = f"{path}.{key}" if path else str(key)
            if name not in dropped:
                made[key] = _without(value, dropped, is_arrow, name)
            elif is_arrow and path:
                made[key] = None
        return fields if len(made) == len(fields) and all(made[key] is fields[key] for key in fields) else made
    if isinstance(fields, list):
        values = [_without(value, dropped, is_arrow, path) for value in fields]
        return fields if all(new is old for new, old in zip(values, fields, strict=True)) else values
    return fields
