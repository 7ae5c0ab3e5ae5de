"""Scores and a ratio to what is kept and what is removed, each row with its reason.

A row is removed if and only if its order is at least n - k, where k = floor(ratio x n) in exact arithmetic: plain
floats give 28 for .29 x 100. The lists of ids to keep and to remove move rows to the two ends of the order, so
that the order alone decides every ratio.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

from tamis import permalink
from tamis.errors import UsageError
from tamis.influence.scores import EXCLUDED, order_by, portable_scores, read_scores
from tamis.provenance import claim_folder, write_parquet, write_whole
from tamis.recipe import SelectRecipe, digest, to_dict

OUTSIDE = -1
"""The order of a row that the subset leaves out: below every cut."""

KEPT, REMOVED, SELECTION = "kept.parquet", "removed.parquet", "selection.yaml"
NO_IDS = hashlib.sha256(b"").hexdigest()
"""The digest of a list without ids."""

LEFT_OUT, NAMED_TO_KEEP, NAMED_TO_REMOVE = "outside the subset", "named by --keep", "named by --remove"
BELOW = "below the {k} highest scores of {n}"
_ABOVE = "among the {k} highest scores of {n}"
_BOUNDARY_ROWS = 5


@dataclass(frozen=True)
class Selection:
    """A cut through scored rows.

    Attributes:
        kept: The scores' columns with `order` and `rank` within the subset, and `reason`, in source order.
        removed: The same for the removed rows.
        excluded: Rows that have no score, with their reason; neither kept nor removed.
        facts: What `selection.yaml` holds: digest, ratio, n, k, counts by source and language, boundary rows,
            source.
    """

    kept: pa.Table
    removed: pa.Table
    excluded: pa.Table
    facts: dict[str, Any]


def cut(ratio: float, rows: int, *, keep: int = 0, remove: int = 0) -> int:
    """How many of `rows` are removed: floor(ratio x rows), at least `remove` and leaving at least `keep`."""
    return min(max(math.floor(Fraction(str(ratio)) * rows), remove), rows - keep)


def select(recipe: SelectRecipe) -> Selection:
    """The rows kept and removed at a ratio, written to `recipe.output_dir`.

    Raises:
        UsageError: The scores cannot be read, the ratio is not from 0 to 1, a subset is empty, a listed id is
            unknown or listed twice, or a score is not a number; or it is not the selection of `recipe.recipe`.
    """
    asked = permalink.asked(recipe)
    if not 0 <= recipe.ratio <= 1:
        raise UsageError(f"--ratio {recipe.ratio}: not from 0 to 1")
    recipe = replace(recipe, ratio=float(recipe.ratio))
    scores = read_scores(recipe.scores)
    _refuse_values(scores.table, recipe)
    inside = _subset(scores.table, recipe)
    keep, remove = _listed("--keep", recipe.keep), _listed("--remove", recipe.remove)
    _refuse_lists(scores.table, inside, keep, remove)
    table, first_removed = decide(scores.table, inside, keep, remove, recipe.ratio)
    gone = table["order"].to_numpy() >= first_removed
    facts: dict[str, Any] = {
        "digest": selection_digest(
            scores.metadata["digest"], recipe.ratio, recipe.source, recipe.language, _named(keep), _named(remove)
        ),
        "ratio": recipe.ratio,
        **{name: value for name, value in to_dict(recipe).items() if name in ("source", "language")},
        **{name: _named(ids) for name, ids in (("keep", keep), ("remove", remove)) if ids},
        "rows_sieved": int(inside.sum()),
        "rows_removed": int(gone.sum()),
        "base_rate": round(float(gone.sum() / inside.sum()), 4),
        "rows_outside_the_subset": int((~inside).sum()),
        "rows_excluded": len(scores.excluded),
        "named_by_keep": int((_is_in(table["row_id"], keep) & inside).sum()),
        "named_by_remove": len(remove),
        "removed_by_source": removal_rates(table, gone, inside, "source"),
        "removed_by_language": removal_rates(table, gone, inside, "language"),
        "boundary": _boundary(table, first_removed),
        "scores": scores.metadata,
    }
    try:
        made = portable(facts)
    except KeyError as error:
        raise UsageError(f"{recipe.scores}: do not say their {error}; score again") from error
    permalink.refuse_other(asked, "selection", made)
    facts["link"] = permalink.query(made)
    selection = Selection(table.filter(pa.array(~gone)), table.filter(pa.array(gone)), scores.excluded, facts)
    folder = claim_folder(recipe, str(facts["digest"]))
    write_parquet(folder / KEPT, selection.kept)
    write_parquet(folder / REMOVED, selection.removed)
    write_parquet(folder / EXCLUDED, selection.excluded)
    write_whole(folder / SELECTION, yaml.safe_dump(facts, sort_keys=False, allow_unicode=True).encode())
    return selection


def read_selection(path: Path | str) -> Selection:
    """The selection that `tamis select` wrote to a folder.

    Raises:
        UsageError: There is none, or it is not whole.
    """
    folder = Path(path)
    try:
        facts = dict(yaml.safe_load((folder / SELECTION).read_bytes()))
        kept, removed, excluded = (pq.read_table(folder / name) for name in (KEPT, REMOVED, EXCLUDED))
    except (OSError, ValueError, TypeError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: no selection there ({SELECTION} is missing or not whole)") from error
    return Selection(kept, removed, excluded, facts)


def portable(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What makes a selection again anywhere: the fields of its recipe, and the digests that check them.

    Source rows, target rows and lists of ids do not travel; they are named by digests.

    Args:
        facts: A selection's.
    """
    made = portable_scores(facts["scores"])
    fields = {name: facts[name] for name in ("ratio", "source", "language") if name in facts}
    lists = {name: facts[name] for name in ("keep", "remove") if name in facts}
    return {**made, "recipe": {**made["recipe"], **fields}, "selection": facts["digest"], **lists}


def selection_digest(
    scores: str, ratio: float, source: Sequence[str], language: Sequence[str], keep: str, remove: str
) -> str:
    """Names a selection of the scores with this digest.

    Args:
        scores: The digest of the scores.
        ratio: The share that is removed.
        source: The sources that are sieved; all, if empty.
        language: The languages that are sieved; all, if empty.
        keep: The digest of the ids that are kept whatever their score: `NO_IDS`, or what the facts hold.
        remove: That of those that are removed.
    """
    identity: dict[str, Any] = {"scores": scores, "ratio": str(ratio), "keep": keep, "remove": remove}
    return digest({**identity, "source": sorted({*source}), "language": sorted({*language})})


def removal_rates(table: pa.Table, gone: np.ndarray, inside: np.ndarray, column: str) -> dict[str, dict[str, Any]]:
    """Rows, removed rows and their rate for every value of a column, sieved rows only; most removed first."""
    codes = pc.fill_null(table[column], "None").combine_chunks().dictionary_encode()
    names, which = codes.dictionary.to_pylist(), codes.indices.to_numpy()
    counts, removals = (np.bincount(which[rows], minlength=len(names)) for rows in (inside, inside & gone))
    rates = {}
    for name, rows, removed in sorted(zip(names, counts.tolist(), removals.tolist(), strict=True)):
        if rows:
            rates[name] = {"rows": rows, "removed": removed, "rate": round(removed / rows, 4)}
    return dict(sorted(rates.items(), key=lambda item: -item[1]["rate"]))


def decide(
    table: pa.Table, inside: np.ndarray, keep: Sequence[str], remove: Sequence[str], ratio: float
) -> tuple[pa.Table, int]:
    """The rows with `order` and `rank` within the subset and their `reason`, and the first order removed.

    Args:
        table: The scores' rows.
        inside: Which of them are sieved, `[rows]` bool.
        keep: Ids that are never removed.
        remove: Ids that are always removed, all of them inside.
        ratio: The share to remove.
    """
    n = int(inside.sum())
    if n == len(table) and not keep and not remove and _is_ordered(table):
        k = cut(ratio, n)
        order = table["order"].to_numpy()
        reasons, which = [_ABOVE.format(k=k, n=n), BELOW.format(k=k, n=n)], (order < n - k).astype(np.int8)
        return _with_columns(table, order, order / n, which, reasons), n - k
    kept, removed = _is_in(table["row_id"], keep) & inside, _is_in(table["row_id"], remove)
    k = cut(ratio, n, keep=int(kept.sum()), remove=len(remove))
    place = pa.array((removed * 1 - kept * 1)[inside])
    order = np.full(len(table), OUTSIDE, np.int64)
    order[inside] = order_by(table.filter(pa.array(inside)).append_column("place", place), ("place", "ascending"))
    reasons = [LEFT_OUT, NAMED_TO_KEEP, NAMED_TO_REMOVE, _ABOVE.format(k=k, n=n), BELOW.format(k=k, n=n)]
    which = np.select([~inside, kept, removed, order >= n - k], [0, 1, 2, 3], 4)
    return _with_columns(table, order, np.where(inside, order / n, OUTSIDE), which.astype(np.int8), reasons), n - k


def _with_columns(
    table: pa.Table, order: np.ndarray, rank: np.ndarray, which: np.ndarray, reasons: Sequence[str]
) -> pa.Table:
    """The rows with these `order` and `rank`, and of the `reasons` that of the number in `which`."""
    reason = pa.DictionaryArray.from_arrays(pa.array(which), pa.array(reasons)).cast(pa.string())
    table = table.drop_columns(["order", "rank"]).append_column("order", pa.array(order))
    return table.append_column("rank", pa.array(rank)).append_column("reason", reason)


def _is_ordered(table: pa.Table) -> bool:
    """Whether `order` counts the rows from 0 with rising scores; then nothing has to be sorted again."""
    order, n = table["order"].to_numpy(), len(table)
    if order.dtype != np.int64 or order.min() < 0 or order.max() >= n:
        return False
    scores = np.full(n, np.nan)
    scores[order] = table["score"].to_numpy()
    return bool((scores[1:] >= scores[:-1]).all() and np.isfinite(scores[:1]).all())


def _named(ids: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()


def _refuse_values(table: pa.Table, recipe: SelectRecipe) -> None:
    if len(table) == 0:
        raise UsageError(f"{recipe.scores}: there are no scored rows in it")
    bad = np.flatnonzero(~np.isfinite(table["score"].to_numpy()))
    if len(bad):
        raise UsageError(f"{recipe.scores}: the score of row {table['row_id'][int(bad[0])]} is not a number")


def _subset(table: pa.Table, recipe: SelectRecipe) -> np.ndarray:
    inside = np.ones(len(table), bool)
    for flag, column, wanted in (("source", "source", recipe.source), ("language", "language", recipe.language)):
        if not wanted:
            continue
        there = sorted(set(table[column].to_pylist()))
        unknown = [name for name in wanted if name not in there]
        if unknown:
            raise UsageError(
                f"--{flag} {unknown[0]}: no such {flag} in {recipe.scores}; there are {', '.join(there)}"
            )
        inside &= _is_in(table[column], wanted)
    if not inside.any():
        raise UsageError(f"{recipe.scores}: no row is in the subset of --source and --language")
    return inside


def _is_in(column: pa.ChunkedArray, names: Sequence[str]) -> np.ndarray:
    return np.asarray(pc.is_in(column, value_set=pa.array(names, pa.string())))


def _listed(flag: str, path: str | None) -> list[str]:
    if path is None:
        return []
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").split("\n")  # ids may hold what splitlines() splits at
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{flag} {path}: cannot be read: {error}") from error
    return list(dict.fromkeys(id_ for line in lines if (id_ := line.strip(" \t\r"))))


def _refuse_lists(table: pa.Table, inside: np.ndarray, keep: Sequence[str], remove: Sequence[str]) -> None:
    if not keep and not remove:
        return
    known = set(table["row_id"].to_pylist())
    sieved = set(table["row_id"].filter(pa.array(inside)).to_pylist())
    for flag, names in (("--keep", keep), ("--remove", remove)):
        unknown = [name for name in names if name not in known]
        if unknown:
            raise UsageError(f"{flag}: {len(unknown)} of its ids are no scored row, such as {unknown[0]}")
    both = sorted({*keep} & {*remove})
    if both:
        raise UsageError(f"--keep and --remove both name row {both[0]}")
    outside = [name for name in remove if name not in sieved]
    if outside:
        raise UsageError(f"--remove names row {outside[0]}, which --source or --language leaves out")


def _boundary(table: pa.Table, first_removed: int) -> dict[str, list[Mapping[str, Any]]]:
    """The rows nearest to the cut, nearest first."""
    columns = table.select(["row_id", "source", "score", "order"])

    def between(low: int, high: int) -> list[Mapping[str, Any]]:
        order = table["order"]
        near = columns.filter(pc.and_(pc.greater_equal(order, max(low, 0)), pc.less(order, high)))
        return list(near.sort_by("order").to_pylist())

    return {
        "removed_just_above": between(first_removed, first_removed + _BOUNDARY_ROWS),
        "kept_just_below": between(first_removed - _BOUNDARY_ROWS, first_removed)[::-1],
    }
