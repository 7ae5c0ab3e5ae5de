"""Two processes under `accelerate launch` make the one-process index, byte for byte, and a dead one is resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import pools
from pools import chat, contents, write
from tamis.gradients.embed import embed
from tamis.recipe import EmbedRecipe, to_dict

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "training" / "accelerate_configs"
SCRIPT = ROOT / "training" / "embed_gradients.py"


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> EmbedRecipe:
    """A recipe of 122 rows, whose index is there."""
    folder = tmp_path_factory.mktemp("one-process")
    write(folder / "pool.jsonl", [chat(i) for i in range(122)])
    plain = pools.recipe(folder, str(folder / "pool.jsonl"), folder / "index")
    # The device is named like a GPU that all processes share.
    made = replace(plain, last_k=2, max_length=64, shard_rows=4, device="cpu:0")
    embed(made)
    return made


def launch(recipe: EmbedRecipe, folder: Path) -> list[str]:
    """The command, with the recipe in a file."""
    (folder / "recipe.yaml").write_text(yaml.safe_dump(to_dict(recipe)))
    config = ["--config_file", str(CONFIGS / "cpu_2.yaml"), "--main_process_port", "0"]
    return [
        sys.executable,
        *("-m", "accelerate.commands.launch", *config, str(SCRIPT)),
        *("--config", str(folder / "recipe.yaml"), "--format", "json"),
    ]


def workers(launcher: int) -> dict[str, int]:
    """The process id of each rank."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            words = (path / "environ").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue
        if parent == launcher:
            found |= {word.decode()[5:]: int(path.name) for word in words if word.startswith(b"RANK=")}
    return found


def test_two_processes_make_the_index_of_one(recipe: EmbedRecipe, tmp_path: Path) -> None:
    two = replace(recipe, output_dir=str(tmp_path / "index"))
    done = subprocess.run(launch(two, tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert contents(two.output_dir) == contents(recipe.output_dir)
    printed = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(printed) == 1 and '"rows": 122' in printed[0]
    assert (tmp_path / "index" / "run.yaml").is_file()


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for the process in /proc")
def test_a_process_that_dies_fails_the_launch_and_is_resumed(
    recipe: EmbedRecipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two = replace(recipe, output_dir=str(tmp_path / "index"))
    with subprocess.Popen(launch(two, tmp_path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as launcher:
        while len([*tmp_path.glob("index/shard-*")]) < 3 and launcher.poll() is None:
            time.sleep(0.002)
        os.kill(workers(launcher.pid)["1"], signal.SIGKILL)
        said = launcher.communicate()[0].decode()
    assert launcher.returncode != 0, said
    whole = len([*tmp_path.glob("index/shard-*")])
    assert 3 <= whole < 31
    capsys.readouterr()
    embed(two)
    assert capsys.readouterr().err.count("already there") == whole
    assert contents(two.output_dir) == contents(recipe.output_dir)


def test_a_wrong_call_fails_the_launch_in_our_words(recipe: EmbedRecipe, tmp_path: Path) -> None:
    before = contents(recipe.output_dir)
    other = replace(recipe, seed=1)
    done = subprocess.run(launch(other, tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stderr.count("tamis: ") == 1 and "another recipe: gradient.projection" in done.stderr
    assert contents(recipe.output_dir) == before


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_configurations_are_accelerates(path: Path) -> None:
    from accelerate.commands.config.config_args import load_config_from_file

    config = load_config_from_file(str(path))
    assert config.num_processes > 1
    assert f"{path.parent.name}/{path.name}" in SCRIPT.read_text()
