"""Pools with scores that are known beforehand: a file of rows, an index written by `IndexWriter`, real scores."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np

import tiny
from tamis.gradients.shard import EmbeddedRow, ExcludedRow, Part
from tamis.gradients.store import GradientIndex, IndexWriter
from tamis.influence.scores import score
from tamis.recipe import EmbedRecipe, ScoreRecipe, SelectRecipe
from tamis.rows import Rows, read_rows
from tamis.selection import select

SOURCES, LANGUAGES = ("maths", "chat", "code"), ("en", "de")
REASON = "message 1 (user) is empty"
DIM, MODULES = 8, 6


def records(n: int, text: str = "") -> list[dict[str, Any]]:
    """`n` rows; ids are "0", "1", ..., whose order as text is not their order as numbers."""
    return [
        {
            "id": str(i),
            "source": SOURCES[i % len(SOURCES)],
            "language": LANGUAGES[i % len(LANGUAGES)],
            "messages": [
                {"role": "user", "content": f"{i}? {text}"},
                {"role": "assistant", "content": f"{i * i}."},
            ],
        }
        for i in range(n)
    ]


def chat(i: int) -> dict[str, Any]:
    """A row whose answer has one of five lengths."""
    question, answer = f"what is {i}?", " ".join(["the answer is", *(["yes"] * (1 + i % 5))])
    turns = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return {"id": f"r{i}", "source": "ab"[i % 2], "language": "en", "messages": turns}


def contents(folder: Path | str) -> dict[str, bytes]:
    """Every file but `run.yaml`, which holds the time."""
    files = [path for path in Path(folder).rglob("*") if path.is_file() and path.name != "run.yaml"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def factors(n: int, seed: int, silent: bool = True, dim: int = DIM) -> tuple[np.ndarray, np.ndarray]:
    """Random `u` and `v` with unit norm over a row; every third row has modules without a gradient."""
    rng = np.random.default_rng(seed)
    u, v = rng.standard_normal((2, n, MODULES, dim))
    if silent:
        u[::3, 1:3] = v[::3, 1:3] = 0
    size = np.sqrt(np.linalg.norm(u, axis=-1) * np.linalg.norm(v, axis=-1))[..., None]
    u *= np.divide(size, np.linalg.norm(u, axis=-1, keepdims=True), where=size > 0, out=np.zeros_like(size))
    v *= np.divide(size, np.linalg.norm(v, axis=-1, keepdims=True), where=size > 0, out=np.zeros_like(size))
    whole = np.sqrt((size**4).sum(axis=1, keepdims=True)) ** 0.5
    return u / whole, v / whole


def recipe(folder: Path, dataset: str, output: Path) -> EmbedRecipe:
    """Embeds a data set with the tiny model in the folder, which is saved there where it is not."""
    if not (folder / "model").exists():
        tiny.saved(folder / "model")
    model = str(folder / "model")
    return EmbedRecipe(
        dataset, str(output), model_name_or_path=model, last_k=1, proj_dim=DIM, shard_rows=3, device="cpu"
    )


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    """A file of rows: jsonl or parquet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        datasets.Dataset.from_list([dict(row) for row in rows]).to_parquet(path)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


def index(
    folder: Path,
    u: np.ndarray,
    v: np.ndarray,
    *,
    rows: Rows | None = None,
    recipe: Mapping[str, Any] | None = None,
    norms: Sequence[float] | None = None,
    ids: Sequence[str] | None = None,
    sources: Sequence[str] | None = None,
    excluded: Collection[int] = (),
    shard_rows: int = 5,
    gradient: Mapping[str, Any] | None = None,
) -> GradientIndex:
    """An index of `u` and `v`, `[rows, modules, dim]`, without the rows that are `excluded`."""
    n, modules, dim = u.shape
    identity = {
        "gradient": {"modules": [f"m{i}" for i in range(modules)], "proj_dim": dim, "seed": 0, **(gradient or {})},
        "data": {"fingerprint": rows.fingerprint if rows else str(folder), "rows": n},
    }
    writer = IndexWriter(folder, identity, {"recipe": dict(recipe or {}), "form": "messages"})
    made = list(rows.rows()) if rows else [None] * n
    parts = [
        Part(i, range(start, min(start + shard_rows, n)), str(start))
        for i, start in enumerate(range(0, n, shard_rows))
    ]
    for part in parts:
        inside: list[EmbeddedRow] = []
        outside: list[ExcludedRow] = []
        for i in part.rows:
            row = made[i]
            row_id = row.row_id if row else ids[i] if ids else str(i)
            source, language = (
                (row.source, row.language or "en") if row else (sources[i] if sources else "pool", "en")
            )
            if i in excluded:
                outside.append(ExcludedRow(row_id, i, source, language, REASON))
                continue
            norm = 1.0 if norms is None else float(norms[i])
            inside.append(
                EmbeddedRow(row_id, i, source, language, 9, 4, ["truncated"] * (i % 2), norm, 0.9, 1.5, row_id)
            )
        mine = [row.index for row in inside]
        writer.write(part, u[mine], v[mine], inside, outside)
    return writer.finish(parts)


def scored(
    folder: Path, values: Sequence[float], file: str | None = None, *, excluded: Collection[int] = (), **read: Any
) -> str:
    """The folder of the scores of a pool whose cosine to its one target is `values`, to float16.

    Args:
        folder: Where everything is written.
        values: A score a row, from -1 to 1.
        file: The pool; by default a jsonl file of `records`.
        excluded: Positions of rows that could not be embedded.
        read: `config`, `split`, `max_samples`, as `read_rows` takes them.
    """
    path = file or write(folder / "pool.jsonl", records(len(values)))
    recipe = {"dataset_name": path}
    recipe |= {name if name == "max_samples" else f"dataset_{name}": value for name, value in read.items()}
    u = np.array([[[value, np.sqrt(1 - value**2)]] for value in values])
    v = np.tile([[[1.0, 0.0]]], (len(values), 1, 1))
    index(folder / "index", u, v, rows=read_rows(path, **read), recipe=recipe, excluded=excluded, shard_rows=50)
    index(folder / "target", v[:1], v[:1])
    score(ScoreRecipe(str(folder / "index"), str(folder / "target"), str(folder / "scores")))
    return str(folder / "scores")


def selected(scores: str, ratio: float, **recipe: Any) -> str:
    """The folder of a selection, beside the scores."""
    folder = Path(scores).with_name(f"selection-{ratio}")
    select(SelectRecipe(scores, str(folder), ratio, **recipe))
    return str(folder)
