"""A gradient index on disk: shards that are whole or absent, the rows they hold, and what they were made by.

A shard is a safetensors file with `u` and `v`, `[rows, modules, dim]` float16: rank-one factors that each carry
the square root of sigma, with unit norm over a row. What is known of its rows stands in the same file's header, so
that a shard needs no second file to be whole. `rows.parquet` and `excluded.parquet` join the headers at the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from safetensors import SafetensorError, safe_open

from tamis.errors import UsageError, WorkError
from tamis.gradients.join import join_rows
from tamis.gradients.lock import FolderLock
from tamis.gradients.shard import AGAIN, EmbeddedRow, ExcludedRow, Part, encode, places, read_header, sha256
from tamis.provenance import left_in, write_whole
from tamis.recipe import digest

MANIFEST = "manifest.json"


class IndexWriter:
    """Writes an index shard by shard; a second writer of the same recipe goes on where the first stopped.

    The folder is locked until `finish` or the end of a `with` block; the kernel unlocks it where a process dies.

    Args:
        folder: The index's folder.
        identity: Everything that decides the index's bytes, as JSON values; `data` is what grows with the rows.
        about: What else the manifest says, such as names and paths.
        grown_from: The digest of an identity that this one may replace: that of the same rows before others came.
        join: Writes beside the writer that claimed the folder, in another process of the same run.

    Raises:
        UsageError: The folder holds something else, or an index of another identity (the message names the
            difference), or cannot be written, or somebody else writes there.
    """

    def __init__(
        self,
        folder: Path,
        identity: Mapping[str, Any],
        about: Mapping[str, Any],
        *,
        grown_from: str | None = None,
        join: bool = False,
    ) -> None:
        self.folder = folder
        self._manifest = {
            "format": 1,
            "digest": digest(identity),
            "complete": False,
            "identity": identity,
            **about,
        }
        self._known: dict[str, dict[str, Any]] = {}
        try:
            if not (folder / MANIFEST).is_file() and folder.exists() and (not folder.is_dir() or left_in(folder)):
                raise UsageError(
                    f"{folder}: not an empty folder and not a gradient index; name another --output_dir"
                )
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = FolderLock(folder, shared=join)
        except OSError as error:
            raise UsageError(f"{folder}: cannot be written: {error.strerror}") from error
        try:
            self._begin(grown_from)
        except BaseException:
            self._lock.release()
            raise

    def _begin(self, grown_from: str | None) -> None:
        path = self.folder / MANIFEST
        there = read_manifest(path) if path.is_file() else None
        if there and there["digest"] != grown_from:
            _refuse_other(path, there["identity"], self._manifest["identity"])
            self._known = there.get("shards", {})
            return
        try:
            self._write_manifest()
        except OSError as error:
            raise UsageError(f"{self.folder}: cannot be written: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def share(self) -> None:
        """Lets writers that `join` in, and still nobody else."""
        self._lock.share()

    def has(self, part: Part) -> bool:
        """Whether the shard is there, whole and of this recipe and these rows.

        Raises:
            WorkError: What is there is torn, altered, or holds other rows.
        """
        path = part.path(self.folder)
        if not path.is_file():
            return False
        header = read_header(path)
        if header.get("digest") != self._digest(part):
            there = places(header)
            if there == list(part.rows[: len(there)]) and 0 < len(there) < len(part.rows):
                return False  # the last shard before rows were added
            raise WorkError(f"{path}: holds the rows of another shard or recipe; {AGAIN}")
        known = self._known.get(path.name)
        if known and known["sha256"] != sha256(path):
            raise WorkError(f"{path}: the shard was altered after it was written; {AGAIN}")
        return True

    def write(
        self,
        part: Part,
        u: np.ndarray,
        v: np.ndarray,
        rows: Sequence[EmbeddedRow],
        excluded: Sequence[ExcludedRow],
    ) -> None:
        """Writes one shard, whole: `u` and `v` are `[rows, modules, dim]`."""
        path = part.path(self.folder)
        try:
            write_whole(path, encode(self._digest(part), u, v, rows, excluded))
        except OSError as error:
            raise WorkError(
                f"{path}: could not be written ({error.strerror}); "
                "what was written before is whole, and the same command goes on from there"
            ) from error

    def finish(self, parts: Sequence[Part]) -> GradientIndex:
        """The finished index: joins the shards' rows and checks that each source row is there exactly once.

        Raises:
            WorkError: A shard is torn, or a row is missing or stands twice.
        """
        self._manifest |= {"complete": True, **join_rows(self.folder, self._checked(parts))}
        self._write_manifest()
        self._lock.release(last=True)
        return GradientIndex(self.folder)

    def _checked(self, parts: Sequence[Part]) -> Iterator[tuple[Path, dict[str, Any]]]:
        for part in parts:
            path = part.path(self.folder)
            header = read_header(path)
            if header.get("digest") != self._digest(part) or places(header) != list(part.rows):
                raise WorkError(f"{path}: does not hold each of its source rows exactly once; {AGAIN}")
            yield path, header

    def _digest(self, part: Part) -> str:
        recipe = {key: value for key, value in self._manifest["identity"].items() if key != "data"}
        return digest({**recipe, "rows": part.fingerprint})

    def _write_manifest(self) -> None:
        write_whole(self.folder / MANIFEST, encode_manifest(self._manifest))


class GradientIndex:
    """Reads a finished gradient index; shards are memory-mapped.

    Args:
        folder: The index's folder.
        source: Takes only the rows of this source.

    Raises:
        UsageError: The folder is not a gradient index, or one that is not finished.
    """

    def __init__(self, folder: Path | str, source: str | None = None) -> None:
        self.folder = Path(folder)
        self._source = source
        self.manifest = read_manifest(self.folder / MANIFEST)
        if not self.manifest["complete"]:
            raise UsageError(f"{folder}: this index is not finished; the command that began it goes on from there")

    def __len__(self) -> int:
        return int(self.manifest["rows"]) if self._source is None else len(self.rows)

    @property
    def digest(self) -> str:
        """Names what the index holds."""
        whole = str(self.manifest["digest"])
        return whole if self._source is None else digest({"index": whole, "source": self._source})

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
        return self._read("rows.parquet")

    @cached_property
    def excluded(self) -> pa.Table:
        """The rows without a gradient, with their reasons."""
        return self._read("excluded.parquet")

    def _read(self, name: str) -> pa.Table:
        wanted = None if self._source is None else [("source", "=", self._source)]
        return pq.read_table(self.folder / name, filters=wanted)

    @cached_property
    def _taken(self) -> Sequence[np.ndarray | slice]:
        """Which rows of each shard are taken."""
        sizes = [shard["rows"] for shard in self.manifest["shards"].values()]
        if self._source is None:
            return [slice(size) for size in sizes]
        sources = pq.read_table(self.folder / "rows.parquet", columns=["source"])["source"]
        return np.split(pc.equal(sources, self._source).to_numpy(), np.cumsum(sizes)[:-1])

    def shard_rows(self) -> list[int]:
        """Rows of each shard."""
        return [taken.stop if isinstance(taken, slice) else int(taken.sum()) for taken in self._taken]

    def shards(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """`u` and `v` of each shard in order, `[rows, modules, dim]` float16."""
        for name, taken in zip(self.manifest["shards"], self._taken, strict=True):
            try:
                with safe_open(self.folder / name, framework="numpy") as shard:
                    yield shard.get_tensor("u")[taken], shard.get_tensor("v")[taken]
            except (SafetensorError, OSError) as error:
                raise WorkError(f"{self.folder / name}: the shard is torn: {error}") from error


def is_index(folder: Path | str) -> bool:
    """Whether the folder holds a gradient index."""
    return (Path(folder) / MANIFEST).is_file()


def read_manifest(path: Path) -> dict[str, Any]:
    """What the manifest says.

    Raises:
        UsageError: There is none, or none that this version can read.
    """
    try:
        manifest = json.loads(path.read_text())
        if manifest["format"] != 1:
            raise UsageError(f"{path}: format {manifest['format']} is not known to this version of tamis")
        if any(Path(name).name != name for name in manifest.get("shards", ())):  # others' indexes are read, too
            raise UsageError(f"{path}: names a shard outside its folder")
    except (OSError, json.JSONDecodeError, KeyError) as error:
        raise UsageError(f"{path.parent}: not a gradient index ({MANIFEST} is missing or unreadable)") from error
    return dict(manifest)


def encode_manifest(manifest: Mapping[str, Any]) -> bytes:
    """The manifest's file."""
    return json.dumps(manifest, indent=1, ensure_ascii=False, sort_keys=True).encode()


def _refuse_other(path: Path, there: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
    old, new = _flat(there), _flat(json.loads(json.dumps(identity)))
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
