"""A tiny model on disk, and the recipe that embeds ten rows with it."""

from __future__ import annotations

from pathlib import Path

import pytest

import pools
import tiny
from tamis.recipe import EmbedRecipe


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny.saved(tmp_path_factory.mktemp("model"))


@pytest.fixture
def recipe(tmp_path: Path, model: str) -> EmbedRecipe:
    """Of ten rows in shards of four; nothing is embedded yet."""
    pools.write(tmp_path / "pool.jsonl", [pools.chat(i) for i in range(10)])
    return EmbedRecipe(
        dataset_name=str(tmp_path / "pool.jsonl"),
        output_dir=str(tmp_path / "index"),
        model_name_or_path=model,
        last_k=2,
        proj_dim=8,
        max_length=64,
        shard_rows=4,
    )
