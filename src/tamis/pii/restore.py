"""Redacted rows as they were: what was encrypted, with its key; surrogates, with their map."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tamis.errors import UsageError
from tamis.pii.columns import edited
from tamis.pii.keyed import read_key
from tamis.pii.operators import TAG, Offset, applied, decrypted
from tamis.pii.reading import Passage, Place, at, dotted, passages, texts
from tamis.pii.recipe import RestoreRecipe
from tamis.pii.records import open_source
from tamis.pii.sessions import Annotated, Message
from tamis.pii.spans import Span
from tamis.pii.writing import writer
from tamis.provenance import claim_folder, whole
from tamis.recipe import digest, to_dict


@dataclass
class Restoration:
    """What a run did.

    Attributes:
        file: The restored rows.
        restored: The number of values that were put back.
        left: The number of tags that this key did not make, or of values of the map whose message is not there.
    """

    file: Path
    restored: int = 0
    left: int = 0


Found = list[tuple[Span, str]]
"""The pieces of a message that are replaced, and their originals."""
Find = Callable[[Passage, int], tuple[Found, int]]


def restore(recipe: RestoreRecipe) -> Restoration:
    """Puts the originals back: every text is what it was, byte for byte.

    Raises:
        UsageError: There is nothing that the key or the map belongs to; or a text was changed after redaction.
    """
    source = open_source(str(_file_of(Path(recipe.dataset_name))))
    if recipe.surrogate_map:
        mapping = _Map(recipe.surrogate_map)
        source.stem = mapping.header["stem"]
        text_column, scanned = mapping.header["text_column"], mapping.header["scan_columns"]
        find: Find = mapping.take
    else:
        text_column, scanned = recipe.text_column, []
        find = _Key(recipe.key_file).take
    identity = {key: value for key, value in to_dict(recipe).items() if key != "output_dir"}
    folder = claim_folder(recipe, digest({"restore": identity}))
    done = Restoration(folder / f"restored{source.suffix}")
    with whole(done.file, 0o600) as stream:
        rows = None
        for passage in passages(source, text_column, scanned):
            rows = rows or writer(source, stream)
            if recipe.key_file:
                passage = _with_all_texts(passage)
            for record, fields in zip(passage.records, _restored(passage, find, done), strict=True):
                rows.write(record, fields)
        if not done.restored:
            what = "text that this key encrypted" if recipe.key_file else "surrogate of this map"
            raise UsageError(f"{recipe.dataset_name}: there is no {what} in it; nothing was written")
        if rows is not None:
            rows.close()
    if recipe.surrogate_map:
        done.left = mapping.left
    return done


def _file_of(path: Path) -> Path:
    """The redacted file of a folder."""
    if not path.is_dir():
        return path
    found = sorted(path.glob("redacted.*"))
    if len(found) != 1:
        raise UsageError(f"{path}: has {len(found) or 'no'} redacted files in it; name the one")
    return found[0]


def _restored(passage: Passage, find: Find, done: Restoration) -> list[dict[str, Any]]:
    originals: list[str] = []
    offsets: list[list[Offset]] = []
    for i, message in enumerate(passage.annotated.session):
        found, left = find(passage, i)
        text, changes = applied(message.content, [span for span, _ in found], [original for _, original in found])
        originals.append(text)
        offsets.append(changes)
        done.restored += len(found)
        done.left += left
    return edited(passage, originals, offsets)


def _with_all_texts(passage: Passage) -> Passage:
    """The passage with each text of its rows as a message: other columns may have been scanned too."""
    places, messages = list(passage.places), list(passage.annotated.session.messages)
    known = {(place.record, place.path) for place in places}
    for number, record in enumerate(passage.records):
        for path, text in texts(record.fields):
            if (number, path) not in known and isinstance(at(record.fields, path), str):
                places.append(Place(number, path))
                messages.append(Message(-1 - len(messages), dotted(path), text))
    session = replace(passage.annotated.session, messages=tuple(messages))
    return Passage(Annotated(session), passage.records, tuple(places))


class _Key:
    """Finds what a key encrypted."""

    def __init__(self, path: str | None) -> None:
        self._key = read_key(path) or b""

    def take(self, passage: Passage, i: int) -> tuple[Found, int]:
        """The pieces of a message that the key made, and the number of those that it did not."""
        found: Found = []
        left = 0
        for tag in TAG.finditer(passage.annotated.session.messages[i].content):
            original = decrypted(tag, self._key)
            if original is not None:
                found.append((Span(*tag.span(), tag[1]), original))
            left += original is None and tag[2] is not None
        return found, left


class _Map:
    """The originals of surrogates, by their messages."""

    def __init__(self, path: str) -> None:
        self._found: dict[tuple[str, int], list[dict[str, Any]]] = {}
        try:
            with Path(path).open("rb") as stream:
                self.header = json.loads(stream.readline())
                self.header["stem"], self.header["scan_columns"], self.header["text_column"]
                for line in stream:
                    one = json.loads(line)
                    self._found[one["session_id"], one["sequence_id"]] = one["spans"]
        except OSError as error:
            raise UsageError(f"--surrogate_map {path}: cannot be read: {error.strerror}") from error
        except (ValueError, KeyError, TypeError):  # what it says of the line may hold an original
            raise UsageError(f"--surrogate_map {path}: is not a map that redact wrote") from None

    @property
    def left(self) -> int:
        """The number of originals whose message has not come."""
        return sum(map(len, self._found.values()))

    def take(self, passage: Passage, i: int) -> tuple[Found, int]:
        """The surrogates of a message.

        Raises:
            UsageError: The text is not what the map says.
        """
        message = passage.annotated.session.messages[i]
        found: Found = []
        for one in self._found.pop((passage.annotated.session.session_id, message.sequence_id), []):
            if message.content[one["start"] : one["end"]] != one["surrogate"]:
                where = passage.records[passage.places[i].record].where
                raise UsageError(f"{where}: was changed after it was redacted, so that the map does not fit it")
            found.append((Span(one["start"], one["end"], ""), one["original"]))
        return found, 0
