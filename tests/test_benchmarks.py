"""The benchmarks run as shown, and the tables are what their results say."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_the_tables_are_fresh() -> None:
    text = (BENCHMARKS / "README.md").read_text()
    assert runpy.run_path(str(BENCHMARKS / "tables.py"))["rendered"](text) == text
    measured = json.loads((BENCHMARKS / "results" / "embed.json").read_text())
    assert f"| {measured['ratio_to_forward']} |" in text and f"| {measured['bytes_per_row']} |" in text


def test_embed_prints_one_object_with_its_figures() -> None:
    """A fraction of the rows: the figures are there and possible; how fast it is belongs to `make bench`."""
    command = [sys.executable, BENCHMARKS / "embed.py", "--format", "json", "--repeats", "1", "--rows", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    assert result["bytes_per_row"] == 28 * 2 * 32 * 2
    assert 22e6 < result["parameters"] < 23e6
    assert result["ratio_to_forward"] > 1 and result["ratio_to_forward_all"] > 1
    assert result["rows_per_cpu_second"] > 0 and result["peak_rss_mb"] > 100
