"""A published data set to what any ratio leaves of it: only the ranges of its files that hold kept rows are read.

A row is kept if and only if its order is below n - k, with n and what was named by lists from the card. Within a
source or language, n, k and the order are those of its rows alone; then the small columns are read first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tamis.errors import UsageError
from tamis.hub.front_matter import CARD, HERE, join
from tamis.hub.published import Published, open_published
from tamis.names import in_markdown, shown
from tamis.permalink import query
from tamis.provenance import claim_folder, whole, write_whole
from tamis.recipe import DownloadRecipe, digest
from tamis.selection import BELOW, LEFT_OUT, NAMED_TO_KEEP, NAMED_TO_REMOVE, NO_IDS, OUTSIDE, cut, selection_digest

_AT_ONCE = 32 << 20  # compressed bytes in memory
_UNSCORED, _NEVER = OUTSIDE - 1, np.iinfo(np.int64).max

TEXT = """
# {name}, without the {removed} highest-scored of {sieved} sieved rows

{rows} rows{subset}, taken by `tamis download` from {name}{commit}. What the columns mean, where the rows come from
and what is not established stands there.

```python
from datasets import load_dataset

rows = load_dataset("{here}")
```
"""


@dataclass(frozen=True)
class Downloaded:
    """What is left of a data set.

    Attributes:
        folder: Where it lies.
        commit: The commit that it was read at; None where that was a folder.
        rows: How many rows are left.
        sieved: n.
        removed: k.
        fetched: Bytes that were read.
        size: Bytes of the card and all Parquet files there.
        link: The recipe, for `tamis select --recipe`.
    """

    folder: Path
    commit: str | None
    rows: int
    sieved: int
    removed: int
    fetched: int
    size: int
    link: str


@dataclass(frozen=True)
class _Group:
    """A row group: its number, and its first and last row in the file."""

    number: int
    start: int
    end: int


@dataclass(frozen=True)
class _Cut:
    """Rows with an order below n - k are kept; `orders` are those within the subset, if there is one, by file."""

    n: int
    k: int
    orders: Mapping[str, np.ndarray] | None = None

    @property
    def below(self) -> int:
        return self.n - self.k


def download(recipe: DownloadRecipe) -> Downloaded:
    """What is left of a data set that `tamis export` made, written to `recipe.output_dir`.

    Raises:
        UsageError: There is no such data set, revision, source or language, or no right to read it; it was not
            made by `tamis export`, or does not hold the rows that the ratio leaves; or nothing would be left.
        WorkError: The Hub cannot be reached, or the files are not those that the card speaks of.
    """
    there = open_published(recipe.repo_id, recipe.revision, recipe.variant)
    cutting = (_within_subset if recipe.source or recipe.language else _of_all)(there, recipe)
    plan = {path: _groups(part, path, cutting, there.columns["order"]) for path, part in there.parts.items()}
    if not any(plan.values()):
        raise UsageError(f"--ratio {recipe.ratio}: leaves no row of {there.name}")
    made = _selection(there.recipe, recipe)
    variant = {"variant": recipe.variant} if recipe.variant else {}
    identity = digest({"name": there.name, "commit": there.files.commit, **variant, **made})
    folder = claim_folder(replace(recipe, revision=there.files.commit), identity)
    data = folder / "data" / f"kept-{identity}.parquet"
    data.parent.mkdir(exist_ok=True)
    with whole(data) as stream:
        rows = _write(stream, there, plan, cutting)
    read, commit = there.files.fetched, there.files.commit
    done = Downloaded(folder, commit, rows, cutting.n, cutting.k, read, there.size, query(made))
    write_whole(folder / CARD, _card(done, there, made, f"data/{data.name}", recipe.variant).encode())
    return done


def _of_all(there: Published, recipe: DownloadRecipe) -> _Cut:
    n, column = there.sieved, there.columns["order"]
    cutting = _Cut(n, cut(recipe.ratio, n, keep=there.named_by_keep, remove=there.named_by_remove))
    parts = there.parts.values()
    spans = [_span(part, number, column) for part in parts for number in range(part.num_row_groups)]
    if not any(highest >= cutting.below - 1 for _, highest in spans):
        raise _not_all(there, cutting)
    return cutting


def _not_all(there: Published, cutting: _Cut) -> UsageError:
    return UsageError(
        f"{there.name}: does not hold each of the {cutting.below} sieved rows that this ratio leaves; if it was "
        "published without its removed rows, ask for its own ratio or a higher one"
    )


def _span(part: pq.ParquetFile, group: int, column: str) -> tuple[float, float]:
    """The lowest and highest order in a row group, as far as the file's end says it; none of rows without one."""
    metadata = part.metadata
    leaf = [metadata.schema.column(i).path for i in range(metadata.num_columns)].index(column)
    known, rows = metadata.row_group(group).column(leaf).statistics, metadata.row_group(group).num_rows
    if known is not None and known.has_null_count and known.null_count == rows:
        return np.inf, -np.inf
    return (known.min, known.max) if known is not None and known.has_min_max else (-np.inf, np.inf)


def _within_subset(there: Published, recipe: DownloadRecipe) -> _Cut:
    """The cut among the rows of the sources and languages asked for.

    Raises:
        UsageError: There is no such source or language; or nothing says the order of all these rows.
    """
    names = ("order", "reason", "source", "language")
    wanted = [there.columns[name] for name in names]
    table = pa.concat_tables(part.read(columns=wanted).select(wanted) for part in there.parts.values())
    table = table.rename_columns(names)
    order = table["order"].fill_null(_UNSCORED).to_numpy()
    if not np.array_equal(np.sort(order[order >= 0]), np.arange(there.sieved)):
        raise UsageError(
            f"{there.name}: does not hold each sieved row once, so no part of it can be cut by itself"
        )
    inside = _inside(table, order != _UNSCORED, recipe, there.name)
    if outside := int((order[inside] == OUTSIDE).sum()):
        raise UsageError(f"{there.name}: {outside} rows of this part were not sieved there, and so have no order")
    keep, remove = (
        int((pc.equal(table["reason"], reason).fill_null(False).to_numpy() & inside).sum())
        for reason in (NAMED_TO_KEEP, NAMED_TO_REMOVE)
    )
    n = int(inside.sum())
    own = np.full(len(order), _NEVER)
    own[np.flatnonzero(inside)[np.argsort(order[inside])]] = np.arange(n)
    ends = np.cumsum([part.metadata.num_rows for part in there.parts.values()])[:-1]
    orders = dict(zip(there.parts, np.split(own, ends), strict=True))
    return _Cut(n, cut(recipe.ratio, n, keep=keep, remove=remove), orders)


def _inside(table: pa.Table, scored: np.ndarray, recipe: DownloadRecipe, name: str) -> np.ndarray:
    """Which rows are of the sources and languages asked for, `[rows]` bool."""
    inside = scored
    for flag, wanted in (("source", recipe.source), ("language", recipe.language)):
        if not wanted:
            continue
        known = {*table[flag].filter(pa.array(scored)).unique().to_pylist()}
        if unknown := [one for one in wanted if one not in known]:
            listed = ", ".join(sorted(map(str, known)))
            raise UsageError(f"--{flag} {unknown[0]}: no such {flag} in {name}; there are {listed}")
        inside = inside & np.asarray(pc.is_in(table[flag], value_set=pa.array(wanted, table[flag].type)))
    if not inside.any():
        raise UsageError(f"{name}: no row is in the subset of --source and --language")
    return inside


def _groups(part: pq.ParquetFile, path: str, cutting: _Cut, column: str) -> list[_Group]:
    """The row groups that may hold kept rows."""
    found, start = [], 0
    for number in range(part.num_row_groups):
        group = _Group(number, start, start + part.metadata.row_group(number).num_rows)
        start = group.end
        if cutting.orders is not None:
            holds = bool((cutting.orders[path][group.start : group.end] < cutting.below).any())
        else:
            holds = _span(part, number, column)[0] < cutting.below
        if holds:
            found.append(group)
    return found


def _write(stream: IO[bytes], there: Published, plan: Mapping[str, Sequence[_Group]], cutting: _Cut) -> int:
    """Writes the kept rows in the order of the files; their number.

    Raises:
        UsageError: They are not all there.
    """
    writer, orders = None, []
    for path, groups in plan.items():
        for some in _at_once(there.parts[path], groups):
            table = there.parts[path].read_row_groups([group.number for group in some])
            if cutting.orders is None:
                order = table[there.columns["order"]].fill_null(_NEVER).to_numpy()
            else:
                order = np.concatenate([cutting.orders[path][group.start : group.end] for group in some])
            kept = order < cutting.below
            table = _relabelled(table.filter(pa.array(kept)), order[kept], there.columns, cutting)
            writer = writer or pq.ParquetWriter(stream, table.schema, write_page_index=True)
            writer.write_table(table)
            orders.append(order[kept])
    found = np.concatenate(orders)
    if writer:
        writer.close()
    if not np.array_equal(np.sort(found[found >= 0]), np.arange(cutting.below)):
        raise _not_all(there, cutting)
    return len(found)


def _at_once(part: pq.ParquetFile, groups: Sequence[_Group]) -> Iterator[list[_Group]]:
    """The row groups in runs that fit into memory together: what lies side by side is one request."""
    some: list[_Group] = []
    held = 0
    for group in groups:
        about = part.metadata.row_group(group.number)
        size = sum(about.column(i).total_compressed_size for i in range(about.num_columns))
        if some and held + size > _AT_ONCE:
            yield some
            some, held = [], 0
        some.append(group)
        held += size
    if some:
        yield some


def _relabelled(table: pa.Table, order: np.ndarray, columns: Mapping[str, str], cutting: _Cut) -> pa.Table:
    """The rows with the `order`, `rank` and `reason` that they have in this cut."""
    reason = table[columns["reason"]]
    stays = pc.is_in(reason, value_set=pa.array([NAMED_TO_KEEP, LEFT_OUT], reason.type))
    here = {"reason": pc.if_else(stays, reason, BELOW.format(k=cutting.k, n=cutting.n))}
    if cutting.orders is not None:
        here |= {"order": pa.chunked_array([order]), "rank": pa.chunked_array([order / cutting.n])}
    for name, values in here.items():
        place = table.schema.get_field_index(columns[name])
        field = table.schema.field(place)
        table = table.set_column(place, field, values.cast(field.type))
    return table


def _selection(published: Mapping[str, Any], recipe: DownloadRecipe) -> dict[str, Any]:
    """What travels of this cut: that of the published scores at this ratio."""
    part = bool(recipe.source or recipe.language)
    fields = {**published["recipe"], "ratio": recipe.ratio}
    if part:
        fields |= {"source": recipe.source, "language": recipe.language}
    made = {**published, "recipe": {name: value for name, value in fields.items() if value != []}}
    made.pop("selection", None)
    if "scores" in made and not (
        part and {"keep", "remove"} & {*made}
    ):  # nobody knows whom the lists name in a part
        subset = [made["recipe"].get(name, []) for name in ("source", "language")]
        lists = [made.get(name, NO_IDS) for name in ("keep", "remove")]
        made["selection"] = selection_digest(made["scores"], recipe.ratio, *subset, *lists)
    return made


def _card(done: Downloaded, there: Published, made: Mapping[str, Any], file: str, variant: str | None) -> str:
    name = in_markdown(shown(there.name))
    source = {"repo": shown(there.name), "revision": done.commit, "variant": variant}
    source = {name: value for name, value in source.items() if value is not None}
    counts = {"rows": done.rows, "rows_sieved": done.sieved, "rows_removed": done.removed}
    limits = {"limits": there.limits} if there.limits else {}
    metadata: dict[str, Any] = {
        **there.licence,
        "tags": ["tamis"],
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": [file]}]}],
        "tamis": {**made, "downloaded_from": source, **counts, **limits, "columns": there.columns},
    }
    subset = [one for key in ("source", "language") for one in made["recipe"].get(key, [])]
    body = TEXT.format(
        here=HERE,
        name=name,
        removed=done.removed,
        sieved=done.sieved,
        rows=done.rows,
        subset=f" of {in_markdown(', '.join(subset))}" if subset else "",
        commit=f" at commit {done.commit}" if done.commit else "",
    )
    return join(metadata, body)
