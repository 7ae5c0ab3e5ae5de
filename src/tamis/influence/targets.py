"""The sets that a pool is scored against: indexes that are there, and rows that are embedded like the pool."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tamis.errors import UsageError, missing_extra
from tamis.gradients.store import GradientIndex, is_index
from tamis.hub.fetch import find_set
from tamis.provenance import left_in
from tamis.recipe import EmbedRecipe, ScoreRecipe
from tamis.rows import read_rows

OWN = ("target", "targets", "contrast")
"""What embedded sets are called inside the output folder."""

_FILES = (".jsonl", ".json", ".csv", ".parquet")


@dataclass(frozen=True)
class TargetSet:
    """A target set, and what is taken off for safe rows.

    Attributes:
        name: Names its column: letters, digits, `_` and `-`, unlike every other set's.
        index: Its gradients.
        weight: Its share of the score.
    """

    name: str
    index: GradientIndex
    weight: float


def opened(recipe: ScoreRecipe, pool: GradientIndex) -> tuple[list[TargetSet], GradientIndex | None]:
    """The target sets and the contrast set of a recipe; rows among them are embedded into the output folder.

    Raises:
        UsageError: A set cannot be read, was made by another recipe than the pool, or has nothing in it; or the
            output folder holds something else.
    """
    labels = set_names(recipe.targets)
    places = ["target"] if len(labels) == 1 else [f"targets/{name}" for name in labels]
    sets = [*zip(map(find_set, recipe.targets), places, strict=True)]
    if recipe.contrast is not None:
        sets.append((find_set(recipe.contrast), "contrast"))
    rows = [(path, Path(recipe.output_dir) / place) for path, place in sets if not is_index(path)]
    _refuse_folder(Path(recipe.output_dir), [place for _, place in rows])
    there = {path: _refuse_other(GradientIndex(path), recipe, pool) for path, _ in sets if is_index(path)}
    for path, _ in rows:  # the last as well, before the first is embedded
        read_rows(path, config=recipe.target_config, split=recipe.target_split)
    made = [there[path] if path in there else _embedded(path, place, recipe, pool) for path, place in sets]
    for (path, place), index in zip(sets, made, strict=True):
        if len(index) == 0:
            raise UsageError(f"{path}: no {'contrast' if place == 'contrast' else 'target'} row could be embedded")
    contrast = None if recipe.contrast is None else made.pop()
    if recipe.split_targets:
        parts = [part for index in made for part in _by_source(index)]
        labels, made = _distinct([name for name, _ in parts]), [index for _, index in parts]
    weights = shares(recipe.weight, labels)
    return [TargetSet(*parts) for parts in zip(labels, made, weights, strict=True)], contrast


def _by_source(index: GradientIndex) -> list[tuple[str, GradientIndex]]:
    """Each source of an index, and its rows.

    Raises:
        UsageError: None of a source's rows could be embedded.
    """
    with_rows = {*index.rows["source"].to_pylist()}
    for name in index.excluded["source"].unique().to_pylist():
        if name not in with_rows:
            raise UsageError(f"{index.folder}: no target row of the source {name!r} could be embedded")
    return [(name, GradientIndex(index.folder, source=name)) for name in sorted(with_rows)]


def shares(given: Sequence[float], names: Sequence[str]) -> list[float]:
    """The weight of each target set, in sum 1; equal ones where none are given.

    Raises:
        UsageError: There are more or fewer than target sets, or one is negative or not finite, or all are zero.
    """
    weights = given or [1.0] * len(names)
    if len(weights) != len(names):
        raise UsageError(
            f"--weight: {len(weights)} for {len(names)} target sets ({', '.join(names)}); give one for each"
        )
    for weight in weights:
        if weight < 0:
            raise UsageError(
                f"--weight {weight}: negative, which would keep what it should remove; use --contrast"
            )
        if not weight < float("inf"):
            raise UsageError(f"--weight {weight}: not a finite number")
    total = sum(weights)
    if not 0 < total < float("inf"):
        raise UsageError("--weight: all are zero" if not any(weights) else "--weight: too large to be added up")
    # Shares already, as of a recipe that is repeated: divided again, a last bit might differ.
    if abs(total - 1) < 1e-9:
        return [*weights]
    return [weight / total for weight in weights]


def set_names(paths: Sequence[str]) -> list[str]:
    """A name for each set, from its file or folder: fit for a column, and unlike the others in any case."""
    parts = map(Path, paths)
    return _distinct([p.stem if p.suffix.lower() in _FILES else p.name or p.resolve().name for p in parts])


def _distinct(wanted: Sequence[str]) -> list[str]:
    names: list[str] = []
    for text in wanted:
        first = name = re.sub(r"[^\w-]+", "_", text) or "set"
        number = 2
        while name.casefold() in {other.casefold() for other in names}:
            name, number = f"{first}-{number}", number + 1
        names.append(name)
    return names


def _refuse_folder(folder: Path, rows: Sequence[Path]) -> None:
    """Refuses to embed into a folder that holds more than sets, unless an earlier run embedded the same there."""
    if not rows or not folder.is_dir():
        return
    others = [path.name for path in left_in(folder) if path.name not in OWN]
    if others and not all(is_index(place) for place in rows):
        raise UsageError(f"{folder}: holds something else; name another --output_dir")


def _refuse_other(made: GradientIndex, recipe: ScoreRecipe, pool: GradientIndex) -> GradientIndex:
    if made.gradient_digest != pool.gradient_digest:
        raise UsageError(f"{made.folder}: its gradients were made by another recipe than those of {recipe.index}")
    return made


def _embedded(path: str, place: str, recipe: ScoreRecipe, pool: GradientIndex) -> GradientIndex:
    try:
        from tamis.gradients.embed import embed
    except ImportError as error:
        raise missing_extra("attribution", error) from error
    try:
        own = EmbedRecipe(output_dir=str(Path(recipe.output_dir) / place), **pool.manifest["recipe"])
        gradient = pool.manifest["identity"]["gradient"]
        commit, dtype = gradient["model_revision"], gradient["dtype"]
    except (TypeError, KeyError) as error:
        raise UsageError(f"{recipe.index}: was made by a version of tamis that this one does not know") from error
    if own.trust_remote_code and pool.folder != Path(recipe.index):  # somebody else trusted it
        raise UsageError(
            f"{recipe.index}: to embed {path} like it runs the code of {own.model_name_or_path}; embed it by "
            "tamis embed --trust_remote_code, if you trust it, and give that index"
        )
    return embed(
        replace(
            own,
            dataset_name=path,
            dataset_config=recipe.target_config,
            dataset_split=recipe.target_split,
            dataset_revision=None,
            append=False,
            # Of the index, where the model's branch may have moved since.
            model_revision=own.model_revision if commit.startswith("sha256:") else commit,
            max_samples=None,
            dtype=dtype,  # `auto` may have meant another type on the index's device
            device=recipe.device,
        ),
        expect=gradient,
    )
