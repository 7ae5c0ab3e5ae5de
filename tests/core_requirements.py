"""Prints what `pip install tamis` requires, one line, for the Makefile to download."""

from __future__ import annotations

import tomllib
from pathlib import Path

if __name__ == "__main__":
    project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())["project"]
    print(" ".join(requirement.replace(" ", "") for requirement in project["dependencies"]))
