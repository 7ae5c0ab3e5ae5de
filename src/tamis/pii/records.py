"""The rows of a file or a data set, one after another, as they are, and no cache that would hold them.

`datasets` copies what it reads into its cache; here files are read directly, and everything else is streamed.
"""

from __future__ import annotations

import codecs
import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.errors import UsageError, missing_extra

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1000
TEXT = "text"
"""The column of a plain text file, whose rows are its lines."""
_KINDS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".txt": "text",
    ".md": "text",
}
_LONGEST_CELL = 1 << 30


@dataclass(frozen=True)
class Record:
    """One row.

    Attributes:
        where: File and row, for a sentence about it.
        number: The row's position, from 0.
        fields: Its columns.
        raw: What the writer of its form needs of it: a line, a line's end, or the Arrow batch that it stands in.
    """

    where: str
    number: int
    fields: dict[str, Any]
    raw: Any = None


@dataclass
class Source:
    """A data set that is read from its beginning to its end, once.

    Attributes:
        name: What it was opened by.
        stem: What its rows are called together, where they have no session of their own.
        kind: `jsonl`, `json`, `csv`, `parquet` or `text`: the form, which is also that of what is written.
        suffix: The file's suffix.
        traits: What a writer keeps of the form: byte order mark, delimiter, line end, Arrow schema.
    """

    name: str
    stem: str
    kind: str
    suffix: str
    traits: dict[str, Any] = field(default_factory=dict)
    _batches: Any = None

    def records(self) -> Iterator[Record]:
        """The rows, in order.

        Raises:
            UsageError: A row cannot be read, or there is none; the sentence names file and row, and nothing in it.
        """
        read = {"jsonl": _json_lines, "json": _json, "csv": _csv, "parquet": _arrow, "text": _lines}[self.kind]
        count = 0
        try:
            for record in read(self):
                count += 1
                yield record
        except OSError as error:
            raise UsageError(f"{self.name}: cannot be read: {error.strerror or type(error).__name__}") from error
        if not count:
            raise UsageError(f"{self.name}: there are no rows in it")


def open_source(name: str, config: str | None = None, split: str = "train", revision: str | None = None) -> Source:
    """A file, a folder or a data set on the Hub, opened.

    Raises:
        UsageError: There is no such file, data set, config or split; or its form is not one that is read.
    """
    path = Path(name)
    if path.is_file():
        kind = _KINDS.get(path.suffix.lower())
        if kind is None:
            raise UsageError(f"{name}: not a {', '.join(_KINDS)} file")
        if config is not None or split != "train":
            raise UsageError(f"{name}: a file has no config, and no split but train")
        if path.stat().st_size == 0:
            raise UsageError(f"{name}: the file is empty")
        source = Source(name, path.stem, kind, path.suffix.lower())
        if kind == "parquet":
            _open_parquet(source)
        return source
    is_path = path.suffix.lower() in _KINDS or name.startswith((".", "/", "~")) or name.count("/") > 1
    if is_path and not path.is_dir():
        raise UsageError(f"{name}: there is no such file or folder")
    return _open_streamed(name, config, split, revision)


def _open_parquet(source: Source) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(source.name)
    except (pa.ArrowException, OSError) as error:
        raise UsageError(f"{source.name}: not a Parquet file that can be read") from error
    source.traits["schema"] = file.schema_arrow
    source._batches = file.iter_batches(BATCH)


def _open_streamed(name: str, config: str | None, split: str, revision: str | None) -> Source:
    try:
        import datasets
    except ImportError as error:
        raise missing_extra("pii", error) from error
    datasets.disable_progress_bars()
    path = Path(name)
    try:
        if any((path / state).is_file() for state in ("state.json", "dataset_dict.json")):
            saved = datasets.load_from_disk(name)
            rows = saved[split] if isinstance(saved, dict) else saved
        else:
            place = str(path.absolute()) if path.is_dir() else name
            rows = datasets.load_dataset(place, config, split=split, revision=revision, streaming=True)
    except Exception as error:  # a loader may raise anything; it has read no row so far, and may say why
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        reason = " ".join(str(cause).split()) or type(cause).__name__
        raise UsageError(f"{name}: cannot be read: {reason}") from error
    try:
        if rows.features is None:
            rows = rows._resolve_features()
        features = rows.features
    except Exception as error:  # noqa: BLE001  # what it says may hold text of the first rows
        raise UsageError(f"{name}: cannot be read: {type(error).__name__}") from None
    source = Source(name, Path(name).name, "parquet", ".parquet", {"schema": features.arrow_schema})
    tables = rows.with_format("arrow").iter(BATCH)
    source._batches = (batch for table in tables for batch in table.cast(features.arrow_schema).to_batches())
    return source


def _json_lines(source: Source) -> Iterator[Record]:
    number = 0
    for line, (text, raw) in enumerate(_decoded(source), 1):
        if not text.strip():
            continue
        where = f"{source.name}: line {line}"
        yield Record(where, number, _object(where, _parsed(where, text)), (text, raw))
        number += 1


def _json(source: Source) -> Iterator[Record]:
    """The records of one JSON array, or of one object; a file of lines that has this suffix is read as lines."""
    with Path(source.name).open("rb") as stream:
        content = stream.read()
    source.traits["bom"] = content.startswith(codecs.BOM_UTF8)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{source.name}: is not UTF-8: {error.reason} at byte {error.start}") from error
    first = text.lstrip()[:1]
    if first == "{" and "\n" in text.strip() and _is_json(text.strip().partition("\n")[0]):
        source.kind = "jsonl"
        yield from _json_lines(source)
        return
    value = _parsed(source.name, text)
    source.traits["array"] = isinstance(value, list)
    for number, item in enumerate(value if isinstance(value, list) else [value]):
        where = f"{source.name}: record {number + 1}"
        yield Record(where, number, _object(where, item))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _csv(source: Source) -> Iterator[Record]:
    delimiter = "\t" if source.suffix == ".tsv" else ","
    csv.field_size_limit(_LONGEST_CELL)
    with Path(source.name).open("rb") as stream:
        head = stream.readline()
    source.traits |= {
        "bom": head.startswith(codecs.BOM_UTF8),
        "end": "\r\n" if head.endswith(b"\r\n") else "\n",
        "delimiter": delimiter,
    }
    with Path(source.name).open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter=delimiter, strict=True)
        number = 0
        try:
            header = next(rows, [])
            if len(set(header)) < len(header):
                raise UsageError(f"{source.name}: two columns have the same name")
            source.traits["header"] = header
            for cells in rows:
                if not cells:
                    continue
                where = f"{source.name}: row {number + 1}"
                if len(cells) != len(header):
                    raise UsageError(f"{where}: has {len(cells)} cells, and the header {len(header)}")
                yield Record(where, number, dict(zip(header, cells, strict=True)))
                number += 1
        except csv.Error as error:
            raise UsageError(f"{source.name}: row {number + 1} is broken: {error}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{source.name}: behind row {number}: is not UTF-8: {error.reason}") from error


def _arrow(source: Source) -> Iterator[Record]:
    number = 0
    try:
        for batch in source._batches:
            for fields in _rows_of(batch):
                yield Record(f"{source.name}: row {number + 1}", number, fields, batch)
                number += 1
    except (UsageError, OSError):
        raise
    except Exception as error:  # noqa: BLE001  # a stream may raise anything, and what it says may hold text
        raise UsageError(f"{source.name}: cannot be read behind row {number}: {type(error).__name__}") from None


def _rows_of(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return list(batch.to_pylist())


def _lines(source: Source) -> Iterator[Record]:
    for number, (text, _) in enumerate(_decoded(source)):
        line = text.rstrip("\r\n")
        yield Record(f"{source.name}: line {number + 1}", number, {TEXT: line}, text[len(line) :])


def _decoded(source: Source) -> Iterator[tuple[str, bytes]]:
    """The lines with their ends, as text and as bytes; only a line feed ends a line."""
    with Path(source.name).open("rb") as stream:
        for number, raw in enumerate(stream, 1):
            if number == 1 and raw.startswith(codecs.BOM_UTF8):
                source.traits["bom"] = True
                raw = raw.removeprefix(codecs.BOM_UTF8)
            try:
                yield raw.decode("utf-8"), raw
            except UnicodeDecodeError as error:
                reason = f"is not UTF-8: {error.reason} at byte {error.start}"
                raise UsageError(f"{source.name}: line {number}: {reason}") from error


def _parsed(where: str, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except _RepeatedKeyError as error:
        raise UsageError(f"{where}: the key {error.args[0]!r} stands twice in one object") from error
    except RecursionError as error:
        raise UsageError(f"{where}: is nested too deep") from error
    except ValueError as error:
        raise UsageError(f"{where}: is not JSON: {error}") from error


class _RepeatedKeyError(Exception):
    """A reader would see one of two values, and the other would pass unseen."""


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKeyError(next(key for key in keys if keys.count(key) > 1))
    return made


def _object(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{where}: is not an object with keys and values")
    return value
