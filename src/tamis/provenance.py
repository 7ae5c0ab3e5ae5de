"""`run.yaml`: what a folder was made by. The same file, given to the same verb with `--config`, makes it again."""

from __future__ import annotations

import errno
import os
import platform
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from tamis.errors import UsageError, WorkError
from tamis.recipe import Recipe, to_dict

_PACKAGES = ("tamis", "torch", "transformers", "datasets", "huggingface-hub", "numpy", "pyarrow", "safetensors")
_PARTIAL = ".partial"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
LOCK = ".lock"


def write_run(recipe: Recipe, **facts: Any) -> Path:
    """Writes the recipe and, under `provenance`, the versions, git revision, UTC time and the given facts."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    provenance = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "git_revision": _git_revision(),
        "versions": versions,
        **facts,
    }
    fields = {**to_dict(recipe), "provenance": {k: v for k, v in provenance.items() if v is not None}}
    path = Path(recipe.output_dir) / "run.yaml"
    write_whole(path, yaml.dump(fields, Dumper=Dumper, sort_keys=False, allow_unicode=True).encode())
    return path


def claim_folder(recipe: Recipe, digest: str, ignore: tuple[str, ...] = ()) -> Path:
    """Makes the output folder, or takes it over from an earlier run with the same digest; writes its `run.yaml`.

    Raises:
        UsageError: The folder cannot be made, or holds something else, which would be overwritten.
    """
    folder = Path(recipe.output_dir)
    run = folder / "run.yaml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = [path.name for path in left_in(folder) if path.name not in ignore]
        made_by = (yaml.safe_load(run.read_text()) or {}).get("provenance", {}) if run.is_file() else {}
        if others and made_by.get("digest") != digest:
            raise UsageError(f"{folder}: holds something else (such as {min(others)}); name another --output_dir")
        write_run(recipe, digest=digest)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from error
    return folder


def write_parquet(path: Path, table: pa.Table) -> None:
    """Writes a small Parquet file whole or not at all."""
    with whole(path) as stream:
        pq.write_table(table, stream)


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all."""
    with whole(path) as stream:
        stream.write(content)


@contextmanager
def whole(path: Path, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A stream to a file that is written whole or not at all: under a temporary name, flushed, then renamed.

    Args:
        path: The file.
        mode: Who may read and write it, from its first byte on; the process's mask takes its part off.

    Raises:
        WorkError: The disk is full or broken.
        OSError: The file cannot be written for any other reason.
    """
    partial = path.with_name(f".{path.name}{_PARTIAL}")
    try:
        partial.unlink(missing_ok=True)  # one that a killed run left has that run's mode
        with open(partial, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
    except BaseException as error:
        if partial.is_file():  # on a full disk it would take the room that the next run needs
            partial.unlink()
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            raise WorkError(
                f"{path}: could not be written ({os.strerror(error.errno)}); "
                "what was written before is whole, and the same command goes on from there"
            ) from error
        raise


def left_in(folder: Path) -> list[Path]:
    """What lies in a folder, without what a killed run leaves there: partial files and its lock."""
    return [path for path in folder.iterdir() if path.suffix != _PARTIAL and path.name != LOCK]


class Dumper(yaml.SafeDumper):
    """Quotes text such as `12e4567`, a git revision that YAML 1.2 readers take for a number."""


Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d[\d_]*\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def _git_revision() -> str | None:
    """The revision of the checkout that tamis runs from; None where it is an installed package."""
    here = Path(__file__)
    git = ["git", "-C", str(here.parent)]
    try:
        # An environment inside somebody's checkout is not that checkout: git has to know this very file.
        subprocess.run(
            [*git, "ls-files", "--error-unmatch", here.name], capture_output=True, timeout=5, check=True
        )
        found = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()
