"""A folder to what is published of it: the files under their names in the repository, and its card."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tamis.errors import UsageError
from tamis.hub.configs import config_names
from tamis.hub.front_matter import split

CARD = "README.md"
_NOT_PUBLISHED = ("run.yaml",)  # it holds the folders of this machine
_UNSAFE_WEIGHTS = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
_TOKEN = re.compile(rb"\bhf_[A-Za-z0-9]{16,}")
_TEXT_BYTES = 1 << 20


@dataclass(frozen=True)
class Bundle:
    """What a repository will hold.

    Attributes:
        repo_type: `dataset`, `model` or `space`.
        files: Each file's path in the repository, and where it lies; the card is not among them.
        card: The card's text.
    """

    repo_type: str
    files: dict[str, Path]
    card: str

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The card's front matter."""
        return split(self.card)[0]

    @cached_property
    def sums(self) -> dict[str, tuple[str, str]]:
        """Each file's SHA-256 and its id as a git blob: the Hub lists one or the other."""
        return {path: checksums(file) for path, file in self.files.items()}

    @property
    def digest(self) -> str:
        """Names what is published."""
        total = hashlib.sha256(self.card.encode())
        for path, (sha256, _) in sorted(self.sums.items()):
            total.update(f"\0{path}\0{sha256}".encode())
        return total.hexdigest()[:12]

    @property
    def shows_removed_rows(self) -> bool:
        """Whether it has rows that a selection removed."""
        names = config_names(self.metadata) if "tamis" in self.metadata else []
        return any(re.search(r"(^|-)(removed-[\d.]+|all)$", name) for name in names)


def gather(folder: Path, repo_type: str) -> Bundle:
    """What is published of a folder: all but hidden files and the record of the run.

    Raises:
        UsageError: There is no folder, or no card in it; the card's front matter is not whole; or a file must not
            be published: a link, weights that are not safetensors, or one that holds a token.
    """
    card = folder / CARD
    if not card.is_file():
        raise UsageError(f"{folder}: there is no {CARD} in it, which says what it is; nothing was published")
    try:
        text = card.read_text(encoding="utf-8")
        split(text)
    except (UnicodeDecodeError, ValueError) as error:
        raise UsageError(f"{card}: {error}") from error
    files: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() and not path.is_symlink():
            continue
        hidden = any(part.startswith(".") for part in name.split("/")) and not name.startswith(".eval_results/")
        if name in (CARD, *_NOT_PUBLISHED) or hidden or "__pycache__" in name:
            continue
        _refuse(path, repo_type)
        files[name] = path
    _refuse(card, repo_type)
    return Bundle(repo_type, files, text)


def _refuse(path: Path, repo_type: str) -> None:
    if path.is_symlink() or not path.is_file():
        raise UsageError(f"{path}: is not a plain file; publish what it points to")
    if repo_type == "model" and path.suffix in _UNSAFE_WEIGHTS:
        raise UsageError(f"{path}: weights are published as safetensors only; save them so, and remove it")
    if path.stat().st_size <= _TEXT_BYTES and _TOKEN.search(path.read_bytes()):
        raise UsageError(f"{path}: holds what looks like a token of the Hub; nothing was published")


def checksums(file: Path) -> tuple[str, str]:
    """A file's SHA-256, and its id as a git blob."""
    sha256, git = hashlib.sha256(), hashlib.sha1(f"blob {file.stat().st_size}\0".encode())
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            sha256.update(block)
            git.update(block)
    return sha256.hexdigest(), git.hexdigest()
