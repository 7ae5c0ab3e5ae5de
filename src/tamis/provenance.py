"""`run.yaml`: what a folder was made by. The same file, given to the same verb with `--config`, makes it again."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml

from tamis.recipe import Recipe, to_dict

_PACKAGES = ("tamis", "torch", "transformers", "datasets", "huggingface-hub", "numpy", "pyarrow", "safetensors")


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
    write_whole(path, yaml.safe_dump(fields, sort_keys=False, allow_unicode=True).encode())
    return path


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all: under a temporary name, flushed to the disk, then renamed."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(path)


def _git_revision() -> str | None:
    """The revision of the checkout that tamis runs from; None where it is an installed package."""
    here = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "-C", here, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()
