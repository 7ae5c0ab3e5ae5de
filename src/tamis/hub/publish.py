"""A folder to a release on the Hub: checked here first, then sent whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tamis.errors import UsageError
from tamis.hub.bundle import Bundle, gather, size_of
from tamis.hub.check import check_bundle
from tamis.hub.repository import Release, refuse_open
from tamis.recipe import PublishRecipe


@dataclass(frozen=True)
class Published:
    """A release.

    Attributes:
        repo_id: The repository's name, as the Hub says it.
        commit: The commit that has it; None after a dry run.
        files: The bytes of each file of the release.
        sent: The files that were new or changed.
        deleted: The files that the release no longer has.
        rows: The rows of each config.
        card: The card.
    """

    repo_id: str
    commit: str | None
    files: dict[str, int]
    sent: list[str]
    deleted: list[str]
    rows: dict[str, int]
    card: str


@dataclass(frozen=True)
class Ready:
    """A folder that was checked, and nothing of it sent yet.

    Attributes:
        recipe: What is asked for.
        bundle: What the repository will hold.
        rows: The rows of each config.
    """

    recipe: PublishRecipe
    bundle: Bundle
    rows: dict[str, int]


def publish(recipe: PublishRecipe) -> Published:
    """Publishes a folder; nothing is sent where nothing changed.

    Raises:
        UsageError: The folder or its card is not whole; the token may not write; the repository holds something
            that tamis did not make; or removed rows would be public.
        WorkError: The Hub refuses, or what it gives back is not what was sent.
    """
    return send(prepare(recipe))


def prepare(recipe: PublishRecipe) -> Ready:
    """Checks a folder as far as that goes without the Hub; raises as `publish` does."""
    bundle = gather(Path(recipe.folder), recipe.repo_type, recipe.repo_id, recipe.card)
    _refuse_name(bundle, recipe)
    if bundle.is_index and not recipe.public:
        recipe = replace(recipe, private=True)
    return Ready(recipe, bundle, check_bundle(bundle, Path(recipe.folder)))


def send(ready: Ready) -> Published:
    """Publishes what was checked, or says what would be, if that was asked for; raises as `publish` does."""
    recipe, bundle, rows = ready.recipe, ready.bundle, ready.rows
    sizes = {path: size_of(file) for path, file in bundle.files.items()}
    if recipe.dry_run:
        refuse_open(bundle, recipe, there=None)
        return Published(recipe.repo_id, None, sizes, sorted(sizes), [], rows, bundle.card)
    release = Release(recipe, bundle)
    done = release.run()
    return Published(release.repo_id, done.commit, sizes, done.sent, done.deleted, rows, done.card)


def _refuse_name(bundle: Bundle, recipe: PublishRecipe) -> None:
    """Refuses to give a demo the name of the real thing."""
    if bundle.limits and "demo" not in recipe.repo_id.partition("/")[2].lower():
        raise UsageError(
            f"--repo_id {recipe.repo_id}: has to have `demo` in it, as this was made from "
            f"{', '.join(dict.fromkeys(bundle.limits))}"
        )
