"""Rows written in the form that they were read in; what did not change is written as it was."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Collection
from typing import IO, Any, Protocol

from tamis.pii.records import BATCH, TEXT, Record, Source

_SEPARATORS = ((", ", ": "), (",", ":"))


class Writer(Protocol):
    """Writes rows one after another."""

    def write(self, record: Record, fields: dict[str, Any], /) -> None:
        """Writes a row: its fields as they are now, which are those of the record itself where nothing changed."""
        ...

    def close(self) -> None:
        """Writes what is left; the stream stays open."""
        ...


def writer(source: Source, stream: IO[bytes], dropped: Collection[str] = ()) -> Writer:
    """The writer of a source's form, once its first row was read.

    Args:
        source: The rows' source.
        stream: Where the file goes.
        dropped: Columns that are left out.
    """
    if source.kind == "csv":
        return _CsvWriter(source, stream, dropped)
    if source.kind == "parquet":
        return _ArrowWriter(source, stream, dropped)
    return _ArrayWriter(source, stream) if source.kind == "json" else _LineWriter(source, stream)


class _LineWriter:
    """Lines of JSON, each in the style of the line that it replaces; or lines of text, each with its own end."""

    def __init__(self, source: Source, stream: IO[bytes]) -> None:
        self._is_text, self._stream = source.kind == "text", stream
        self._style: tuple[bool, tuple[str, str]] = (False, _SEPARATORS[0])
        if source.traits.get("bom"):
            stream.write(codecs.BOM_UTF8)

    def write(self, record: Record, fields: dict[str, Any]) -> None:
        if self._is_text:
            self._stream.write(f"{fields[TEXT]}{record.raw}".encode())
            return
        text, raw = record.raw
        if fields is record.fields:
            self._stream.write(raw)
            return
        line = text.rstrip("\r\n")
        self._style = _style_of(line, record.fields, self._style)
        self._stream.write(_encoded(fields, *self._style) + text[len(line) :].encode())

    def close(self) -> None:
        pass


def _style_of(
    line: str, fields: dict[str, Any], last: tuple[bool, tuple[str, str]]
) -> tuple[bool, tuple[str, str]]:
    """How a line is written: in ASCII or not, and with which separators; the last line's way where several fit."""
    styles = [(ascii_only, separators) for ascii_only in (last[0], not last[0]) for separators in _SEPARATORS]
    styles.sort(key=lambda style: style != last)
    return next((style for style in styles if _encoded(fields, *style) == line.encode()), last)


def _encoded(fields: Any, ascii_only: bool, separators: tuple[str, str]) -> bytes:
    try:
        return json.dumps(fields, ensure_ascii=ascii_only, separators=separators).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which UTF-8 cannot hold and an escape can
        return json.dumps(fields, separators=separators).encode()


class _ArrayWriter:
    """One JSON array, a record a line; or the one object that the file was."""

    def __init__(self, source: Source, stream: IO[bytes]) -> None:
        self._stream, self._is_array, self._count = stream, source.traits["array"], 0
        if source.traits["bom"]:
            stream.write(codecs.BOM_UTF8)

    def write(self, _: Record, fields: dict[str, Any]) -> None:
        if self._is_array:
            self._stream.write(b",\n" if self._count else b"[\n")
        self._stream.write(_encoded(fields, False, _SEPARATORS[0]))
        self._count += 1

    def close(self) -> None:
        self._stream.write(b"\n]\n" if self._is_array else b"\n")


class _CsvWriter:
    """Cells between delimiters, quoted where they have to be."""

    def __init__(self, source: Source, stream: IO[bytes], dropped: Collection[str]) -> None:
        encoding = "utf-8-sig" if source.traits["bom"] else "utf-8"
        self._text = io.TextIOWrapper(stream, encoding=encoding, newline="", write_through=True)
        self._columns = [name for name in source.traits["header"] if name not in dropped]
        self._rows = csv.writer(
            self._text, delimiter=source.traits["delimiter"], lineterminator=source.traits["end"]
        )
        self._rows.writerow(self._columns)

    def write(self, _: Record, fields: dict[str, Any]) -> None:
        self._rows.writerow([fields[name] for name in self._columns])

    def close(self) -> None:
        self._text.flush()
        self._text.detach()


class _ArrowWriter:
    """Parquet with the schema that was read; a column in which nothing changed keeps its very values."""

    def __init__(self, source: Source, stream: IO[bytes], dropped: Collection[str]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = source.traits["schema"]
        kept = [field for field in schema if field.name not in dropped]
        facts = schema.metadata if len(kept) == len(schema) else None  # it describes the columns that there were
        self._schema = pa.schema(kept, metadata=facts)
        self._file = pq.ParquetWriter(stream, self._schema)
        self._batch: Any = None
        self._rows: list[tuple[Record, dict[str, Any]]] = []
        self._waiting: list[Any] = []

    def write(self, record: Record, fields: dict[str, Any]) -> None:
        if record.raw is not self._batch:
            self._take()
            self._batch = record.raw
        self._rows.append((record, fields))

    def close(self) -> None:
        import pyarrow as pa

        self._take()
        if self._waiting:
            self._file.write_table(pa.Table.from_batches(self._waiting, self._schema), row_group_size=BATCH)
        self._file.close()

    def _take(self) -> None:
        """Builds the batch whose rows have all come; row groups have one size, however the rows were read."""
        import pyarrow as pa

        if not self._rows:
            return
        columns = []
        for field in self._schema:
            changed = any(new[field.name] is not old.fields[field.name] for old, new in self._rows)
            values = [new[field.name] for _, new in self._rows]
            columns.append(pa.array(values, field.type) if changed else self._batch[field.name])
        self._waiting.append(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self._rows = []
        table = pa.Table.from_batches(self._waiting, self._schema)
        full = len(table) // BATCH * BATCH
        if full:
            self._file.write_table(table.slice(0, full), row_group_size=BATCH)
            self._waiting = table.slice(full).to_batches()
