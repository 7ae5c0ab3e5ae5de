"""A data set that `tamis export` made, as its card and the ends of its Parquet files describe it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.errors import UsageError, WorkError
from tamis.hub.configs import configs, paths_of
from tamis.hub.fetch import commit_of, is_repo_id
from tamis.hub.front_matter import CARD, split
from tamis.hub.ranges import Files, FolderFiles, HubFiles, Ranged, text_of
from tamis.permalink import block_of, parse, query

_COLUMNS = ("order", "rank", "reason", "source", "language")
_LICENCE = ("license", "license_name", "license_link")
_COUNTS = ("rows_sieved", "named_by_keep", "named_by_remove")


@dataclass(frozen=True)
class Published:
    """A published data set, of which nothing but the card and the footers was read.

    Attributes:
        files: Where it lies.
        recipe: What `selection.portable` gave: how it was selected.
        columns: The names of its columns of ours.
        sieved: n: how many rows the selection sieved.
        named_by_keep: Of these, how many are kept at any ratio.
        named_by_remove: And how many are removed at any ratio.
        limits: Why it may be published as a demo only, if so.
        licence: The card's keys that say so.
        parts: Its Parquet files.
        size: Bytes of the card and of these files.
    """

    files: Files
    recipe: dict[str, Any]
    columns: dict[str, str]
    sieved: int
    named_by_keep: int
    named_by_remove: int
    limits: list[str]
    licence: dict[str, str]
    parts: dict[str, pq.ParquetFile]
    size: int

    @property
    def name(self) -> str:
        """Its name on the Hub, or its folder."""
        return self.files.name


def open_published(name: str, revision: str | None, variant: str | None) -> Published:
    """The data set of a name on the Hub, at one commit, or in a folder.

    Args:
        name: The name or the folder.
        revision: The branch, tag or commit on the Hub.
        variant: The variant, where several share a repository.

    Raises:
        UsageError: There is none, or no right to read it; or `tamis export` did not make it.
        WorkError: The Hub cannot be reached, or the files are not those that the card speaks of.
    """
    files = _files(name, revision)
    metadata, block = _front_matter(files, variant)
    size = files.fetched
    columns = {str(ours): str(theirs) for ours, theirs in block["columns"].items()}
    sizes = files.sizes(_paths(metadata, variant))
    licence = {key: text for key in _LICENCE if isinstance(text := metadata.get(key), str)}
    limits = block.get("limits") or []
    return Published(
        files,
        parse(query(block)),
        columns,
        sieved=block["rows_sieved"],
        named_by_keep=block["named_by_keep"],
        named_by_remove=block["named_by_remove"],
        limits=[str(reason) for reason in limits] if isinstance(limits, list) else [],
        licence=licence,
        parts={path: _opened(files, path, bytes_, columns) for path, bytes_ in sizes.items()},
        size=size + sum(sizes.values()),
    )


def _files(name: str, revision: str | None) -> Files:
    if Path(name).is_dir():
        if revision is not None:
            raise UsageError(f"--revision {revision}: goes with a data set on the Hub, not with a folder")
        return FolderFiles(name)
    if not is_repo_id(name):
        raise UsageError(f"{name}: there is no such folder, and no data set on the Hub has such a name")
    return HubFiles(name, commit_of(name, revision))


def _front_matter(files: Files, variant: str | None) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The card's, and its `tamis` block, which has what is needed."""
    try:
        metadata, _ = split(text_of(files, CARD))
        block = block_of(metadata, variant)
        columns = block.get("columns")
        if not isinstance(columns, Mapping):
            raise ValueError("it has no tamis block with columns")
        parse(query(block))
        _paths(metadata, variant)
        lacking = [name for name in _COUNTS if not isinstance(block.get(name), int)]
        lacking += [name for name in _COLUMNS if name not in columns]
        if lacking:
            raise ValueError(f"its tamis block does not say {', '.join(lacking)}")
    except ValueError as error:
        raise UsageError(f"{files.name}: its card does not say what it takes: {error}") from error
    return metadata, block


def _paths(metadata: Mapping[str, Any], variant: str | None) -> list[str]:
    """The Parquet files of all configs.

    Raises:
        ValueError: The card does not list them.
    """
    folder = f"data/{variant}" if variant else "data"
    try:
        paths = dict.fromkeys(path for config in configs(metadata) for path in paths_of(config))
        mine = [path for path in paths if path.rpartition("/")[0] == folder]
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError("its configs are not lists of files") from error
    if not mine:
        raise ValueError(f"its configs list no file in {folder}")
    return mine


def _opened(files: Files, path: str, size: int, columns: Mapping[str, str]) -> pq.ParquetFile:
    try:
        part = pq.ParquetFile(Ranged(files, path, size), pre_buffer=True)
    except pa.ArrowInvalid as error:
        raise WorkError(f"{files.name}: {path} is no Parquet file") from error
    if missing := [name for name in columns.values() if name not in part.schema_arrow.names]:
        raise WorkError(f"{files.name}: {path} has no column {missing[0]}, of which its card speaks")
    return part
