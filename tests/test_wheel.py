"""The built wheel, in an empty environment, with only what `pip install tamis` brings."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[1]
CARDS = ("shared", "dataset", "gradients", "model", "metric", "space")


def run(*command: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    return next(folder.glob("tamis-*.whl"))


@pytest.fixture(scope="module")
def bin_folder(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment with the wheel and what it requires, from the wheels that setup fetched."""
    wheels = Path(sys.prefix) / "wheels"
    assert wheels.is_dir(), f"{wheels}: run `make setup`"
    folder = tmp_path_factory.mktemp("empty") / "env"
    run(sys.executable, "-m", "venv", folder)
    run(folder / "bin" / "pip", "install", "--quiet", "--no-index", "--find-links", wheels, wheel)
    return folder / "bin"


def test_the_wheel_holds_the_library_and_its_demo_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {
        "tamis/cli.py",
        "tamis/demo/pool.jsonl",
        "tamis/demo/target.jsonl",
        "tamis/templates/report.html.j2",
        *(f"tamis/hub/templates/{name}.md.j2" for name in CARDS),
    } <= {*names}
    assert all(name.startswith(("tamis/", "tamis-")) for name in names)


def test_the_command_runs_without_any_extra(bin_folder: Path) -> None:
    assert "embed" in run(bin_folder / "tamis", "--help").stdout
    installed = run(bin_folder / "pip", "list").stdout
    assert "torch" not in installed and "transformers" not in installed


def test_a_selection_needs_no_extra(bin_folder: Path, tmp_path: Path) -> None:
    names = ["row_id", "source", "language"]
    table = pa.table(
        {name: [f"{name}{i}" for i in range(10)] for name in names}
        | {"index": list(range(10)), "score": [i / 10 for i in range(10)], "order": list(range(10))}
        | {"rank": [i / 10 for i in range(10)], "flags": [[]] * 10}
    )
    metadata: dict[str, object] = {"orientation": "the highest scores are removed", "digest": "0", "source": {}}
    metadata |= {"index": "1", "target": ["2"], "similarity": "cosine", "aggregate": "mean"}
    pq.write_table(table.replace_schema_metadata({b"tamis": json.dumps(metadata)}), tmp_path / "scores.parquet")
    pq.write_table(pa.table({"row_id": pa.array([], pa.string())}), tmp_path / "excluded.parquet")
    command = (bin_folder / "tamis", "select", "--scores", tmp_path, "--ratio", "0.3")
    assert "3 of 10" in run(*command, "--output_dir", tmp_path / "out").stdout
    assert pq.read_table(tmp_path / "out" / "removed.parquet")["row_id"].to_pylist() == [
        "row_id7",
        "row_id8",
        "row_id9",
    ]


def test_what_needs_an_extra_names_it(bin_folder: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"prompt": "a", "completion": "b"}')
    done = run(bin_folder / "tamis", "embed", "--dataset_name", rows, "--output_dir", tmp_path / "o", check=False)
    assert done.returncode == 2
    assert "pip install 'tamis[attribution]'" in done.stderr and len(done.stderr.splitlines()) == 1
    done = run(
        bin_folder / "tamis", "report", "--selection", tmp_path, "--output_dir", tmp_path / "o", check=False
    )
    assert done.returncode == 2
    assert "pip install 'tamis[report]'" in done.stderr and len(done.stderr.splitlines()) == 1
    done = run(bin_folder / "tamis", "hub", "--root", tmp_path / "o", check=False)
    assert done.returncode == 2
    assert "pip install 'tamis[hub]'" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "o").exists()
