"""A gradient index and a target set to one score a row.

What a score is, `similarity.py` says; here it is asked for, ranked, written and read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tamis import permalink
from tamis.errors import UsageError, WorkError
from tamis.gradients.store import GradientIndex
from tamis.hub.fetch import find_index
from tamis.influence.similarity import AGGREGATES, SIMILARITIES, collapse, highest, similarities
from tamis.influence.targets import OWN, TargetSet, opened, set_names, shares
from tamis.provenance import claim_folder, write_parquet
from tamis.recipe import ScoreRecipe, digest

ORIENTATION = "the highest scores are removed"
METADATA_KEY = b"tamis"
DEFAULT_TOPK = 10
SCORES, EXCLUDED = "scores.parquet", "excluded.parquet"


@dataclass(frozen=True)
class Scores:
    """Every scored row, and what the scores are.

    Attributes:
        table: `row_id`, `index` (position in the source), `source`, `language`, `score` (float64), with several
            target sets a `score_<name>` for each (float64), `order` (int64, ascending by score, then row id),
            `rank` (float64, order / rows), `flags`.
        excluded: Rows without a score, with their `reason`.
        metadata: Orientation, similarity, aggregate, a digest and that of the index, what the sets hold, and where
            the source rows lie.
    """

    table: pa.Table
    excluded: pa.Table
    metadata: dict[str, Any]


def score(recipe: ScoreRecipe) -> Scores:
    """The scores of every row of an index against target sets, written to `recipe.output_dir`.

    A set that is rows is embedded with the index's own recipe, into `target`, `targets` or `contrast` inside the
    output folder.

    Raises:
        UsageError: The index or a set cannot be read, was made by another recipe, or has nothing in it; or an
            option does not fit the others; or the scores would not be those of `recipe.recipe`.
        WorkError: A score is not finite.
    """
    asked = permalink.asked(recipe)
    _refuse_options(recipe)
    found = find_index(recipe.index, recipe.index_revision)
    recipe = replace(recipe, index_revision=found.commit)  # the branch may have moved when this is run again
    index = GradientIndex(found.folder)
    if len(index) == 0:
        raise UsageError(f"{recipe.index}: the index holds no row that could be embedded")
    targets, contrast = opened(recipe, index)
    for made in [*(target.index for target in targets), *([contrast] if contrast else [])]:
        if recipe.aggregate == "topk" and _count(recipe) > len(made):
            raise UsageError(f"--topk {_count(recipe)}: {made.folder} has only {len(made)} rows; ask for fewer")
    metadata = {
        "digest": digest(_identity(recipe, index, targets, contrast)),
        "index": index.digest,
        "model": index.manifest["recipe"].get("model_name_or_path"),
        "orientation": ORIENTATION,
        **_about(recipe, targets, contrast),
        "source": {**source_of(index), "excluded": len(index.excluded)},
    }
    permalink.refuse_other(asked, "scores", portable_scores(metadata))
    folder = claim_folder(recipe, str(metadata["digest"]), ignore=OWN)
    values = {target.name: _values(index, target.index, contrast, recipe) for target in targets}
    columns = {f"score_{name}": column for name, column in values.items()} if len(targets) > 1 else {}
    scores = Scores(ranked(index.rows, mixed(targets, values), columns), index.excluded, metadata)
    write_parquet(folder / EXCLUDED, scores.excluded)
    write_parquet(
        folder / SCORES, scores.table.replace_schema_metadata({METADATA_KEY: json.dumps(scores.metadata)})
    )
    return scores


def mixed(targets: Sequence[TargetSet], values: Mapping[str, np.ndarray]) -> np.ndarray:
    """The weighted mean over target sets, `[rows]` float64."""
    if len(targets) == 1:
        return values[targets[0].name]
    total = np.zeros(len(values[targets[0].name]))
    for target in targets:
        total += target.weight * values[target.name]
    return total


def ranked(rows: pa.Table, values: np.ndarray, columns: Mapping[str, np.ndarray] | None = None) -> pa.Table:
    """The rows with `score`, `order` (ascending by score, then by row id as text) and `rank` (order / rows).

    Args:
        rows: An index's rows.
        values: Their scores, `[rows]` float64.
        columns: More columns of float64, which stand after the score and decide nothing.

    Raises:
        WorkError: A score is not finite.
    """
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise WorkError(f"row {rows['row_id'][int(bad[0])]}: its score is not finite ({len(bad)} such rows)")
    table = rows.select(["row_id", "index", "source", "language"]).append_column(
        "score", pa.array(values, pa.float64())
    )
    for name, column in (columns or {}).items():
        table = table.append_column(name, pa.array(column, pa.float64()))
    order = order_by(table)
    table = table.append_column("order", pa.array(order))
    return table.append_column("rank", pa.array(order / len(order))).append_column("flags", rows["flags"])


def order_by(table: pa.Table, *first: tuple[str, str]) -> np.ndarray:
    """The position of each row, `[rows]` int64, when sorted by `first`, then score, then row id as text."""
    sorted_rows = pc.sort_indices(table, sort_keys=[*first, ("score", "ascending"), ("row_id", "ascending")])
    order = np.empty(len(table), np.int64)
    order[sorted_rows.to_numpy()] = np.arange(len(table))
    return order


def read_scores(path: Path | str) -> Scores:
    """The scores that `tamis score` wrote to a folder.

    Raises:
        UsageError: There are none, or they do not say which end of them is removed.
    """
    file = Path(path) / SCORES if Path(path).is_dir() else Path(path)
    tables = []
    for part in (file, file.with_name(EXCLUDED)):
        try:
            tables.append(pq.read_table(part))
        except (OSError, pa.ArrowInvalid) as error:
            raise UsageError(f"{path}: no scores there ({part.name} is missing or unreadable)") from error
    table, excluded = tables
    try:
        metadata = json.loads((table.schema.metadata or {}).get(METADATA_KEY, b"{}"))
    except json.JSONDecodeError:
        metadata = {}
    if metadata.get("orientation") != ORIENTATION:
        raise UsageError(
            f"{file}: does not say that its highest scores are the ones to remove; write it by tamis score"
        )
    return Scores(table.replace_schema_metadata(None), excluded, metadata)


def in_words(scores: Mapping[str, Any]) -> str:
    """What scores with this metadata say of the target rows together."""
    words = {"max": "the nearest target", "topk": f"mean of the {scores.get('topk')} nearest targets"}
    sets = f", over {len(scores['targets'])} weighted target sets" if "targets" in scores else ""
    safe = f", minus the same over {scores['contrast_rows']} safe rows" if "contrast_rows" in scores else ""
    return words.get(scores.get("aggregate", "mean"), "mean over targets") + sets + safe


def portable_scores(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What makes scores with this metadata again anywhere: the fields of their recipe, and what checks it."""
    names = ("similarity", "aggregate", "topk", "split_targets")
    fields = {name: metadata[name] for name in names if name in metadata}
    if "targets" in metadata:
        fields["weight"] = [one["weight"] for one in metadata["targets"]]
    safe = {"contrast": metadata["contrast"]} if "contrast" in metadata else {}
    digests = {"scores": metadata["digest"], "index": metadata["index"], "target": metadata["target"]}
    return {"recipe": fields, **digests, **safe}


def source_of(index: GradientIndex) -> dict[str, Any]:
    """Where the index's source rows lie, and the fingerprint that tells whether they are still the same."""
    fields = ("dataset_name", "dataset_config", "dataset_split", "dataset_revision", "max_samples")
    made_from = index.manifest["recipe"]
    data = index.manifest["identity"]["data"]
    return {**{name: made_from[name] for name in fields if name in made_from}, **data}


def _refuse_options(recipe: ScoreRecipe) -> None:
    for flag, value, known in (
        ("similarity", recipe.similarity, SIMILARITIES),
        ("aggregate", recipe.aggregate, AGGREGATES),
    ):
        if value not in known:
            raise UsageError(f"--{flag} {value}: not one of {', '.join(known)}")
    if recipe.topk is not None and recipe.aggregate != "topk":
        raise UsageError(f"--topk {recipe.topk}: goes with --aggregate topk, not with {recipe.aggregate}")
    if not recipe.targets:
        raise UsageError("--target: a target set is missing")
    if not recipe.split_targets:  # then the sets are known only when the rows are
        shares(recipe.weight, set_names(recipe.targets))


def _count(recipe: ScoreRecipe) -> int:
    return (recipe.topk or DEFAULT_TOPK) if recipe.aggregate == "topk" else 1


def _identity(
    recipe: ScoreRecipe, index: GradientIndex, targets: Sequence[TargetSet], contrast: GradientIndex | None
) -> dict[str, Any]:
    """What decides the scores; an option at its default is left out, so that earlier digests stay."""
    identity: dict[str, Any] = {"index": index.digest, "similarity": recipe.similarity}
    if len(targets) == 1:
        identity["target"] = targets[0].index.digest
    else:  # the names are columns
        identity["targets"] = [[set_.name, set_.index.digest, set_.weight] for set_ in targets]
    if recipe.aggregate != "mean":
        identity["aggregate"] = [recipe.aggregate, _count(recipe)]
    if contrast is not None:
        identity["contrast"] = contrast.digest
    return identity


def _about(recipe: ScoreRecipe, targets: Sequence[TargetSet], contrast: GradientIndex | None) -> dict[str, Any]:
    """What the metadata says of the similarity, the target sets and the contrast."""
    about: dict[str, Any] = {
        "similarity": recipe.similarity,
        "aggregate": recipe.aggregate,
        "target": [target.index.digest for target in targets],
        "target_rows": sum(len(target.index) for target in targets),
        "target_excluded": sum(len(target.index.excluded) for target in targets),
    }
    if recipe.aggregate == "topk":
        about["topk"] = _count(recipe)
    if recipe.split_targets:
        about["split_targets"] = True
    if contrast is not None:
        about |= {
            "contrast": contrast.digest,
            "contrast_rows": len(contrast),
            "contrast_excluded": len(contrast.excluded),
        }
    if len(targets) > 1:
        about["targets"] = [
            {"name": target.name, "rows": len(target.index), "weight": target.weight} for target in targets
        ]
    return about


def _values(
    index: GradientIndex, target: GradientIndex, contrast: GradientIndex | None, recipe: ScoreRecipe
) -> np.ndarray:
    """The aggregate over one target set, minus that over the contrast set: `[rows]` float64."""
    if recipe.aggregate == "mean":
        matrix = collapse(target, recipe.similarity)
        if contrast is not None:
            matrix -= collapse(contrast, recipe.similarity)
        return similarities(index, matrix, recipe.similarity)
    values = highest(index, target, recipe.similarity, _count(recipe))
    return values if contrast is None else values - highest(index, contrast, recipe.similarity, _count(recipe))
