"""The library imports no other folder, no folder imports another, and nothing grows past what one can read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("dataset_scripts", "training", "evaluation", "model_cards", "spaces", "benchmarks")
SOURCES = sorted((ROOT / "src" / "tamis").rglob("*.py"))
SCRIPTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
LIMITS = {"src": 350, "benchmarks": 200, "training": 200, "dataset_scripts": 200, "evaluation": 200, "spaces": 250}


def imported(path: Path) -> Iterator[str]:
    """The first name of every absolute import, wherever it stands in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield (node.module or "").partition(".")[0]


def test_there_is_something_to_look_at() -> None:
    assert len(SOURCES) > 15 and SCRIPTS


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_library_imports_no_other_folder(path: Path) -> None:
    assert not {*imported(path)} & {*FOLDERS, "tests", "tiny"}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_folder_imports_the_library_and_no_other_folder(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0]
    assert not {*imported(path)} & ({*FOLDERS, "tests", "tiny"} - {own})


@pytest.mark.parametrize("path", [*SOURCES, *SCRIPTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_runs_at_import_and_nothing_is_too_long(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= LIMITS[path.relative_to(ROOT).parts[0]]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = (node.end_lineno or 0) - node.body[
                ast.get_docstring(node) is not None and len(node.body) > 1
            ].lineno
            assert body < 50, f"{path.name}: {node.name} has {body + 1} lines"


@pytest.mark.parametrize("path", [*SOURCES, *SCRIPTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_the_file_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))
    assert "from __future__ import annotations" in path.read_text() or len(path.read_text().splitlines()) < 3
