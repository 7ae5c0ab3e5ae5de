"""A finished index against its own manifest: whether every byte and every row is still what was written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors import SafetensorError, safe_open

from tamis.errors import WorkError
from tamis.gradients.join import EXCLUDED, ROWS, duplicates, excluded_tables, row_tables
from tamis.gradients.shard import places, read_header, sha256
from tamis.gradients.store import MANIFEST, GradientIndex
from tamis.provenance import LOCK
from tamis.recipe import VerifyRecipe, digest

_NORM_TOLERANCE = 5e-3  # two float16 factors a module


@dataclass(frozen=True)
class Verified:
    """What was found to be whole.

    Attributes:
        shards: Shards.
        rows: Embedded rows.
        excluded: Rows without a gradient.
        bytes: Of all shards.
        digest: The index's digest.
    """

    shards: int
    rows: int
    excluded: int
    bytes: int
    digest: str


def verify(recipe: VerifyRecipe) -> Verified:
    """The counts of an index that is whole; writes nothing.

    Raises:
        UsageError: There is no index there, or one that is not finished.
        WorkError: Something is torn, altered, missing or unknown; the message names the first such file.
    """
    index = GradientIndex(recipe.index)
    manifest = index.manifest
    if digest(manifest["identity"]) != manifest["digest"]:
        raise WorkError(
            f"{index.folder / MANIFEST}: the digest is not that of the identity beside it: it was altered"
        )
    shards = [index.folder / name for name in manifest["shards"]]
    for path in shards:
        _check_shard(path, manifest)
    source_rows = 0
    for path in shards:
        there = places(read_header(path))
        if there != list(range(source_rows, source_rows + len(there))):
            raise WorkError(f"{path}: does not hold the source rows from {source_rows} on, each exactly once")
        source_rows += len(there)
    if source_rows != manifest["identity"]["data"]["rows"]:
        raise WorkError(
            f"{index.folder}: {source_rows} source rows in the shards, {manifest['identity']['data']['rows']} in "
            f"{MANIFEST}"
        )
    _check_tables(index.folder, shards, manifest)
    _refuse_others(index.folder, shards)
    size = sum(path.stat().st_size for path in shards)
    return Verified(len(shards), len(index), manifest["excluded"], size, manifest["digest"])


def _check_shard(path: Path, manifest: dict[str, Any]) -> None:
    """Refuses a shard whose bytes, shapes or numbers are not those of the manifest."""
    known = manifest["shards"][path.name]
    rows = read_header(path)["rows"]
    if sha256(path) != known["sha256"]:
        raise WorkError(f"{path}: was altered after it was written (its SHA-256 is not the one in {MANIFEST})")
    gradient = manifest["identity"]["gradient"]
    shape = (known["rows"], len(gradient["modules"]), gradient["proj_dim"])
    try:
        with safe_open(path, framework="numpy") as shard:
            u, v = shard.get_tensor("u"), shard.get_tensor("v")
    except SafetensorError as error:
        raise WorkError(f"{path}: the shard is torn: {error}") from error
    if (
        u.shape != shape
        or v.shape != shape
        or u.dtype != np.float16
        or v.dtype != np.float16
        or len(rows) != shape[0]
    ):
        raise WorkError(f"{path}: u, v and their rows are not {shape} float16, as {MANIFEST} says")
    square = [(side.astype(np.float64) ** 2).sum(-1) for side in (u, v)]
    norms = np.sqrt((square[0] * square[1]).sum(-1))
    bad = np.flatnonzero(~(np.abs(norms - 1) < _NORM_TOLERANCE))  # true of NaN, too
    if len(bad):
        raise WorkError(f"{path}: row {rows[int(bad[0])]['row_id']} has the norm {norms[bad[0]]:.4f}, not 1")


def _check_tables(folder: Path, shards: list[Path], manifest: dict[str, Any]) -> None:
    """Refuses a Parquet file that is not what the shards' headers give."""
    expected = {ROWS: row_tables(shards, duplicates(shards)), EXCLUDED: excluded_tables(shards)}
    for name, tables in expected.items():
        path = folder / name
        try:
            file = pq.ParquetFile(path)
            found = chain.from_iterable(batch.to_pylist() for batch in file.iter_batches(4096))
            wanted = chain.from_iterable(table.to_pylist() for table in tables)
            total = 0
            for line in wanted:
                if json.dumps(next(found, None)) != json.dumps(line):
                    raise WorkError(f"{path}: line {total} is not what the shards say of row {line['row_id']}")
                total += 1
            if next(found, None) is not None or total != manifest[name.removesuffix(".parquet")]:
                raise WorkError(f"{path}: not the {total} lines that the shards hold")
        except (OSError, pa.ArrowInvalid) as error:
            raise WorkError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error


def _refuse_others(folder: Path, shards: list[Path]) -> None:
    """Refuses a file that no run of `tamis embed` leaves in a finished index."""
    known = {MANIFEST, ROWS, EXCLUDED, "run.yaml", LOCK, *(path.name for path in shards)}
    others = sorted(path.name for path in folder.iterdir() if path.name not in known)
    if others:
        raise WorkError(f"{folder / others[0]}: does not belong to the index ({len(others)} such)")
