"""run.yaml gives back what was asked for, and says truly where it was made."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from jsonargparse import get_loader

from tamis.errors import UsageError
from tamis.provenance import claim_folder, write_run, write_whole
from tamis.recipe import EmbedRecipe, ExportRecipe, SelectRecipe

SRC = Path(__file__).parents[1] / "src"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=12))
@example("12e4567")
@example("1e3")
@example(".5e3")
@example("0x1f")
@example("null")
@example("1_000")
@example("#a: b")
def test_any_text_comes_back_as_that_text(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """A git revision of digits and one e is a number to some readers of YAML."""
    recipe = EmbedRecipe("rows", str(tmp_path_factory.mktemp("run")), model_revision=text)
    written = write_run(recipe).read_text(encoding="utf-8")
    for read in (yaml.safe_load, get_loader("yaml")):
        assert read(written)["model_revision"] == text


def test_an_environment_inside_another_checkout_is_not_that_checkout(tmp_path: Path) -> None:
    copied = tmp_path / "theirs" / "site-packages"
    copied.mkdir(parents=True)
    subprocess.run(["cp", "-r", SRC / "tamis", copied], check=True)
    git = ["git", "-C", tmp_path / "theirs", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message", "theirs"], check=True)
    code = "from tamis.provenance import _git_revision; print(_git_revision())"
    environment = {"PYTHONPATH": str(copied)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "None"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")
    path.with_name(".file.partial").mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"


def test_a_folder_is_taken_over_only_by_the_same_digest(tmp_path: Path) -> None:
    recipe = SelectRecipe("scores", str(tmp_path / "out"))
    claim_folder(recipe, "one")
    (tmp_path / "out" / "kept.parquet").write_text("a result")
    claim_folder(recipe, "one")
    with pytest.raises(UsageError, match="holds something else"):
        claim_folder(recipe, "two")
    with pytest.raises(UsageError, match="cannot be written"):
        claim_folder(replace(recipe, output_dir=str(tmp_path / "out" / "kept.parquet" / "x")), "one")


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("last_k", 1),
        ("proj_dim", 1),
        ("max_samples", 1),
        ("batch_tokens", 1),
        ("shard_rows", 1),
        ("max_length", 2),
    ],
)
@pytest.mark.parametrize("below", [1, 5])
def test_a_number_that_makes_no_sense_is_refused_by_its_flag(name: str, least: int, below: int) -> None:
    with pytest.raises(UsageError, match=f"--{name} {least - below}: has to be at least {least}"):
        EmbedRecipe("rows", "index", **{name: least - below})
    with pytest.raises(UsageError, match="--row_group_rows 0: has to be at least 1"):
        ExportRecipe("selection", "folder", row_group_rows=0)
