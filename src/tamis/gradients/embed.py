"""Rows to a gradient index, a shard at a time, in one pass; and what that would cost."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from tamis.chat import RowError
from tamis.errors import UsageError
from tamis.gradients.embedder import Embedder, Rendered
from tamis.gradients.shard import Part
from tamis.gradients.store import MANIFEST, GradientIndex, IndexWriter, is_index, read_manifest
from tamis.provenance import write_run
from tamis.recipe import EmbedRecipe, digest, to_dict
from tamis.rows import Rows, read_rows

if TYPE_CHECKING:
    from accelerate import PartialState

_NOT_IN_INDEX = ("output_dir", "append")  # neither says anything of the index's content


@dataclass(frozen=True)
class Estimate:
    """What an embedding would cost, from a few rows.

    Attributes:
        rows: Source rows.
        tokens_per_row: Mean tokens inside the window.
        rows_per_second: Rows a second on this device.
        seconds: For all rows.
        bytes_on_disk: For all rows.
    """

    rows: int
    tokens_per_row: float
    rows_per_second: float
    seconds: float
    bytes_on_disk: int


def embed(
    recipe: EmbedRecipe, expect: Mapping[str, Any] | None = None, state: PartialState | None = None
) -> GradientIndex:
    """The gradient index of a data set, written to `recipe.output_dir`.

    A shard is written whole or not at all: running the same recipe again after a stop skips the shards that are
    there. Where a device's memory does not hold a batch, the rows equal those of an undisturbed run to rounding
    and not to the byte.

    Args:
        recipe: What to embed, and how.
        expect: The gradient identity of an index that this one will be compared with.
        state: This process among the many of `accelerate launch`: it takes every n-th shard, and the first process
            begins and finishes the index, which has the same bytes whatever their number.

    Raises:
        UsageError: The rows or the model cannot be read, or the folder holds an index of another recipe, model
            revision or data set; or the gradients would not be those expected.
        WorkError: The disk refused a shard, what is there is torn or altered, or a row alone is more than the
            device's memory holds.
    """
    first, many = state is None or state.is_main_process, state is not None and state.num_processes > 1
    with state.main_process_first() if state else nullcontext():
        rows = _read(recipe)
    here = recipe.device if state is None or recipe.device != "auto" else str(state.device)
    embedder = Embedder(replace(recipe, device=here))
    changed = [key for key, value in (expect or {}).items() if embedder.gradient_identity[key] != value]
    if changed:
        raise UsageError(
            f"{recipe.dataset_name}: cannot be embedded like the index: changed since: {', '.join(changed)}"
        )
    parts = _parts(rows, recipe.shard_rows)
    identity = {
        "gradient": embedder.gradient_identity,
        "data": {"fingerprint": parts[-1].fingerprint, "rows": len(rows)},
        "batch_tokens": recipe.batch_tokens,
        "shard_rows": recipe.shard_rows,
    }
    about = {"recipe": {k: v for k, v in to_dict(recipe).items() if k not in _NOT_IN_INDEX}, "form": rows.form}
    if state and not first:
        state.wait_for_everyone()  # until the first has claimed the folder
    grown_from = _grown_from(recipe, identity, rows) if first else None
    with IndexWriter(Path(recipe.output_dir), identity, about, grown_from=grown_from, join=not first) as writer:
        if first:
            write_run(recipe, device=embedder.device)
        if state and first and many:
            writer.share()
            state.wait_for_everyone()
        mine = parts[state.process_index :: state.num_processes] if state else parts
        _write(writer, mine, rows, embedder)
        if state:
            state.wait_for_everyone()
        if first:
            writer.finish(parts)
    if state:
        state.wait_for_everyone()
    return GradientIndex(recipe.output_dir)


def _grown_from(recipe: EmbedRecipe, identity: Mapping[str, Any], rows: Rows) -> str | None:
    """The digest of the index that is there, if it is of the first of these rows, and of them alone.

    Raises:
        UsageError: It is, and nobody asked to append; or somebody did, and it is not.
    """
    folder = Path(recipe.output_dir)
    if not is_index(folder):
        return None
    there = read_manifest(folder / MANIFEST)
    data, digest_there = there["identity"]["data"], there["digest"]
    if digest({**identity, "data": data}) != digest_there or data == identity["data"]:
        return None  # of another recipe, which the writer refuses in its words; or of these very rows
    if data["rows"] >= len(rows) or rows.prefix_fingerprints([data["rows"]]) != [data["fingerprint"]]:
        if recipe.append:
            raise UsageError(
                f"{folder}: nothing can be appended: its {data['rows']} rows (data.fingerprint) are not the "
                f"first of the {len(rows)} in {recipe.dataset_name}; name another --output_dir"
            )
        return None
    if not recipe.append:
        raise UsageError(
            f"{folder}: {recipe.dataset_name} has grown from {data['rows']} to {len(rows)} rows since; "
            "give --append to embed the new ones, or name another --output_dir"
        )
    return str(digest_there)


def _write(writer: IndexWriter, parts: Sequence[Part], rows: Rows, embedder: Embedder) -> None:
    with tqdm(total=sum(len(part.rows) for part in parts), unit="row", disable=None, desc="embed") as progress:
        for part in parts:
            if writer.has(part):
                progress.update(len(part.rows))
                tqdm.write(f"shard {part.number}: already there", file=sys.stderr)
                continue
            mine = list(rows.rows(part.rows.start, part.rows.stop))
            writer.write(part, *embedder.shard(mine, progress))


def _parts(rows: Rows, shard_rows: int) -> list[Part]:
    ranges = [range(start, min(start + shard_rows, len(rows))) for start in range(0, len(rows), shard_rows)]
    prints = rows.prefix_fingerprints(part.stop for part in ranges)
    return [Part(i, *known) for i, known in enumerate(zip(ranges, prints, strict=True))]


def estimate(recipe: EmbedRecipe) -> Estimate:
    """The time and disk that `embed` would take, from at most eight embedded rows; writes nothing.

    Raises:
        UsageError: The rows or the model cannot be read, or no row can be embedded.
    """
    rows = _read(recipe)
    embedder = Embedder(recipe)
    rendered: list[Rendered] = []
    for start in np.linspace(0, len(rows) - 1, min(len(rows), 200)).astype(int):
        try:
            rendered.append(embedder.render(next(rows.rows(int(start), int(start) + 1))))
        except RowError:
            continue
    if not rendered:
        raise UsageError(f"{recipe.dataset_name}: none of its rows can be embedded")
    tokens = float(np.mean([len(item.example.input_ids) for item in rendered]))
    timed = rendered[:: max(1, len(rendered) // 8)][:8]
    for some in (timed[:1], timed):  # the first is for warming up
        began = time.perf_counter()
        for _ in embedder.embed(some):
            pass
    per_token = (time.perf_counter() - began) / sum(len(item.example.input_ids) for item in timed)
    bytes_per_row = 2 * 2 * len(embedder.modules) * recipe.proj_dim
    return Estimate(
        len(rows), tokens, 1 / (per_token * tokens), per_token * tokens * len(rows), bytes_per_row * len(rows)
    )


def _read(recipe: EmbedRecipe) -> Rows:
    return read_rows(
        recipe.dataset_name,
        config=recipe.dataset_config,
        split=recipe.dataset_split,
        revision=recipe.dataset_revision,
        max_samples=recipe.max_samples,
    )
