"""A gradient index on disk: shards that are whole or absent, the rows they hold, and what they were made by.

A shard is a safetensors file with `u` and `v`, `[rows, modules, dim]` float16: rank-one factors that each carry
the square root of sigma, with unit norm over a row. What is known of its rows stands in the same file's header, so
that a shard needs no second file to be whole. `rows.parquet` and `excluded.parquet` join the headers at the end.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from tamis.errors import UsageError, WorkError
from tamis.provenance import left_in, write_parquet, write_whole
from tamis.recipe import digest

MANIFEST = "manifest.json"
_HEADER = "tamis"  # one key: safetensors writes several in an order that changes from run to run
_ROWS = pa.schema(
    [
        ("row_id", pa.string()),
        ("index", pa.int64()),
        ("source", pa.string()),
        ("language", pa.string()),
        ("tokens", pa.int32()),
        ("response_tokens", pa.int32()),
        ("truncated", pa.bool_()),
        ("flags", pa.list_(pa.string())),
        ("norm", pa.float64()),
        ("energy", pa.float64()),
        ("loss", pa.float64()),
    ]
)
EXCLUDED_SCHEMA = pa.schema(
    [
        ("row_id", pa.string()),
        ("index", pa.int64()),
        ("source", pa.string()),
        ("language", pa.string()),
        ("reason", pa.string()),
    ]
)


@dataclass(frozen=True)
class EmbeddedRow:
    """What is known of a row that was embedded.

    Attributes:
        row_id: The row's id.
        index: Its position in the source.
        source: Its source.
        language: Its language.
        tokens: Tokens of the conversation inside the window.
        response_tokens: Supervised tokens among them.
        flags: See `tamis.chat.Example`; `duplicate` marks a conversation that stood earlier in the data set.
        norm: Norm of the raw rank-one stack.
        energy: Share of the projected gradient's squared norm that rank one keeps.
        loss: Summed loss of the response tokens, in nats.
        content: Digest of the conversation.
    """

    row_id: str
    index: int
    source: str
    language: str
    tokens: int
    response_tokens: int
    flags: list[str]
    norm: float
    energy: float
    loss: float
    content: str


@dataclass(frozen=True)
class ExcludedRow:
    """A row without a gradient, and why."""

    row_id: str
    index: int
    source: str
    language: str | None
    reason: str


class IndexWriter:
    """Writes an index shard by shard; a second writer of the same recipe goes on where the first stopped.

    Args:
        folder: The index's folder.
        identity: Everything that decides the index's bytes, as JSON values.
        about: What else the manifest says, such as names and paths.

    Raises:
        UsageError: The folder holds something else, or an index of another identity (the message names the
            difference), or cannot be written.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any], about: Mapping[str, Any]) -> None:
        self.folder = folder
        self._manifest = {
            "format": 1,
            "digest": digest(identity),
            "complete": False,
            "identity": identity,
            **about,
        }
        manifest = folder / MANIFEST
        if manifest.is_file():
            _refuse_other(manifest, identity)
            return
        if folder.exists() and (not folder.is_dir() or left_in(folder)):
            raise UsageError(f"{folder}: not an empty folder and not a gradient index; name another --output_dir")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._write_manifest()
        except OSError as error:
            raise UsageError(f"{folder}: cannot be written: {error.strerror}") from error

    def has(self, shard: int) -> bool:
        """Whether the shard is there, whole and of this recipe."""
        path = _shard_path(self.folder, shard)
        return path.is_file() and _header(path).get("digest") == self._manifest["digest"]

    def write(
        self,
        shard: int,
        u: np.ndarray,
        v: np.ndarray,
        rows: Sequence[EmbeddedRow],
        excluded: Sequence[ExcludedRow],
    ) -> None:
        """Writes one shard, whole: `u` and `v` are `[rows, modules, dim]`."""
        header = {
            "digest": self._manifest["digest"],
            "rows": [asdict(row) for row in rows],
            "excluded": [asdict(row) for row in excluded],
        }
        tensors = {"u": np.ascontiguousarray(u, np.float16), "v": np.ascontiguousarray(v, np.float16)}
        try:
            write_whole(_shard_path(self.folder, shard), save(tensors, metadata={_HEADER: json.dumps(header)}))
        except OSError as error:
            raise WorkError(
                f"{self.folder}: shard {shard} could not be written ({error.strerror}); "
                "what was written before is whole, and the same command goes on from there"
            ) from error

    def finish(self, shards: int, source_rows: int) -> GradientIndex:
        """The finished index: joins the shards' rows and checks that each source row is there exactly once.

        Raises:
            WorkError: A shard is torn, or a row is missing or stands twice.
        """
        rows: list[dict[str, Any]] = []
        excluded: list[dict[str, Any]] = []
        files = {}
        for shard in range(shards):
            path = _shard_path(self.folder, shard)
            header = _header(path)
            rows += header["rows"]
            excluded += header["excluded"]
            files[path.name] = {"rows": len(header["rows"]), "sha256": _sha256(path)}
        seen = sorted(row["index"] for row in [*rows, *excluded])
        if seen != list(range(source_rows)):
            raise WorkError(f"{self.folder}: the shards do not hold every source row exactly once")
        contents: set[str] = set()
        for row in rows:
            row["truncated"] = "truncated" in row["flags"]
            content = row.pop("content")
            if content in contents:
                row["flags"].append("duplicate")
            contents.add(content)
        write_parquet(self.folder / "rows.parquet", pa.Table.from_pylist(rows, _ROWS))
        write_parquet(self.folder / "excluded.parquet", pa.Table.from_pylist(excluded, EXCLUDED_SCHEMA))
        self._manifest |= {"complete": True, "rows": len(rows), "excluded": len(excluded), "shards": files}
        self._write_manifest()
        return GradientIndex(self.folder)

    def _write_manifest(self) -> None:
        content = json.dumps(self._manifest, indent=1, ensure_ascii=False, sort_keys=True)
        write_whole(self.folder / MANIFEST, content.encode())


class GradientIndex:
    """Reads a finished gradient index; shards are memory-mapped.

    Raises:
        UsageError: The folder is not a gradient index, or one that is not finished.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.manifest = _read_manifest(self.folder / MANIFEST)
        if not self.manifest["complete"]:
            raise UsageError(f"{folder}: this index is not finished; the command that began it goes on from there")

    def __len__(self) -> int:
        return int(self.manifest["rows"])

    @property
    def modules(self) -> list[str]:
        """The watched modules, in the order of the shards' second axis."""
        return list(self.manifest["identity"]["gradient"]["modules"])

    @property
    def gradient_digest(self) -> str:
        """Names what two indexes must share for their rows to be compared: model, template, window, projection."""
        return digest(self.manifest["identity"]["gradient"])

    @cached_property
    def rows(self) -> pa.Table:
        """One line a row, in the order of the shards."""
        return pq.read_table(self.folder / "rows.parquet")

    @cached_property
    def excluded(self) -> pa.Table:
        """The rows without a gradient, with their reasons."""
        return pq.read_table(self.folder / "excluded.parquet")

    def shard_rows(self) -> list[int]:
        """Rows of each shard."""
        return [shard["rows"] for shard in self.manifest["shards"].values()]

    def shards(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """`u` and `v` of each shard in order, `[rows, modules, dim]` float16."""
        for name in self.manifest["shards"]:
            try:
                with safe_open(self.folder / name, framework="numpy") as shard:
                    yield shard.get_tensor("u"), shard.get_tensor("v")
            except (SafetensorError, OSError) as error:
                raise WorkError(f"{self.folder / name}: the shard is torn: {error}") from error


def is_index(folder: Path | str) -> bool:
    """Whether the folder holds a gradient index."""
    return (Path(folder) / MANIFEST).is_file()


def _shard_path(folder: Path, shard: int) -> Path:
    return folder / f"shard-{shard:05d}.safetensors"


def _header(path: Path) -> dict[str, Any]:
    try:
        with safe_open(path, framework="numpy") as shard:
            return dict(json.loads((shard.metadata() or {}).get(_HEADER, "{}")))
    except (SafetensorError, OSError) as error:
        raise WorkError(
            f"{path}: the shard is torn ({error}); remove it and run the same command again"
        ) from error


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text())
        if manifest["format"] != 1:
            raise UsageError(f"{path}: format {manifest['format']} is not known to this version of tamis")
    except (OSError, json.JSONDecodeError, KeyError) as error:
        raise UsageError(f"{path.parent}: not a gradient index ({MANIFEST} is missing or unreadable)") from error
    return dict(manifest)


def _refuse_other(path: Path, identity: Mapping[str, Any]) -> None:
    old, new = _flat(_read_manifest(path)["identity"]), _flat(json.loads(json.dumps(identity)))
    changed = [key for key in sorted({*old, *new}) if old.get(key) != new.get(key)]
    if changed:
        what = ", ".join(f"{key} ({_short(old.get(key))} there, {_short(new.get(key))} now)" for key in changed)
        raise UsageError(
            f"{path.parent}: this index was made with another recipe: {what}; name another --output_dir"
        )


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {prefix: value}
    return {k: v for key, inner in value.items() for k, v in _flat(inner, f"{prefix}.{key}".lstrip(".")).items()}


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
