"""A selection to a data set folder that plain `load_dataset` reads at any ratio.

The rows are written once, in Parquet files cut at the standard ratios and sorted by `order`. `drop-10` is then
only a list of files, as is every other config, and no row is stored twice. Any ratio between is a filter on
`order`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from tamis.errors import UsageError
from tamis.influence.scores import in_words
from tamis.provenance import claim_folder, whole, write_whole
from tamis.recipe import STANDARD_RATIOS, ExportRecipe, digest
from tamis.rows import Rows, read_rows
from tamis.selection import OUTSIDE, Selection, cut, read_selection

if TYPE_CHECKING:
    from datasets import Dataset

OUR_COLUMNS = ("row_id", "score", "order", "rank", "source_index", "reason")
_UNSCORED = "unscored"
_NO_ORDER = OUTSIDE - 1

CARD = """---
{yaml}---

# {source}, sieved by tamis

{total} rows of `{source}`, each with the similarity of its gradient to a target set of {target_rows} rows
({similarity}, {aggregate}). {default} leaves out the {k} highest-scored of {n} sieved rows ({rate:.2%}).
Selection `{digest}`.

```python
from datasets import load_dataset

{example}
```

Any other ratio is a filter on `{order}`: keep the rows below n - k, for n = {n} sieved rows and k removed ones,
here 33 %. It reads {read:,} of {whole:,} compressed bytes.

```python
rows = load_dataset("path/to/this/folder", "all", filters=[("{order}", "<", {below})], \
verification_mode="no_checks")
```

Columns beside the source's own: {columns}. `rows.sort("{source_index}")` restores the original order.

## Removed by source

| source | rows | removed | rate |
|---|---|---|---|
{rates}

## Rows without a score

They are in no `drop` and no `removed` config, only in `unscored` and `all`.

{unscored}
## What is not established

A high score says that a row's gradient resembles those of the target set. It is not a proof that training on the
row causes harm, nor that a low-scored row is harmless; another target set gives another ranking.
"""


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
    """

    folder: Path
    default: str
    configs: dict[str, int]
    files: dict[str, int]
    order_column: str
    sieved: int


@dataclass(frozen=True)
class _Band:
    """Rows with `low <= order < high`: one file."""

    name: str
    low: int
    high: int


def export(recipe: ExportRecipe) -> Exported:
    """The data set folder of a selection, written to `recipe.output_dir`.

    Raises:
        UsageError: The selection or its source rows cannot be read, or the source rows are no longer those scored.
    """
    selection = read_selection(recipe.selection)
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
    folder = claim_folder(recipe, digest({"selection": selection.facts["digest"], "rows": recipe.row_group_rows}))
    dataset, names = _with_our_columns(rows, selection)
    chosen = Fraction(str(selection.facts["ratio"]))
    ratios = sorted({chosen, *map(Fraction, STANDARD_RATIOS)})
    bands = _bands(selection, ratios)
    order = np.full(len(rows), _NO_ORDER)
    for part in (selection.kept, selection.removed):
        order[part["index"].to_numpy()] = part["order"].to_numpy()
    counts = {}
    for band in bands:
        mine = np.flatnonzero((order >= band.low) & (order < band.high))
        mine = mine[np.argsort(order[mine], kind="stable")]
        counts[band.name] = _write(dataset.select(mine), folder, band.name, recipe.row_group_rows)

    configs = _configs(ratios, bands, counts)
    exported = Exported(
        folder,
        f"drop-{_percent(chosen)}",
        {name: sum(counts[file] for file in files) for name, files in configs.items()},
        {path.name: path.stat().st_size for path in sorted((folder / "data").glob("*.parquet"))},
        names["order"],
        selection.facts["rows_sieved"],
    )
    write_whole(folder / "README.md", _card(exported, selection, configs, names).encode())
    return exported


def filter_cost(folder: Path | str, below: int, column: str = "order") -> tuple[int, int]:
    """Compressed bytes of the row groups that `filters=[(column, "<", below)]` reads, and of all row groups."""
    read = total = 0
    for path in sorted((Path(folder) / "data").glob("*.parquet")):
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


def _with_our_columns(rows: Rows, selection: Selection) -> tuple[Dataset, dict[str, str]]:
    """The source rows with our columns beside their own; a name that is taken gets `tamis_` before it, or more."""
    decided = pa.concat_tables([selection.kept, selection.removed]).sort_by("index")
    excluded = selection.excluded
    n = len(rows)
    place = decided["index"].to_numpy()
    columns: dict[str, np.ndarray] = {name: np.full(n, None, object) for name in OUR_COLUMNS}
    columns["row_id"][:] = rows.row_ids
    columns["source_index"][:] = range(n)
    for name in ("score", "order", "rank", "reason"):
        columns[name][place] = decided[name].to_pylist()
    for index, reason in zip(excluded["index"].to_pylist(), excluded["reason"].to_pylist(), strict=True):
        columns["reason"][index] = reason
    types = {"score": pa.float64(), "order": pa.int64(), "rank": pa.float64(), "source_index": pa.int64()}
    names = {name: name for name in OUR_COLUMNS}
    dataset = rows.dataset
    for name, values in columns.items():
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


def _write(dataset: Dataset, folder: Path, name: str, row_group_rows: int) -> int:
    """Writes one band whole, if it has rows; the number of its rows."""
    if len(dataset):
        path = folder / "data" / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        with whole(path) as stream:
            dataset.to_parquet(stream, batch_size=row_group_rows)
    return len(dataset)


def _configs(ratios: Sequence[Fraction], bands: Sequence[_Band], counts: dict[str, int]) -> dict[str, list[str]]:
    """The files of each config; a config without rows is left out."""
    *files, unscored = (band.name for band in bands)
    configs = {"all": [*files, unscored]}
    for i, ratio in enumerate(ratios, 1):
        configs[f"drop-{_percent(ratio)}"] = files[i:]
        configs[f"removed-{_percent(ratio)}"] = files[:i]
    configs[_UNSCORED] = [unscored]
    with_rows = {name: [file for file in of if counts[file]] for name, of in configs.items()}
    return {name: of for name, of in with_rows.items() if of}


def _card(exported: Exported, selection: Selection, configs: dict[str, list[str]], names: dict[str, str]) -> str:
    facts = selection.facts
    scores, n = facts["scores"], facts["rows_sieved"]
    below = n - _cut(selection, Fraction("0.33"))
    read, whole = filter_cost(exported.folder, below, exported.order_column)
    by_source = {name.replace("|", r"\|"): rate for name, rate in facts["removed_by_source"].items()}
    rates = "\n".join(
        f"| {name} | {rate['rows']} | {rate['removed']} | {rate['rate']:.1%} |" for name, rate in by_source.items()
    )
    reasons = Counter(selection.excluded["reason"].to_pylist())
    return CARD.format(
        yaml=yaml.safe_dump(_front_matter(exported, selection, configs), sort_keys=False, allow_unicode=True),
        source=_shown_name(scores["source"]["dataset_name"]),
        total=exported.configs["all"],
        k=facts["rows_removed"],
        n=n,
        rate=facts["rows_removed"] / n,
        similarity=scores["similarity"],
        target_rows=scores["target_rows"],
        aggregate=in_words(scores),
        default=f"`{exported.default}`" if exported.default in configs else "The selection",
        digest=facts["digest"],
        example=_example(exported),
        order=exported.order_column,
        source_index=names["source_index"],
        columns=", ".join(f"`{name}`" for name in names.values()),
        below=below,
        read=read,
        whole=whole,
        rates=rates,
        unscored="".join(f"- {count} x {reason}\n" for reason, count in reasons.most_common()) or "None.\n",
    )


def _front_matter(exported: Exported, selection: Selection, configs: dict[str, list[str]]) -> dict[str, Any]:
    """What the Hub and `load_dataset` read of the card."""
    bands = {file for files in configs.values() for file in files}
    size_of = {file: _uncompressed(exported.folder / "data" / f"{file}.parquet") for file in bands}
    sizes = [sum(size_of[file] for file in files) for files in configs.values()]
    tables = (selection.kept, selection.removed)
    return {
        "size_categories": [_size_category(exported.configs["all"])],
        "language": sorted({name for table in tables for name in table["language"].unique().to_pylist()}),
        "tags": ["tamis", "data-filtering", "gradient-attribution"],
        "configs": [
            {
                "config_name": name,
                **({"default": True} if name == exported.default else {}),
                "data_files": [{"split": "train", "path": [f"data/{file}.parquet" for file in files]}],
            }
            for name, files in configs.items()
        ],
        "dataset_info": [
            {"config_name": name, "splits": [{"name": "train", "num_bytes": size, "num_examples": rows}]}
            for (name, rows), size in zip(exported.configs.items(), sizes, strict=True)
        ],
    }


def _example(exported: Exported) -> str:
    """Lines that load the default config, another one, and the rows that it leaves out; only configs with rows."""
    configs = exported.configs
    drop = next(name for name in ("drop-10", *configs) if name in configs)
    removed = next(
        (name for name in ("removed-10", *configs) if name in configs and name.startswith("removed")), None
    )
    lines = [("rows", "", exported.default)] if exported.default in configs else []
    lines.append(("rows", f', "{drop}"', "any standard ratio: 05, 10, ... 50"))
    if removed:
        lines.append(("gone", f', "{removed}"', "what that ratio removes"))
    calls = [f'{variable} = load_dataset("path/to/this/folder"{config})' for variable, config, _ in lines]
    width = max(map(len, calls))
    return "\n".join(f"{call:{width}}  # {says}" for call, (_, _, says) in zip(calls, lines, strict=True))


def _uncompressed(path: Path) -> int:
    metadata = pq.read_metadata(path)
    return sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))


def _shown_name(name: str) -> str:
    """A data set's name on the Hub, or a file's without its folders, which are nobody's business."""
    return Path(name).name if Path(name).exists() else name


def _size_category(rows: int) -> str:
    edges = (
        (10**3, "n<1K"),
        (10**4, "1K<n<10K"),
        (10**5, "10K<n<100K"),
        (10**6, "100K<n<1M"),
        (10**7, "1M<n<10M"),
    )
    return next((name for edge, name in edges if rows < edge), "10M<n<100M")
