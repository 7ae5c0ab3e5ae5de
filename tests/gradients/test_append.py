"""Rows that came to a data set's end: embedded if asked for, to the bytes of a run over all; refused otherwise."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pools import chat, contents, write
from tamis.errors import UsageError
from tamis.gradients.embed import embed
from tamis.gradients.store import GradientIndex
from tamis.gradients.verify import verify
from tamis.recipe import EmbedRecipe, VerifyRecipe


@pytest.fixture
def recipe(recipe: EmbedRecipe) -> EmbedRecipe:
    """Of ten rows in shards of four, the last of two; the index is there."""
    embed(recipe)
    return recipe


def grow(recipe: EmbedRecipe, rows: int) -> None:
    write(Path(recipe.dataset_name), [chat(i) for i in range(rows)])


@pytest.mark.parametrize(("rows", "there"), [(11, 2), (12, 2), (13, 2), (21, 2)])
def test_appended_is_embedded_at_once(
    rows: int, there: int, recipe: EmbedRecipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grow(recipe, rows)
    capsys.readouterr()
    embed(replace(recipe, append=True))
    assert capsys.readouterr().err.count("already there") == there
    other = replace(recipe, output_dir=str(tmp_path / "other"))
    embed(other)
    assert contents(recipe.output_dir) == contents(other.output_dir)
    assert verify(VerifyRecipe(recipe.output_dir)).rows == rows
    embed(recipe)  # these are its rows now
    embed(replace(recipe, append=True))
    assert contents(recipe.output_dir) == contents(other.output_dir)


def test_a_whole_last_shard_stays(recipe: EmbedRecipe, capsys: pytest.CaptureFixture[str]) -> None:
    grow(recipe, 12)
    embed(replace(recipe, append=True))
    grow(recipe, 13)
    capsys.readouterr()
    embed(replace(recipe, append=True))
    assert capsys.readouterr().err.count("already there") == 3


def test_more_of_the_same_file_is_appended(recipe: EmbedRecipe, tmp_path: Path) -> None:
    few = replace(recipe, output_dir=str(tmp_path / "few"), max_samples=6)
    embed(few)
    embed(replace(few, max_samples=9, append=True))
    embed(replace(few, max_samples=9, output_dir=str(tmp_path / "nine")))
    assert contents(tmp_path / "few") == contents(tmp_path / "nine")


def test_to_nothing_is_from_the_start(recipe: EmbedRecipe, tmp_path: Path) -> None:
    embed(replace(recipe, output_dir=str(tmp_path / "new"), append=True))
    assert contents(tmp_path / "new") == contents(recipe.output_dir)


def refused(recipe: EmbedRecipe, words: str) -> None:
    before = contents(recipe.output_dir)
    with pytest.raises(UsageError, match=words) as error:
        embed(recipe)
    assert "\n" not in str(error.value)
    assert contents(recipe.output_dir) == before
    GradientIndex(recipe.output_dir)


def test_growth_that_nobody_asked_to_append_is_refused(recipe: EmbedRecipe) -> None:
    grow(recipe, 14)
    refused(recipe, "has grown from 10 to 14 rows since; give --append")


@pytest.mark.parametrize("case", ["changed", "inserted", "shorter", "reordered"])
def test_other_first_rows_are_refused(case: str, recipe: EmbedRecipe) -> None:
    rows = [chat(i) for i in range(14)]
    if case == "changed":
        rows[9]["messages"] = chat(3)["messages"]
    elif case == "inserted":
        rows.insert(0, chat(99))
    elif case == "shorter":
        rows = rows[:9]
    else:
        rows[0], rows[1] = rows[1], rows[0]
    write(Path(recipe.dataset_name), rows)
    refused(replace(recipe, append=True), "nothing can be appended")
    refused(recipe, r"data\.fingerprint")


def test_another_recipe_is_refused(recipe: EmbedRecipe) -> None:
    grow(recipe, 14)
    refused(replace(recipe, append=True, max_length=32), r"gradient\.max_length")
    refused(replace(recipe, append=True, shard_rows=5), "shard_rows")


@pytest.mark.parametrize("append", [True, False])
@pytest.mark.parametrize("kept", [0, 1, 2, 3, 4])
def test_appending_that_was_stopped_goes_on(kept: int, append: bool, recipe: EmbedRecipe, tmp_path: Path) -> None:
    """What a kill leaves: the new manifest, the old Parquet files and last shard, and some of the new shards."""
    old = contents(recipe.output_dir)
    grow(recipe, 19)
    other = replace(recipe, output_dir=str(tmp_path / "other"))
    embed(other)
    folder = Path(recipe.output_dir)
    stopped = replace(recipe, append=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tamis.gradients.embed._write", _stop)
        with pytest.raises(KeyboardInterrupt):
            embed(stopped)
    assert {name for name, content in contents(folder).items() if old[name] != content} == {"manifest.json"}
    for shard in range(2, 2 + kept - 1):
        name = f"shard-{shard:05d}.safetensors"
        shutil.copy(tmp_path / "other" / name, folder / name)
    with pytest.raises(UsageError, match="not finished"):
        GradientIndex(folder)
    embed(replace(recipe, append=append))
    assert contents(folder) == contents(other.output_dir)


def _stop(*_: object) -> None:
    raise KeyboardInterrupt
