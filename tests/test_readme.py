"""What README.md and AGENTS.md show is true: commands run as printed, files exist, the demo ends with its rows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tamis

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
pytestmark = pytest.mark.packaged


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.S | re.M)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where the README's relative paths mean what they mean in a clone; what is written stays outside."""
    folder = tmp_path_factory.mktemp("readme")
    for name in ("src", "benchmarks", "dataset_scripts", "model_cards"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def run(command: list[str], cwd: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,  # of what waits for a line that never comes
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def after_the_commands(checkout: Path) -> Path:
    """The checkout after every shell command of the README but the `make` lines."""
    for block in blocks("sh"):
        lines = [line for line in block.splitlines() if not line.startswith("make ")]
        stop = "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT"  # what a failed command leaves in the background
        run(["bash", "-euo", "pipefail", "-c", "\n".join([stop, *lines])], checkout)
    return checkout


def test_the_commands_run_as_printed(after_the_commands: Path) -> None:
    made = {path.name for path in (after_the_commands / "run").iterdir()}
    steps = {"index", "scores", "selection", "report", "dataset"}
    more = {"two-sources", "harder", "as-json", "contrast", "repeated", "whole", "thirteen", "anew"}
    chat = {"chat", "redacted", "segments", "surrogates", "private-map.jsonl", "restored", "audit", "risk"}
    assert made == steps | more | chat
    assert not (after_the_commands / "cost").exists(), "a dry run writes nothing"


def test_the_python_of_the_readme_runs(checkout: Path) -> None:
    (block,) = blocks("python")
    assert "num_rows: 18" in run([sys.executable, "-c", block], checkout)
    assert len([line for line in block.splitlines() if line]) <= 10


def test_the_demo_ends_with_the_loaded_rows(after_the_commands: Path) -> None:
    """Over the index that the commands above have made, as a second `make demo` goes over the first one's."""
    out = run([sys.executable, "-m", "tamis.demo", "run"], after_the_commands)
    assert "num_rows: 120" in out.rpartition("load_dataset(")[2]
    for name in ("gradient", "TF-IDF", "answer length", "random"):
        assert re.search(rf"^  {name} +0\.\d\d \[0\.\d\d, [01]\.\d\d\]$", out, re.M), out
    assert re.search(r"office: \d+ of 30 \(\d+\.\d%\)", out)


def test_the_make_targets_exist() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    text = README + (ROOT / "AGENTS.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()
    for target in {*re.findall(r"`?make ([a-z]+)`?", text)} & {*re.findall(r"make ([a-z]+)", text)}:
        if f"`make {target}" in text or f"\nmake {target}" in text:
            assert f"make {target} " in listed, target


@pytest.mark.parametrize("name", ["README.md", "AGENTS.md", "CONTRIBUTING.md", "benchmarks/README.md"])
def test_links_and_files_exist(name: str) -> None:
    text = (ROOT / name).read_text()
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", text):
        assert ((ROOT / name).parent / link).exists(), link


def test_the_tree_in_agents_is_the_tree() -> None:
    tree = (ROOT / "AGENTS.md").read_text().partition("## Tree")[2].partition("```\n")[2].partition("```")[0]
    named = {name for line in tree.splitlines() for name in re.findall(r"^ {2}([\w/., ]+?) {2,}", line)}
    there = {path.name + "/" * path.is_dir() for path in (ROOT / "src" / "tamis").iterdir() if path.name[0] != "_"}
    listed = {part.strip() for name in named for part in name.split(",")}
    assert listed == there - {"errors.py", "py.typed"}


def test_the_versions_agree() -> None:
    assert f'version = "{tamis.__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert f"version: {tamis.__version__}" in (ROOT / "CITATION.cff").read_text()
