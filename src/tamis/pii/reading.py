"""Rows to sessions: which form they have, and where in a row each message stands."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tamis.errors import UsageError
from tamis.pii.annotations import KEYS, key_of, read_spans, unknown_keys
from tamis.pii.recipe import DeidAuditRecipe, SegmentRecipe
from tamis.pii.records import BATCH, TEXT, Record, Source, open_source
from tamis.pii.sessions import Annotated, Message, Session
from tamis.pii.spans import Span

_TURNS = ("transcript", "messages", "conversations", "conversation", "turns", "dialogue", "utterances")
_TEXTS = ("content", TEXT, "message", "value", "utterance")
_ROLES = ("role", "from", "speaker")
UNDERSTOOD = (
    f"a list of messages ({', '.join(_TURNS)}) whose text is {', '.join(_TEXTS)}; or a text column of one of "
    "these names; or the one that --text_column names"
)


@dataclass(frozen=True)
class Place:
    """Where a message's text stands.

    Attributes:
        record: The position of its row among the passage's.
        path: The keys and positions that lead to the text in the row.
        gold: Those that lead to its spans; None where it has none.
    """

    record: int
    path: tuple[str | int, ...]
    gold: tuple[str | int, ...] | None = None


@dataclass(frozen=True)
class Passage:
    """A session and the rows that it came from.

    Attributes:
        annotated: The session, with the spans that its rows had.
        records: The rows, whole.
        places: Where each message stands in them.
    """

    annotated: Annotated
    records: tuple[Record, ...]
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Layout:
    """The form of a source's rows.

    Attributes:
        turns: The column that is a list of messages; None where a row is one message.
        keys: What the key of a message's text may be; the first that is there counts.
        probe: Whether each row is a session of its own, named by its `id`.
        scanned: Other columns whose text is scanned too, as dotted paths.
    """

    turns: str | None
    keys: tuple[str, ...]
    probe: bool = False
    scanned: tuple[str, ...] = ()


def read_sessions(
    name: str,
    *,
    config: str | None = None,
    split: str = "train",
    revision: str | None = None,
    text_column: str | None = None,
) -> Iterator[Annotated]:
    """The sessions of a file or a data set, one after another, each with the spans that it came with.

    Args:
        name: A jsonl, json, csv, tsv, parquet, txt or md file, a folder, or a data set on the Hub.
        config: The data set's config.
        split: The data set's split.
        revision: The data set's revision on the Hub.
        text_column: The column, or the messages' key, that holds the text, where it has an unusual name.

    Raises:
        UsageError: It cannot be read, has no form that is understood, or a row is bad: the sentence names it.
    """
    source = open_source(name, config, split, revision)
    for passage in passages(source, text_column):
        if passage.places:
            yield passage.annotated


def sessions_of(recipe: DeidAuditRecipe | SegmentRecipe) -> Iterator[Annotated]:
    """The sessions that a recipe names, as `read_sessions` gives them."""
    return read_sessions(
        recipe.dataset_name,
        config=recipe.dataset_config,
        split=recipe.dataset_split,
        revision=recipe.dataset_revision,
        text_column=recipe.text_column,
    )


def passages(source: Source, text_column: str | None = None, scanned: Sequence[str] = ()) -> Iterator[Passage]:
    """The sessions of a source with their rows, in order; each row stands in one of them.

    Raises:
        UsageError: As `read_sessions`.
    """
    records = source.records()
    first = next(records, None)
    if first is None:
        return
    layout = _layout(source, first.fields, text_column, tuple(scanned))
    unknown: set[str] = set()
    for passage in _grouped(source, layout, first, records):
        for place in passage.places:
            if place.gold:
                unknown |= unknown_keys(at(passage.records[place.record].fields, place.gold))
        yield passage
    if unknown:
        logging.getLogger("tamis").warning(
            "%s: keys of annotations that are not known: %s", source.name, ", ".join(sorted(unknown))
        )


def at(fields: Any, path: Sequence[str | int]) -> Any:
    """What stands at the end of a path into a row."""
    for key in path:
        fields = fields[key]
    return fields


def texts(fields: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text in a row, and whole numbers as text, each with its path."""
    if isinstance(fields, str):
        yield path, fields
    elif isinstance(fields, int) and not isinstance(fields, bool):
        yield path, str(fields)
    elif isinstance(fields, Mapping):
        for key, value in fields.items():
            yield from texts(value, (*path, key))
    elif isinstance(fields, (list, tuple)):
        for i, value in enumerate(fields):
            yield from texts(value, (*path, i))


def dotted(path: Sequence[str | int]) -> str:
    """A path as a column's name: its keys with dots between them."""
    return ".".join(key for key in path if isinstance(key, str))


def _layout(
    source: Source, fields: Mapping[str, Any], text_column: str | None, scanned: tuple[str, ...]
) -> Layout:
    known = (text_column,) if text_column else _TEXTS
    turns = next((name for name in _TURNS if fields.get(name) == [] or _is_turns(fields.get(name))), None)
    if text_column and _is_turns(fields.get(text_column)):
        turns, known = text_column, _TEXTS
    if turns is not None and (text_column not in fields or text_column == turns):
        return Layout(turns, known, scanned=scanned)
    text = next((name for name in known if name in fields), "")
    if not text:
        seen = ", ".join(fields)
        wanted = f"no column {text_column}" if text_column else "no text"
        raise UsageError(f"{source.name}: {wanted} in the columns {seen}; understood: {UNDERSTOOD}")
    has_own = "id" in fields and "session_id" not in fields
    is_probe = has_own and (source.kind in ("jsonl", "json") or any(key in fields for key in KEYS))
    return Layout(None, (text,), is_probe, scanned)


def _is_turns(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(turn, Mapping) for turn in value)


@dataclass
class _Part:
    """The messages of a session, as they are gathered."""

    name: str
    messages: list[Message] = field(default_factory=list)
    spans: list[tuple[Span, ...]] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    numbers: set[int] = field(default_factory=set)

    def add(self, record: Record, layout: Layout, turn: Mapping[str, Any], path: tuple[str | int, ...]) -> None:
        """Takes one message, which stands at the path in the last row."""
        in_turn = f", message {path[-1] + 1}" if path and isinstance(path[-1], int) else ""
        where = f"{record.where}{in_turn}"
        text = next((key for key in layout.keys if turn.get(key) is not None), None)
        if text is None and (layout.turns or layout.keys[0] in turn):
            return  # an event without words
        content = turn.get(text or "")
        if text is None or not isinstance(content, str):
            found = "not there" if text is None else f"not text but {type(content).__name__}"
            raise UsageError(f"{where}: {text or layout.keys[0]} is {found}")
        default = path[-1] if layout.turns else 0 if layout.probe else record.number
        number = _number(where, turn.get("sequence_id"), default)
        if number in self.numbers:
            raise UsageError(f"{where}: the sequence_id {number} stands twice in its session")
        self.numbers.add(number)
        role = next((str(turn[key]) for key in _ROLES if isinstance(turn.get(key), str)), "")
        gold = key_of(turn)
        self.messages.append(Message(number, role, content))
        self.spans.append(read_spans(where, content, turn[gold]) if gold else ())
        self.places.append(Place(len(self.records) - 1, (*path, text), (*path, gold) if gold else None))

    def add_columns(self, layout: Layout) -> None:
        """Takes the texts of the last row's other columns that are scanned; their numbers are below 0."""
        taken = {place.path for place in self.places if place.record == len(self.records) - 1}
        for path, text in texts(self.records[-1].fields):
            if dotted(path) in layout.scanned and path not in taken and text:
                self.messages.append(Message(-1 - len(self.places), dotted(path), text))
                self.spans.append(())
                self.places.append(Place(len(self.records) - 1, path))

    def passage(self) -> Passage:
        has_gold = any(place.gold for place in self.places)
        session = Session(self.name, tuple(self.messages))
        annotated = Annotated(session, tuple(self.spans) if has_gold else None)
        return Passage(annotated, tuple(self.records), tuple(self.places))


def _number(where: str, given: Any, default: Any) -> int:
    if given is None:
        return int(default)
    if isinstance(given, str) and given.strip().lstrip("-").isdecimal():
        given = int(given)
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise UsageError(f"{where}: its sequence_id is not a whole number from 0 on")
    return given


def _grouped(source: Source, layout: Layout, first: Record, records: Iterator[Record]) -> Iterator[Passage]:
    """Rows of one session, which lie together, become one passage; rows without sessions go by a thousand."""
    seen: set[int] = set()
    part: _Part | None = None
    for record in _chain(first, records):
        turns = record.fields.get(layout.turns or "")
        if turns and not _is_turns(turns):
            raise UsageError(f"{record.where}: {layout.turns} is not a list of messages")
        name = _session_of(source, layout, record)
        alone = layout.turns is not None or layout.probe
        named = alone or record.fields.get("session_id") is not None
        full = part is not None and not named and len(part.records) >= BATCH
        if part is None or alone or part.name != name or full:
            if part is not None:
                yield part.passage()
            if named:
                key = hash(name)
                if key in seen:
                    what = "id stands twice" if alone else "session_id stands in rows that do not lie together"
                    raise UsageError(f"{record.where}: its {what}")
                seen.add(key)
            part = _Part(name)
        part.records.append(record)
        if layout.turns is None:
            part.add(record, layout, record.fields, ())
        else:
            for i, turn in enumerate(turns or ()):
                part.add(record, layout, turn, (layout.turns, i))
        if layout.scanned:
            part.add_columns(layout)
    if part is not None:
        yield part.passage()


def _chain(first: Record, rest: Iterator[Record]) -> Iterator[Record]:
    yield first
    yield from rest


def _session_of(source: Source, layout: Layout, record: Record) -> str:
    """The name of the session that a row is, or belongs to."""
    given = record.fields.get("session_id")
    if given is None and layout.turns is not None:
        turns = record.fields.get(layout.turns) or ()
        given = next((turn["session_id"] for turn in turns if turn.get("session_id") is not None), None)
    if given is None and (layout.turns is not None or layout.probe):
        given = record.fields.get("id")
    if given is not None and given != "":
        return str(given)
    return f"{source.stem}-{record.number}" if layout.turns or layout.probe else source.stem
