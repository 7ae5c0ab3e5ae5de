"""Rows to rank-one gradients by one recipe: render, capture, project, factor, in batches that the memory holds."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch.profiler import record_function
from tqdm import tqdm

from tamis.chat import ChatRenderer, Example, RowError
from tamis.errors import UsageError, WorkError
from tamis.gradients.capture import GradientCapture
from tamis.gradients.factor import RankOne, rank_one
from tamis.gradients.project import gaussian
from tamis.gradients.shard import EmbeddedRow, ExcludedRow
from tamis.models import load_decoder
from tamis.recipe import EmbedRecipe
from tamis.rows import Row, conversation, detect_language


class Rendered(NamedTuple):
    """A row as token ids, with its language and its conversation's digest."""

    row: Row
    language: str
    content: str
    example: Example


class Embedder:
    """A decoder that turns rows into rank-one gradients, by one recipe.

    A batch that the device's memory does not hold is halved, and so is the budget of all batches after it.

    Args:
        recipe: Says which decoder, window, blocks and projections.

    Raises:
        UsageError: The decoder cannot be loaded, holds weights that would be left out, or a shorter window.
    """

    def __init__(self, recipe: EmbedRecipe) -> None:
        decoder = load_decoder(
            recipe.model_name_or_path,
            revision=recipe.model_revision,
            dtype=recipe.dtype,
            device=recipe.device,
            trust_remote_code=recipe.trust_remote_code,
        )
        positions = getattr(decoder.model.config.get_text_config(), "max_position_embeddings", None)
        if positions is not None and recipe.max_length > positions:
            raise UsageError(
                f"--max_length {recipe.max_length}: {recipe.model_name_or_path} holds {positions} positions"
            )
        self._recipe, self._budget = recipe, recipe.batch_tokens
        self._chat = ChatRenderer(decoder.tokenizer, recipe.max_length)
        self._capture = GradientCapture(
            decoder.model, last_k=recipe.last_k, proj_dim=recipe.proj_dim, seed=recipe.seed
        )
        starts = [gaussian(recipe.seed, name, "start", recipe.proj_dim, 1)[:, 0] for name in self._capture.modules]
        self._start = torch.from_numpy(np.stack(starts)).to(self._capture.device)
        self.modules = self._capture.modules
        self.device = str(self._capture.device)
        self.gradient_identity = {
            "model_revision": decoder.revision,
            "dtype": str(decoder.model.dtype).removeprefix("torch."),
            "template": self._chat.digest,
            "max_length": recipe.max_length,
            "modules": list(self.modules),
            "proj_dim": recipe.proj_dim,
            "seed": recipe.seed,
            "projection": self._capture.projection_checksum,
        }

    def render(self, row: Row) -> Rendered:
        """The row as token ids.

        Raises:
            RowError: The row cannot be supervised.
        """
        messages = conversation(row.record)
        content = hashlib.sha256(json.dumps(messages, sort_keys=True, default=str).encode()).hexdigest()[:16]
        return Rendered(row, row.language or detect_language(messages), content, self._chat.render(messages))

    def embed(self, rendered: Sequence[Rendered]) -> Iterator[tuple[list[Rendered], RankOne, torch.Tensor]]:
        """The rows in batches of like length, each with its rank-one gradients and summed losses, on the CPU.

        Raises:
            WorkError: The device's memory does not hold a row alone.
        """
        waiting = self._batches(rendered)
        while waiting:
            batch, *later = waiting
            done = self._attempt(batch)
            if done is not None:
                yield batch, *done
            else:
                self._halve(batch)
                later = self._batches([*batch, *(item for rest in later for item in rest)])
            waiting = later

    def _batches(self, rendered: Sequence[Rendered]) -> list[list[Rendered]]:
        lengths = [len(item.example.input_ids) for item in rendered]
        return [[rendered[i] for i in batch] for batch in batches(lengths, self._budget)]

    def _attempt(self, batch: Sequence[Rendered]) -> tuple[RankOne, torch.Tensor] | None:
        """The batch's gradients and losses; None where the memory ran out.

        What the failed attempt held is free once this has returned: until then the exception's frames hold it.
        """
        try:
            return rank_one_gradients(self._capture, self._start, [item.example for item in batch])
        except torch.OutOfMemoryError:
            return None

    def _halve(self, batch: Sequence[Rendered]) -> None:
        tokens = len(batch) * max(len(item.example.input_ids) for item in batch)
        if len(batch) == 1:
            raise WorkError(
                f"row {batch[0].row.row_id}: the memory of {self.device} does not hold its {tokens} tokens, even "
                "alone; give a smaller --max_length or --dtype and another --output_dir, or give the same command "
                "where there is more memory: it goes on from the shards that are there"
            )
        self._budget = tokens // 2
        torch.cuda.empty_cache()  # of blocks cut to the larger batch; does nothing where there is no CUDA
        tqdm.write(
            f"the memory of {self.device} does not hold a batch of {tokens} tokens: "
            f"going on with at most {self._budget}",
            file=sys.stderr,
        )

    def shard(
        self, rows: Sequence[Row], progress: tqdm[None]
    ) -> tuple[np.ndarray, np.ndarray, list[EmbeddedRow], list[ExcludedRow]]:
        """One shard: `u` and `v`, `[rows, modules, dim]` float16, their rows, and the rows left out."""
        excluded, rendered = [], []
        for row in rows:
            try:
                rendered.append(self.render(row))
            except RowError as error:
                excluded.append(ExcludedRow(row.row_id, row.index, row.source, row.language, str(error)))
        progress.update(len(excluded))
        done: list[tuple[EmbeddedRow, np.ndarray, np.ndarray]] = []
        for batch, factored, loss in self.embed(rendered):
            for i, item in enumerate(batch):
                norm = float(factored.norm[i])
                if not 0 < norm < float("inf"):
                    reason = "its gradient is zero" if norm == 0 else "its gradient is not finite"
                    excluded.append(
                        ExcludedRow(item.row.row_id, item.row.index, item.row.source, item.language, reason)
                    )
                    continue
                known = EmbeddedRow(
                    row_id=item.row.row_id,
                    index=item.row.index,
                    source=item.row.source,
                    language=item.language,
                    tokens=len(item.example.input_ids),
                    response_tokens=sum(item.example.response_mask),
                    flags=list(item.example.flags),
                    norm=norm,
                    energy=float(factored.energy[i]),
                    loss=float(loss[i]),
                    content=item.content,
                )
                done.append(
                    (known, factored.u[i].numpy().astype(np.float16), factored.v[i].numpy().astype(np.float16))
                )
            progress.update(len(batch))
        done.sort(key=lambda entry: entry[0].index)
        empty = np.empty((0, len(self.modules), self._recipe.proj_dim), np.float16)
        u = np.stack([entry[1] for entry in done]) if done else empty
        v = np.stack([entry[2] for entry in done]) if done else empty
        return u, v, [entry[0] for entry in done], sorted(excluded, key=lambda row: row.index)


def rank_one_gradients(
    capture: GradientCapture, start: torch.Tensor, examples: Sequence[Example]
) -> tuple[RankOne, torch.Tensor]:
    """The rank-one gradients of a batch and its summed losses, on the CPU.

    Args:
        capture: Gives the projected gradients.
        start: See `rank_one`.
        examples: The batch.
    """
    gradients = capture(examples)
    factored = rank_one(gradients.matrices, start)
    factored = factored._replace(norm=factored.norm * gradients.scale)
    with record_function("tamis.to_host"):
        return RankOne(*(part.cpu() for part in factored)), gradients.loss.cpu()


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Positions of rows of like length; as many a batch as fit the budget with padding, one at the least."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lambda position: (lengths[position], position)):
        if batch and lengths[position] * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch
