"""A gradient index and a target set to one score a row.

The mean over targets collapses: `sum_t <G, T_t> = <G, sum_t T_t>`, so a target set of any size is one small matrix
a module, and a row's score is `u^T M v` summed over modules. No pair of rows is ever formed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tamis.errors import UsageError, WorkError, missing_extra
from tamis.gradients.store import GradientIndex, is_index
from tamis.provenance import claim_folder, left_in, write_parquet
from tamis.recipe import EmbedRecipe, ScoreRecipe, digest

SIMILARITIES = ("cosine", "dot", "layer-cosine")
ORIENTATION = "the highest scores are removed"
METADATA_KEY = b"tamis"
SCORES, EXCLUDED = "scores.parquet", "excluded.parquet"


@dataclass(frozen=True)
class Scores:
    """Every scored row, and what the scores are.

    Attributes:
        table: `row_id`, `index` (position in the source), `source`, `language`, `score` (float64), `order` (int64,
            ascending by score, then row id), `rank` (float64, order / rows), `flags`.
        excluded: Rows without a score, with their `reason`.
        metadata: Orientation, similarity, digests of index and target set, and where the source rows lie.
    """

    table: pa.Table
    excluded: pa.Table
    metadata: dict[str, Any]


def score(recipe: ScoreRecipe) -> Scores:
    """The scores of every row of an index against a target set, written to `recipe.output_dir`.

    A target set that is rows is embedded with the index's own recipe, into `target` inside the output folder.

    Raises:
        UsageError: The index or target cannot be read, was made by another recipe, or has nothing in it.
        WorkError: A score is not finite.
    """
    if recipe.similarity not in SIMILARITIES:
        raise UsageError(f"--similarity {recipe.similarity}: not one of {', '.join(SIMILARITIES)}")
    index = GradientIndex(recipe.index)
    if len(index) == 0:
        raise UsageError(f"{recipe.index}: the index holds no row that could be embedded")
    target = GradientIndex(recipe.target) if is_index(recipe.target) else _embed_target(recipe, index)
    if target.gradient_digest != index.gradient_digest:
        raise UsageError(
            f"{recipe.target}: its gradients were made by another recipe than those of {recipe.index}"
        )
    if len(target) == 0:
        raise UsageError(f"{recipe.target}: no target row could be embedded")
    identity = {
        "index": index.manifest["digest"],
        "target": target.manifest["digest"],
        "similarity": recipe.similarity,
    }
    folder = claim_folder(recipe, digest(identity), ignore=("target",))
    values = similarities(index, collapse(target, recipe.similarity), recipe.similarity)
    scores = Scores(
        ranked(index.rows, values),
        index.excluded,
        {
            "digest": digest(identity),
            "orientation": ORIENTATION,
            "similarity": recipe.similarity,
            "target_rows": len(target),
            "target_excluded": len(target.excluded),
            "source": {**source_of(index), "excluded": len(index.excluded)},
        },
    )
    write_parquet(folder / EXCLUDED, scores.excluded)
    write_parquet(
        folder / SCORES, scores.table.replace_schema_metadata({METADATA_KEY: json.dumps(scores.metadata)})
    )
    return scores


def collapse(target: GradientIndex, similarity: str) -> np.ndarray:
    """The mean of the target rows' gradients: `[modules, dim, dim]` float64, one matrix a module."""
    total = np.zeros((len(target.modules), *[target.manifest["identity"]["gradient"]["proj_dim"]] * 2))
    norms = _per_shard(target)
    for (u, v), norm in zip(target.shards(), norms, strict=True):
        left, right = (
            side.transpose(1, 2, 0) for side in (_weighted(u, v, norm, similarity), v.astype(np.float64))
        )
        total += left @ right.swapaxes(1, 2)
    return total / len(target)


def similarities(index: GradientIndex, target: np.ndarray, similarity: str) -> np.ndarray:
    """The similarity of each row to a collapsed target set, `[rows]` float64.

    `cosine` is the mean cosine of the row's whole stack of modules to each target's, in [-1, 1]; `layer-cosine`
    the mean over modules of each module's cosine, so that every module weighs the same; `dot` keeps both norms.
    Computed in float64 and rounded to float32's digits, so that equal rows have equal scores wherever they stand:
    matrix products round by the place of a row in its shard, and that would decide ties.

    Args:
        index: The pool.
        target: `[modules, dim, dim]` from `collapse` with the same similarity.
        similarity: One of `SIMILARITIES`.
    """
    parts = []
    for (u, v), norm in zip(index.shards(), _per_shard(index), strict=True):
        weighted = _weighted(u, v, norm, similarity).transpose(1, 0, 2)
        parts.append(np.einsum("lri,rli->r", weighted @ target, v.astype(np.float64)))
    digits, exponent = np.frexp(np.concatenate(parts))
    return np.asarray(np.ldexp(digits.astype(np.float32).astype(np.float64), exponent))


def ranked(rows: pa.Table, values: np.ndarray) -> pa.Table:
    """The rows with `score`, `order` (ascending by score, then by row id as text) and `rank` (order / rows).

    Raises:
        WorkError: A score is not finite.
    """
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise WorkError(f"row {rows['row_id'][int(bad[0])]}: its score is not finite ({len(bad)} such rows)")
    table = rows.select(["row_id", "index", "source", "language"]).append_column(
        "score", pa.array(values, pa.float64())
    )
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


def source_of(index: GradientIndex) -> dict[str, Any]:
    """Where the index's source rows lie, and the fingerprint that tells whether they are still the same."""
    fields = ("dataset_name", "dataset_config", "dataset_split", "dataset_revision", "max_samples")
    made_from = index.manifest["recipe"]
    data = index.manifest["identity"]["data"]
    return {**{name: made_from[name] for name in fields if name in made_from}, **data}


def _embed_target(recipe: ScoreRecipe, index: GradientIndex) -> GradientIndex:
    try:
        from tamis.gradients.embed import embed
    except ImportError as error:
        raise missing_extra("attribution", error) from error
    folder = Path(recipe.output_dir)
    target = folder / "target"
    begun = {target} if target.is_dir() and not left_in(target) else set()  # by a run killed before its manifest
    if folder.is_dir() and not is_index(target) and {*left_in(folder)} - begun:
        raise UsageError(f"{folder}: holds something else; name another --output_dir")
    own = EmbedRecipe(output_dir=str(target), **index.manifest["recipe"])
    gradient = index.manifest["identity"]["gradient"]
    commit = gradient["model_revision"]  # of the index, where the model's branch may have moved since
    return embed(
        replace(
            own,
            dataset_name=recipe.target,
            dataset_config=recipe.target_config,
            dataset_split=recipe.target_split,
            dataset_revision=None,
            model_revision=own.model_revision if commit.startswith("sha256:") else commit,
            max_samples=None,
            dtype=gradient["dtype"],  # `auto` may have meant another type on the index's device
            device=recipe.device,
        ),
        expect=gradient,
    )


def _per_shard(index: GradientIndex) -> Sequence[np.ndarray]:
    """The rows' raw norms, cut like the shards."""
    counts = index.shard_rows()
    return np.split(index.rows["norm"].to_numpy(), np.cumsum(counts)[:-1])


def _weighted(u: np.ndarray, v: np.ndarray, norm: np.ndarray, similarity: str) -> np.ndarray:
    """`u` in float64, scaled so that the inner product with another such pair is the similarity asked for."""
    u, v = u.astype(np.float64), v.astype(np.float64)
    size = np.linalg.norm(u, axis=-1) * np.linalg.norm(v, axis=-1)  # [rows, modules]
    if similarity == "layer-cosine":
        scale = np.where(size > 0, 1 / np.where(size > 0, size, 1), 0) / np.sqrt(size.shape[1])
    else:  # the rounding to float16 leaves stacks a little off one
        scale = np.repeat(1 / np.linalg.norm(size, axis=1, keepdims=True), size.shape[1], axis=1)
        if similarity == "dot":
            scale = scale * norm[:, None]
    return np.asarray(u * scale[..., None])
