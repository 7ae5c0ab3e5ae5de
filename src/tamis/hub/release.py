"""Everything that the project publishes, from one manifest: in order, up to the first that is not ready."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from tamis.errors import UsageError, WorkError
from tamis.hub.publish import Published, Ready, prepare, send
from tamis.recipe import PublishRecipe, ReleaseRecipe

_OWN = "tamis"  # in every name: the authors' repositories have names without it
_REPO_TYPES = {"dataset": "dataset", "gradients": "dataset", "model": "model", "metric": "space", "space": "space"}


@dataclass(frozen=True)
class Artefact:
    """One repository of the manifest.

    Attributes:
        name: Its name, without the namespace.
        kind: `dataset`, `gradients`, `model`, `metric` or `space`.
        folder: What is published, from the manifest's folder on.
        recipe: The recipe that makes it.
        license: The licence that its card has to name.
        rows: The rows that its largest config has to have.
        card: The card.yaml of a gradient index.
        gated: As of `tamis publish`.
        private: As of `tamis publish`.
        public: As of `tamis publish`.
    """

    name: str
    kind: str
    folder: str
    recipe: str
    license: str
    rows: int | None = None
    card: str | None = None
    gated: str | None = None
    private: bool = False
    public: bool = False


@dataclass(frozen=True)
class Released:
    """What a release came to.

    Attributes:
        published: Each repository, in order; after a dry run what it would be.
        stopped: Why it went no further; None where all are there.
    """

    published: list[Published]
    stopped: str | None


def release(recipe: ReleaseRecipe) -> Released:
    """Publishes what the manifest lists, in its order; stops before the first that is not ready.

    Raises:
        UsageError: The manifest cannot be read, or names something that may not be published so.
    """
    artefacts = read_manifest(Path(recipe.manifest))
    here = Path(recipe.manifest).parent
    done: list[Published] = []
    for i, artefact in enumerate(artefacts):  # of those that share a repository, the last brings the tag
        last = artefact.name not in [later.name for later in artefacts[i + 1 :]]
        try:
            ready = prepare(_asked(artefact, here, recipe, tag=recipe.tag if last else None))
            _refuse_unready(artefact, here, ready)
            done.append(send(ready))
        except (UsageError, WorkError) as error:
            return Released(done, f"{artefact.name}: {error}")
    return Released(done, None)


def read_manifest(path: Path) -> list[Artefact]:
    """The artefacts of a manifest.

    Raises:
        UsageError: It cannot be read; or a key, a kind or a name is not right (the message says which).
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"--manifest {path}: cannot be read: {' '.join(str(error).split())}") from error
    listed = content.get("artefacts") if isinstance(content, dict) else None
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise UsageError(f"--manifest {path}: has to be a list of artefacts under the key artefacts")
    return [_artefact(path, one) for one in listed]


def _artefact(path: Path, given: Mapping[str, Any]) -> Artefact:
    name = given.get("name", "an artefact without a name")
    known = [one.name for one in fields(Artefact)]
    if unknown := sorted({*given} - {*known}):
        raise UsageError(f"--manifest {path}: {name}: unknown key {unknown[0]!r}; valid: {', '.join(known)}")
    try:
        artefact = Artefact(**given)
    except TypeError as error:
        raise UsageError(f"--manifest {path}: {name}: needs name, kind, folder, recipe and license") from error
    if artefact.kind not in _REPO_TYPES:
        raise UsageError(f"--manifest {path}: {name}: kind {artefact.kind!r}: not one of {', '.join(_REPO_TYPES)}")
    if _OWN not in artefact.name.split("-"):
        raise UsageError(
            f"--manifest {path}: {name}: has to have {_OWN} in its name, so that nobody takes it for the authors'"
        )
    return artefact


def _refuse_unready(artefact: Artefact, here: Path, ready: Ready) -> None:
    """Refuses what is not what the manifest says.

    Args:
        artefact: What the manifest says.
        here: The manifest's folder.
        ready: What would be published.

    Raises:
        UsageError: Its recipe is not there, or its licence or its rows are others.
    """
    if not (here / artefact.recipe).is_file():
        raise UsageError(f"not ready: {here / artefact.recipe} is not there")
    licence = ready.bundle.metadata.get("license")
    if licence != artefact.license:
        raise UsageError(f"not ready: its card has the licence {licence}, not {artefact.license}")
    largest = max(ready.rows.values(), default=None)
    if artefact.rows is not None and largest != artefact.rows:
        raise UsageError(f"not ready: its largest config has {largest} rows, not {artefact.rows}")


def _asked(artefact: Artefact, here: Path, recipe: ReleaseRecipe, tag: str | None) -> PublishRecipe:
    return PublishRecipe(
        str(here / artefact.folder),
        f"{recipe.namespace}/{artefact.name}",
        repo_type=_REPO_TYPES[artefact.kind],
        tag=tag,
        dry_run=recipe.dry_run,
        private=artefact.private,
        gated=artefact.gated,
        public=artefact.public,
        card=None if artefact.card is None else str(here / artefact.card),
    )
