"""A folder to what is published of it: the files under their names in the repository, and its card."""

from __future__ import annotations

import hashlib
import io
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from tamis.errors import UsageError
from tamis.gradients.store import MANIFEST, GradientIndex, encode_manifest, is_index
from tamis.hub import cards
from tamis.hub.configs import config_names
from tamis.hub.front_matter import CARD, HERE, split
from tamis.hub.human_facts import read_human_facts
from tamis.names import is_local, shown
from tamis.pii.recipe import REMEDY

_RUN = "run.yaml"
_UNSAFE_WEIGHTS = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
_TOKEN = re.compile(rb"\bhf_[A-Za-z0-9]{16,}")
_TEXT_BYTES = 1 << 20
# What `tamis.pii.private` writes into every line of a file that holds text of people.
_PRIVATE = re.compile(rb'"private"\s*:\s*"tamis: holds text of people')


@dataclass(frozen=True)
class Bundle:
    """What a repository will hold.

    Attributes:
        repo_type: `dataset`, `model` or `space`.
        files: Each file's path in the repository, and where it lies, or its content; not the card.
        card: The card's text.
        is_index: Whether it is a gradient index.
    """

    repo_type: str
    files: dict[str, Path | bytes]
    card: str
    is_index: bool = False

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
    def limits(self) -> list[str]:
        """Why it may be published as a demo only."""
        block = self.metadata.get("tamis") or {}
        variants = (block.get("variants") or {}).values()
        return [reason for one in (block, *variants) for reason in one.get("limits", [])]

    @property
    def shows_removed_rows(self) -> bool:
        """Whether it has rows that a selection removed."""
        names = config_names(self.metadata) if "tamis" in self.metadata else []
        return any(re.search(r"(^|-)(removed-[\d.]+|all)$", name) for name in names)


def gather(folder: Path, repo_type: str, repo_id: str, card: str | None = None) -> Bundle:
    """What is published of a folder: all but hidden files and the record of the run.

    A gradient index gets its card here, and a manifest without the names of folders.

    Args:
        folder: The folder.
        repo_type: `dataset`, `model` or `space`.
        repo_id: Stands in the card where the folder's place did.
        card: Of an index, the card.yaml of what people know.

    Raises:
        UsageError: There is no folder, or no card in it; the card's front matter is not whole; or a file must not
            be published: a link, weights that are not safetensors, or one that holds a token.
    """
    index = GradientIndex(folder) if repo_type == "dataset" and is_index(folder) else None
    if card is not None and index is None:
        raise UsageError(f"--card {card}: {folder} is no gradient index, and has its card in it")
    human = read_human_facts(card, "gradients") if card else {}
    text = cards.gradients(index, human) if index else _card_of(folder)
    files: dict[str, Path | bytes] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() and not path.is_symlink():
            continue
        hidden = any(part.startswith(".") for part in name.split("/")) and not name.startswith(".eval_results/")
        if path.name == _RUN:  # it holds the folders of this machine
            _refuse_personal(path)
            continue
        if name == CARD or hidden or "__pycache__" in name:
            continue
        _refuse(path, repo_type)
        files[name] = path
    if index:
        files[MANIFEST] = _manifest(index)
    else:
        _refuse(folder / CARD, repo_type)
    return Bundle(repo_type, files, text.replace(HERE, repo_id), is_index=index is not None)


def _card_of(folder: Path) -> str:
    card = folder / CARD
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    if not card.is_file():
        raise UsageError(f"{folder}: there is no {CARD} in it, which says what it is; nothing was published")
    try:
        text = card.read_text(encoding="utf-8")
        split(text)
    except (UnicodeDecodeError, ValueError) as error:
        raise UsageError(f"{card}: {error}") from error
    return text


def _manifest(index: GradientIndex) -> bytes:
    """The manifest as it is published.

    Raises:
        UsageError: The model lies in a folder here, so that nobody else could embed a target set.
    """
    recipe = dict(index.manifest["recipe"])
    if "model_name_or_path" in recipe and is_local(str(recipe["model_name_or_path"])):
        raise UsageError(
            f"{index.folder}: its model is a folder on this machine ({recipe['model_name_or_path']}): nobody else "
            "could rank with it; publish the model, and embed by its name on the Hub"
        )
    recipe["dataset_name"] = shown(str(recipe["dataset_name"]))
    return encode_manifest({**index.manifest, "recipe": recipe})


def _refuse_personal(run: Path) -> None:
    """Refuses what a redaction left in a folder.

    Raises:
        UsageError: It did not end, changed nothing, or there are text columns that it did not scan.
    """
    made_by = yaml.safe_load(run.read_text(encoding="utf-8")) or {}
    where = run.parent
    if "operator" not in made_by:
        if {"key_file", "surrogate_map"} & {*made_by}:
            raise UsageError(f"{where}: holds personal data that was restored; nothing was published")
        return
    columns = made_by.get("provenance", {}).get("unscanned")
    if columns is None:
        raise UsageError(f"{where}: its redaction did not end; nothing was published")
    if made_by["operator"] == "keep":
        raise UsageError(f"{where}: nothing in it was redacted (--operator keep); nothing was published")
    if columns:
        raise UsageError(f"{where}: columns not scanned: {', '.join(columns)}; {REMEDY}, and redact again")


def _refuse(path: Path, repo_type: str) -> None:
    if path.is_symlink() or not path.is_file():
        raise UsageError(f"{path}: is not a plain file; publish what it points to")
    if repo_type == "model" and path.suffix in _UNSAFE_WEIGHTS:
        raise UsageError(f"{path}: weights are published as safetensors only; save them so, and remove it")
    with path.open("rb") as stream:
        beginning = stream.read(_TEXT_BYTES)
    if _PRIVATE.search(beginning):
        raise UsageError(f"{path}: holds text of people for review, which is never uploaded; take it elsewhere")
    if path.stat().st_size <= _TEXT_BYTES and _TOKEN.search(beginning):
        raise UsageError(f"{path}: holds what looks like a token of the Hub; nothing was published")


def size_of(file: Path | bytes) -> int:
    """The bytes of a file, or of its content."""
    return len(file) if isinstance(file, bytes) else file.stat().st_size


def checksums(file: Path | bytes) -> tuple[str, str]:
    """The SHA-256 of a file or of its content, and its id as a git blob."""
    sha256, git = hashlib.sha256(), hashlib.sha1(f"blob {size_of(file)}\0".encode())
    with io.BytesIO(file) if isinstance(file, bytes) else file.open("rb") as stream:
        while block := stream.read(1 << 20):
            sha256.update(block)
            git.update(block)
    return sha256.hexdigest(), git.hexdigest()
