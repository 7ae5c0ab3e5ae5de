"""Indexes of random factors, and one that was embedded by a tiny model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pools
from tamis.gradients.embed import embed
from tamis.gradients.store import GradientIndex


@pytest.fixture
def pool(tmp_path: Path) -> GradientIndex:
    """Five shards, of which the second is empty and the last is short."""
    norms = np.geomspace(1e-3, 1e3, 22)
    return pools.index(tmp_path / "pool", *pools.factors(22, 0), norms=norms, excluded={0, 5, 6, 7, 8, 9})


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a saved model, a pool and its index, and a file of target rows."""
    folder = tmp_path_factory.mktemp("embedded")
    pool = pools.write(folder / "pool.jsonl", pools.records(7))
    pools.write(folder / "target.jsonl", [*pools.records(5, "why"), {"id": "empty", "messages": []}])
    embed(pools.recipe(folder, pool, folder / "index"))
    return folder
