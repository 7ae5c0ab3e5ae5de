"""A selection to a data set folder that plain `load_dataset` reads at any ratio.

The rows are written once, in Parquet files cut at the standard ratios and sorted by `order`. `drop-10` is then
only a list of files, as is every other config, and no row is stored twice. Any ratio between is a filter on
`order`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tamis.errors import UsageError
from tamis.hub import cards
from tamis.hub.human_facts import read_human_facts
from tamis.hub.limits import limits
from tamis.influence.scores import in_words
from tamis.provenance import claim_folder, whole, write_whole
from tamis.recipe import STANDARD_RATIOS, ExportRecipe, digest
from tamis.rows import Rows, read_rows
from tamis.selection import OUTSIDE, Selection, cut, portable, read_selection

if TYPE_CHECKING:
    from datasets import Dataset

OUR_COLUMNS = ("row_id", "score", "order", "rank", "source_index", "reason", "source", "language")
_UNSCORED = "unscored"
_NO_ORDER = OUTSIDE - 1
_COUNTS = ("rows_sieved", "named_by_keep", "named_by_remove")


@dataclass(frozen=True)
class Exported:
    """A data set folder.

    Attributes:
        folder: Where it lies.
        default: The config of the selection's own ratio.
        configs: The rows of each config.
        files: The bytes of each Parquet file.
        order_column: The name of our `order` column, which differs where the source has one of that name.
        sieved: n: `order < n - k` keeps all but the k highest-scored rows.
        facts: What the card says.
    """

    folder: Path
    default: str
    configs: dict[str, int]
    files: dict[str, int]
    order_column: str
    sieved: int
    facts: dict[str, Any]


@dataclass(frozen=True)
class _Band:
    """Rows with `low <= order < high`: one file."""

    name: str
    low: int
    high: int


def export(recipe: ExportRecipe) -> Exported:
    """The data set folder of a selection, written to `recipe.output_dir`.

    Raises:
        UsageError: The selection, its source rows or the `card.yaml` cannot be read, the source rows are no longer
            those scored, or there would be nothing in the folder.
    """
    human = read_human_facts(recipe.card, "dataset") if recipe.card else {}
    selection = read_selection(recipe.selection)
    rows = _scored_rows(selection)
    block = _portable(recipe.selection, selection.facts)
    if recipe.leave_out_removed and not len(selection.kept):
        raise UsageError(f"{recipe.selection}: removes every row, so --leave_out_removed leaves nothing to write")
    dataset, names = _with_our_columns(rows, selection)
    chosen = Fraction(str(selection.facts["ratio"]))
    ratios = sorted({chosen, *map(Fraction, STANDARD_RATIOS)})
    if recipe.leave_out_removed:
        ratios = [ratio for ratio in ratios if ratio >= chosen]
    bands = _bands(selection, ratios)
    members = _members(selection, bands, len(rows))
    if recipe.leave_out_removed:
        del members[bands[0].name]
    configs = _configs(ratios, bands, members, recipe)
    _refuse_benchmark(recipe.card, human, configs)
    identity: dict[str, Any] = {"selection": selection.facts["digest"], "rows": recipe.row_group_rows}
    if recipe.leave_out_removed:  # at its default it is left out, so that earlier digests stay
        identity["leave_out_removed"] = True
    if recipe.variant:
        identity["variant"] = recipe.variant
    folder = claim_folder(recipe, digest(identity))
    for name, mine in members.items():
        _write(dataset.select(mine), folder / _files_of(recipe.variant) / f"{name}.parquet", recipe.row_group_rows)
    facts = _facts(folder, selection, configs, names, recipe)
    facts["tamis"] = {**block, "columns": names}
    _write_benchmark(folder, human)
    write_whole(folder / "README.md", cards.render("dataset", facts, human).encode())
    return Exported(
        folder,
        facts["default"],
        {name: config["rows"] for name, config in facts["configs"].items()},
        {path.name: path.stat().st_size for path in sorted((folder / "data").rglob("*.parquet"))},
        names["order"],
        selection.facts["rows_sieved"],
        facts,
    )


def filter_cost(folder: Path | str, below: int, column: str = "order") -> tuple[int, int]:
    """Compressed bytes of the row groups that `filters=[(column, "<", below)]` reads, and of all row groups."""
    read = total = 0
    for path in sorted((Path(folder) / "data").rglob("*.parquet")):
        metadata = pq.read_metadata(path)
        leaf = [metadata.schema.column(i).path for i in range(metadata.num_columns)].index(column)
        for group in range(metadata.num_row_groups):
            part = metadata.row_group(group)
            size = sum(part.column(i).total_compressed_size for i in range(part.num_columns))
            statistics = part.column(leaf).statistics
            total += size
            if statistics is not None and statistics.has_min_max and statistics.min < below:
                read += size
    return read, total


def _percent(ratio: Fraction) -> str:
    """The ratio in per cent, every digit of it: 05, 12.5."""
    whole, dot, rest = f"{Decimal(100 * ratio.numerator) / ratio.denominator:f}".partition(".")
    return f"{whole:0>2}{dot}{rest}"


def _scored_rows(selection: Selection) -> Rows:
    source = selection.facts["scores"]["source"]
    rows = read_rows(
        source["dataset_name"],
        config=source.get("dataset_config"),
        split=source.get("dataset_split", "train"),
        revision=source.get("dataset_revision"),
        max_samples=source.get("max_samples"),
    )
    if rows.fingerprint != source["fingerprint"]:
        raise UsageError(f"{rows.name}: the rows are no longer those that were scored; embed and score them again")
    return rows


def _files_of(variant: str | None) -> str:
    return f"data/{variant}" if variant else "data"


def _portable(path: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the card holds to make the selection again."""
    try:
        block = {**portable(facts), **{name: facts[name] for name in _COUNTS}}
        found = limits(facts["scores"]["model"], facts["scores"]["source"])
        return {**block, **({"limits": found} if found else {})}
    except KeyError as error:
        raise UsageError(f"{path}: its selection.yaml does not say {error}; score and select again") from error


def _refuse_benchmark(card: str | None, human: Mapping[str, Any], configs: Mapping[str, Any]) -> None:
    for task in human.get("benchmark", {}).get("tasks", []):
        if task["config"] not in configs or task["split"] != "train":
            raise UsageError(
                f"{card}: benchmark: no config {task['config']!r} with a split {task['split']!r}; "
                f"there are {', '.join(configs)}, each with train"
            )


def _write_benchmark(folder: Path, human: Mapping[str, Any]) -> None:
    """Writes `eval.yaml`, or removes that of a `card.yaml` which asked for one before."""
    text = cards.eval_yaml(human)
    if text is None:
        (folder / "eval.yaml").unlink(missing_ok=True)
    else:
        write_whole(folder / "eval.yaml", text.encode())


def _with_our_columns(rows: Rows, selection: Selection) -> tuple[Dataset, dict[str, str]]:
    """The source rows with our columns beside their own, and the names that these have.

    A name that is taken gets `tamis_` before it, or more; but a `source` or `language` that says the same as ours
    is ours.
    """
    decided = pa.concat_tables([selection.kept, selection.removed]).sort_by("index")
    excluded = selection.excluded
    n = len(rows)
    columns: dict[str, np.ndarray] = {name: np.full(n, None, object) for name in OUR_COLUMNS}
    columns["row_id"][:] = rows.row_ids
    columns["source_index"][:] = range(n)
    for table, known in ((decided, ("score", "order", "rank")), (excluded, ())):
        place = table["index"].to_numpy()
        for name in (*known, "reason", "source", "language"):
            columns[name][place] = table[name].to_pylist()
    types = {"score": pa.float64(), "order": pa.int64(), "rank": pa.float64(), "source_index": pa.int64()}
    names = {name: name for name in OUR_COLUMNS}
    dataset = rows.dataset
    for name, values in columns.items():
        own = name in ("source", "language") and name in dataset.column_names
        if own and dataset[name][:] == values.tolist():
            continue
        while names[name] in dataset.column_names:
            names[name] = f"tamis_{names[name]}"
        dataset = dataset.add_column(names[name], pa.array(values, types.get(name, pa.string())))
    return dataset, names


def _bands(selection: Selection, ratios: Sequence[Fraction]) -> list[_Band]:
    """One file between each two cuts, from the highest scores down; what all configs keep; the unscored rows."""
    n = selection.facts["rows_sieved"]
    names = [f"top-{_percent(a)}-{_percent(b)}" for a, b in pairwise([Fraction(0), *ratios])]
    if ratios[0] == 0:  # what even that ratio removes
        names[0] = "named"
    edges = [n, *(n - _cut(selection, ratio) for ratio in ratios), OUTSIDE, _NO_ORDER]
    # `datasets` tells the caches of two folders of one name apart by their cards, not by their files' content.
    stamp = selection.facts["digest"]
    files = [f"{name}-{stamp}" for name in (*names, "rest", _UNSCORED)]
    return [_Band(name, low, high) for name, (high, low) in zip(files, pairwise(edges), strict=True)]


def _cut(selection: Selection, ratio: Fraction) -> int:
    facts = selection.facts
    return cut(float(ratio), facts["rows_sieved"], keep=facts["named_by_keep"], remove=facts["named_by_remove"])


def _members(selection: Selection, bands: Sequence[_Band], rows: int) -> dict[str, np.ndarray]:
    """The positions of the rows of each band, by rising order."""
    order = np.full(rows, _NO_ORDER)
    for part in (selection.kept, selection.removed):
        order[part["index"].to_numpy()] = part["order"].to_numpy()
    members = {}
    for band in bands:
        mine = np.flatnonzero((order >= band.low) & (order < band.high))
        members[band.name] = mine[np.argsort(order[mine], kind="stable")]
    return members


def _write(dataset: Dataset, path: Path, row_group_rows: int) -> None:
    """Writes one band whole, if it has rows."""
    if len(dataset):
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole(path) as stream:
            dataset.to_parquet(stream, batch_size=row_group_rows)


def _configs(
    ratios: Sequence[Fraction], bands: Sequence[_Band], members: Mapping[str, np.ndarray], recipe: ExportRecipe
) -> dict[str, list[str]]:
    """The files of each config; a config without rows is left out."""
    *files, unscored = (band.name for band in bands)
    only_kept, place = recipe.leave_out_removed, _files_of(recipe.variant)
    configs = {} if only_kept else {"all": [*files, unscored]}
    for i, ratio in enumerate(ratios, 1):
        configs[f"drop-{_percent(ratio)}"] = files[i:]
        if not only_kept:
            configs[f"removed-{_percent(ratio)}"] = files[:i]
    configs[_UNSCORED] = [unscored]
    with_rows = {
        name: [f"{place}/{file}.parquet" for file in of if len(members.get(file, ()))]
        for name, of in configs.items()
    }
    return {f"{_prefix(recipe)}{name}": of for name, of in with_rows.items() if of}


def _prefix(recipe: ExportRecipe) -> str:
    return f"{recipe.variant}-" if recipe.variant else ""


def _facts(
    folder: Path,
    selection: Selection,
    configs: Mapping[str, Sequence[str]],
    names: Mapping[str, str],
    recipe: ExportRecipe,
) -> dict[str, Any]:
    """What the card says, but for the block that makes the selection again."""
    known, only_kept, prefix = selection.facts, recipe.leave_out_removed, _prefix(recipe)
    scores, n, k = known["scores"], known["rows_sieved"], known["rows_removed"]
    tables = [selection.kept] if only_kept else [selection.kept, selection.removed]
    default = f"{prefix}drop-{_percent(Fraction(str(known['ratio'])))}"
    files = {file for of in configs.values() for file in of}
    return {
        "source": cards.source_facts(scores["source"]),
        "digest": known["digest"],
        "similarity": scores["similarity"],
        "aggregate": in_words(scores),
        "target_rows": scores["target_rows"],
        "sieved": n,
        "removed": k,
        "rate": k / n,
        "outside": known["rows_outside_the_subset"],
        "rows": sum(pq.read_metadata(folder / file).num_rows for file in files),
        "default": default,
        **({"variant": recipe.variant} if recipe.variant else {}),
        "removed_rows_are_here": not only_kept,
        "languages": sorted({name for table in tables for name in table["language"].unique().to_pylist()}),
        "removed_by_source": known["removed_by_source"],
        "unscored": dict(Counter(selection.excluded["reason"].to_pylist()).most_common()),
        "examples": _examples(configs, default, prefix),
        "filter": _filter_facts(folder, selection, default if only_kept else f"{prefix}all", names["order"]),
        "configs": {name: cards.parquet_facts(folder, of) for name, of in configs.items()},
        "features": cards.features_of(folder / min(files)),
    }


def _examples(configs: Mapping[str, Any], default: str, prefix: str) -> dict[str, str]:
    """A `drop` config beside the default one, and a `removed` one, where there are any."""
    wanted = {
        kind: [
            name for name in (f"{prefix}{kind}-10", *configs) if name in configs and name.startswith(prefix + kind)
        ]
        for kind in ("drop", "removed")
    }
    others = {kind: [name for name in names if name != default] for kind, names in wanted.items()}
    return {kind: names[0] for kind, names in others.items() if names}


def _filter_facts(folder: Path, selection: Selection, config: str, column: str) -> dict[str, Any]:
    """A filter at a ratio that has no config, and what it reads."""
    ratio, chosen = Fraction("0.33"), Fraction(str(selection.facts["ratio"]))
    if not config.endswith("all") and chosen > ratio:
        ratio = (chosen + 1) / 2
    k = _cut(selection, ratio)
    below = selection.facts["rows_sieved"] - k
    read, total = filter_cost(folder, below, column)
    return {"config": config, "percent": _percent(ratio), "k": k, "below": below, "read": read, "of": total}
