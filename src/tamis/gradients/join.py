"""The headers of all shards to `rows.parquet` and `excluded.parquet`, a shard at a time: memory does not grow."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tamis.gradients.shard import EXCLUDED_SCHEMA, ROWS_SCHEMA, read_header, sha256
from tamis.provenance import whole

ROWS, EXCLUDED = "rows.parquet", "excluded.parquet"
_GROUP_ROWS = 1 << 15


def join_rows(folder: Path, headers: Iterable[tuple[Path, Mapping[str, Any]]]) -> dict[str, Any]:
    """Writes both files; what the manifest says of them: `rows`, `excluded` and `shards`.

    Args:
        folder: The index's folder.
        headers: Each shard in order, and its header; taken once.
    """
    contents, files = array("Q"), {}

    def excluded() -> Iterator[pa.Table]:
        for path, header in headers:
            contents.extend(map(_content, header["rows"]))
            files[path.name] = {"rows": len(header["rows"]), "sha256": sha256(path)}
            yield pa.Table.from_pylist(header["excluded"], EXCLUDED_SCHEMA)

    left_out = _write(folder / EXCLUDED, EXCLUDED_SCHEMA, excluded())
    rows = _write(folder / ROWS, ROWS_SCHEMA, row_tables([folder / name for name in files], _repeated(contents)))
    return {"rows": rows, "excluded": left_out, "shards": files}


def duplicates(shards: Iterable[Path]) -> np.ndarray:
    """For each embedded row whether its conversation stood earlier, `[rows]` bool; eight bytes a row of memory."""
    return _repeated(array("Q", (_content(row) for path in shards for row in read_header(path)["rows"])))


def _content(row: Mapping[str, Any]) -> int:
    return int.from_bytes(hashlib.blake2b(row["content"].encode(), digest_size=8).digest())


def _repeated(contents: array[int]) -> np.ndarray:
    later = np.ones(len(contents), bool)
    later[np.unique(np.frombuffer(contents, np.uint64), return_index=True)[1]] = False
    return later


def row_tables(shards: Iterable[Path], later: np.ndarray) -> Iterator[pa.Table]:
    """The lines of `rows.parquet`, a table a shard."""
    start = 0
    for path in shards:
        rows = read_header(path)["rows"]
        for row, again in zip(rows, later[start : start + len(rows)], strict=True):
            row["truncated"] = "truncated" in row["flags"]
            if again:
                row["flags"].append("duplicate")
        start += len(rows)
        yield pa.Table.from_pylist(rows, ROWS_SCHEMA)


def excluded_tables(shards: Iterable[Path]) -> Iterator[pa.Table]:
    """The lines of `excluded.parquet`, a table a shard."""
    return (pa.Table.from_pylist(read_header(path)["excluded"], EXCLUDED_SCHEMA) for path in shards)


def _write(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> int:
    """Writes the tables as one file in row groups of a size that no shard decides alone; the number of rows."""
    written, waiting = 0, schema.empty_table()
    with whole(path) as stream, pq.ParquetWriter(stream, schema) as file:
        for table in tables:
            waiting = pa.concat_tables([waiting, table])
            if len(waiting) >= _GROUP_ROWS:
                file.write_table(waiting)
                written, waiting = written + len(waiting), schema.empty_table()
        file.write_table(waiting)
    return written + len(waiting)
