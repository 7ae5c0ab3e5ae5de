"""The benchmarks run as shown, and the tables are what their results say."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

from tamis.gradients.store import GradientIndex

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_the_tables_are_fresh() -> None:
    text = (BENCHMARKS / "README.md").read_text()
    assert runpy.run_path(str(BENCHMARKS / "tables.py"))["rendered"](text) == text
    measured = json.loads((BENCHMARKS / "results" / "embed.json").read_text())
    assert f"| {measured['ratio_to_forward']} |" in text and f"| {measured['bytes_per_row']} |" in text
    measured = json.loads((BENCHMARKS / "results" / "score.json").read_text())
    assert measured["rows"] == 939343 and f"| {measured['cpu_seconds']} |" in text


def test_embed_prints_one_object_with_its_figures() -> None:
    """A fraction of the rows: the figures are there and possible; how fast it is belongs to `make bench`."""
    command = [sys.executable, BENCHMARKS / "embed.py", "--format", "json", "--repeats", "1", "--rows", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    assert result["bytes_per_row"] == 28 * 2 * 32 * 2
    assert 22e6 < result["parameters"] < 23e6
    assert result["ratio_to_forward"] > 1 and result["ratio_to_forward_all"] > 1
    assert result["rows_per_cpu_second"] > 0 and result["peak_rss_mb"] > 100


def test_score_prints_one_object_with_its_figures_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, BENCHMARKS / "score.py", "--format", "json", "--rows", "1203"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    result = json.loads(done.stdout)
    assert (result["rows"], result["removed"]) == (1203, 240)
    for name in ("seconds", "rank_seconds", "write_seconds", "select_ms", "peak_rss_mb"):
        assert result[name] >= 0, name
    assert result["peak_rss_all_mb"] >= result["peak_rss_mb"]
    assert not list(tmp_path.iterdir())


def test_a_work_dir_keeps_the_index(tmp_path: Path) -> None:
    command = [sys.executable, BENCHMARKS / "score.py", "--rows", "600", "--work_dir", tmp_path]
    subprocess.run(command, capture_output=True, check=True)
    assert len(GradientIndex(tmp_path / "pool")) == 600
