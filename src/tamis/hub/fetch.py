"""A name that may be a folder here or a data set on the Hub, to what it holds: read at one commit, or refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis.errors import UsageError, WorkError, missing_extra
from tamis.gradients.join import EXCLUDED, ROWS
from tamis.gradients.store import MANIFEST
from tamis.hub.calls import about, api, asked

_INDEX_FILES = [MANIFEST, ROWS, EXCLUDED, "shard-*.safetensors"]
_FILE = re.compile(r"\.(jsonl|json|csv|parquet|yaml|yml|md|txt)$", re.IGNORECASE)


@dataclass(frozen=True)
class Found:
    """A folder, and the commit of the data set on the Hub that it is a copy of, if it is one."""

    folder: Path
    commit: str | None


def is_repo_id(name: str) -> bool:
    """Whether a name looks like namespace/name on the Hub, and not like a file."""
    return bool(re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name, re.ASCII)) and not _FILE.search(name)


def find_index(name: str, revision: str | None = None) -> Found:
    """The folder of a gradient index; one on the Hub is copied into the client's cache, without its other files.

    Offline, only the very revision that was copied before is taken.

    Args:
        name: A folder, which is taken as it is; or a data set on the Hub.
        revision: Its branch, tag or commit.

    Raises:
        UsageError: A revision is given for a folder; or there is no such data set or revision, no index in it, or
            no right to read it.
        WorkError: The Hub cannot be reached.
    """
    if Path(name).exists() or not is_repo_id(name):
        if revision is not None:
            raise UsageError(f"--index_revision {revision}: goes with an index on the Hub, which {name} is not")
        return Found(Path(name), None)
    found = _index(name, revision)
    if found is None:
        raise UsageError(f"{name}: there is no gradient index in it ({MANIFEST} is missing)")
    return found


def find_set(name: str) -> str:
    """The folder of an index on the Hub, copied like a pool's; any other name as it is, for rows."""
    if Path(name).exists() or not is_repo_id(name):
        return name
    found = _index(name, None, or_rows=True)
    return str(found.folder) if found else name


def commit_of(name: str, revision: str | None = None) -> str:
    """The commit that a revision of a data set on the Hub is now; asked of the Hub, never of a cache.

    Raises:
        UsageError: There is no such data set or revision, or no right to see it; or `HF_HUB_OFFLINE` is set.
        WorkError: The Hub cannot be reached.
    """
    what = f"{name}: no such file or folder here, and on the Hub"
    return str(about(name, "dataset", revision, what).sha)


def _index(name: str, revision: str | None, or_rows: bool = False) -> Found | None:
    """A copy of the index; None where there is none in the data set, or offline, for rows, in the cache."""
    try:
        from huggingface_hub import constants, snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError
    except ImportError as error:
        raise missing_extra("attribution", error) from error
    where: dict[str, Any] = {"repo_type": "dataset", "revision": revision}
    if constants.HF_HUB_OFFLINE:
        try:
            folder = snapshot_download(name, **where, allow_patterns=_INDEX_FILES, local_files_only=True)
        except LocalEntryNotFoundError as error:
            if or_rows:
                return None
            raise UsageError(
                f"{name}: no such folder here, and HF_HUB_OFFLINE is set: the cache does not hold "
                f"{revision or 'its main branch'} whole"
            ) from error
        return Found(Path(folder), Path(folder).name)
    client = api()
    commit = commit_of(name, revision)
    if not asked(name, client.file_exists, name, MANIFEST, repo_type="dataset", revision=commit):
        return None
    # By the revision's own name, which the cache then knows for work offline.
    folder = _read(name, snapshot_download, name, **where, allow_patterns=_INDEX_FILES)
    if Path(folder).name != commit:
        raise WorkError(f"{name}: changed while it was read, or was not to be had; run this again")
    return Found(Path(folder), commit)


def _read(name: str, call: Callable[..., str], *arguments: Any, **options: Any) -> str:
    from huggingface_hub.errors import FileMetadataError, LocalEntryNotFoundError

    try:
        return asked(name, call, *arguments, **options)
    except (FileMetadataError, LocalEntryNotFoundError) as error:
        raise WorkError(f"{name}: the Hub stopped answering; run this again") from error
