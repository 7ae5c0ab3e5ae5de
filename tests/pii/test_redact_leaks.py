"""A run that fails half-way leaves nothing of anybody: in no output, temporary file, cache, log or traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SECRET = "Zebulonia"
RUN = """
import os, resource, sys
sys.path.insert(0, {here!r})
from dataclasses import replace
from stand_in import Words
from tamis.pii.recipe import RedactRecipe
from tamis.pii.redact import redact

class Killer(Words):
    def detect(self, session):
        if session.session_id == "s90":
            os.kill(os.getpid(), 9)
        return super().detect(session)

if __name__ == "__main__":
    way, name, num_proc = sys.argv[1], sys.argv[2], int(sys.argv[3])
    words = {{{secret!r}: "PERSON"}}
    detector = Killer(words) if way == "kill" else Words(words, fails_at="s90" if way == "raise" else "")
    if way == "full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
    operator = dict(operator="surrogate", surrogate_map="map") if way == "full" else dict()
    redact(RedactRecipe(name, "out", num_proc=num_proc, **operator), detector)
"""
PIPELINE = """
import sys
sys.path.insert(0, {here!r})
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.writers import ParquetWriter
from tamis.pii.pipeline import RedactDocuments

def broken(data, rank, world_size):
    for i, document in enumerate(data):
        if i == 90 and sys.argv[1] == "before":
            raise ValueError(document.text)
        yield document

if __name__ == "__main__":
    steps = [ParquetReader("docs"), broken, RedactDocuments(detector="rules"), ParquetWriter("out")]
    LocalPipelineExecutor(steps, logging_dir="logs").run()
"""


def rows(bad_at: int | None = None) -> list[str]:
    said = [
        json.dumps(
            {"session_id": f"s{i}", "messages": [{"content": f"hi my name is {SECRET}, {i} + 1 = {i + 1}"}]}
        )
        for i in range(100)
    ]
    return said if bad_at is None else [*said[:bad_at], said[bad_at][:-5], *said[bad_at:]]


def run(world: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """A script in a world of its own, whose every place for files is in it."""
    places = {name: str(world / name[:2].lower()) for name in ("HOME", "TMPDIR", "HF_HOME", "XDG_CACHE_HOME")}
    for place in places.values():
        Path(place).mkdir(exist_ok=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith("HF_DATASETS")}
    (world / "run.py").write_text(code.format(here=str(Path(__file__).parent), secret=SECRET))
    return subprocess.run(
        [sys.executable, "run.py", *arguments], cwd=world, env={**env, **places}, capture_output=True, check=False
    )


def assert_nothing_of_anybody(world: Path, done: subprocess.CompletedProcess[bytes], *named: str) -> None:
    """Looks at all that was written and said, but for the files that were named as the place of originals."""
    kept = {"run.py", *named}
    files = [path for path in world.rglob("*") if path.is_file() and path.relative_to(world).parts[0] not in kept]
    texts = {"stdout": done.stdout, "stderr": done.stderr, **{str(path): path.read_bytes() for path in files}}
    assert not [name for name, text in texts.items() if SECRET.lower().encode() in text.lower()]


@pytest.mark.parametrize(
    ("way", "num_proc"),
    [("raise", "1"), ("raise", "2"), ("kill", "1"), ("kill", "2"), ("full", "1"), ("row", "1")],
)
def test_a_run_that_fails_leaves_nothing(tmp_path: Path, way: str, num_proc: str) -> None:
    (tmp_path / "in.jsonl").write_text("\n".join(rows(90 if way == "row" else None)) + "\n")
    done = run(tmp_path, RUN, way, "in.jsonl", num_proc)
    assert done.returncode != 0
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {name for name in written if way != "kill" or not name.endswith(".partial")} == {"run.yaml"}
    assert_nothing_of_anybody(tmp_path, done, "in.jsonl", "map", ".map.partial")
    assert not (tmp_path / "map").exists() and not (tmp_path / ".map.partial").exists()


def test_a_folder_that_datasets_reads_leaves_nothing_in_its_cache(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"text": [f"hi {SECRET}"] * 50}), tmp_path / "in" / "train.parquet")
    done = run(tmp_path, RUN, "none", "in", "1")
    assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / "out" / "redacted.parquet").is_file()
    assert_nothing_of_anybody(tmp_path, done, "in")


@pytest.mark.parametrize("way", ["before", "rows"])
def test_a_failed_task_logs_nothing(tmp_path: Path, way: str) -> None:
    """datatrove logs a traceback with all its values. (A socket lies under TMPDIR: its path has to be short.)"""
    (tmp_path / "docs").mkdir()
    ids = [str(min(i, 89) if way == "rows" else i) for i in range(100)]
    pq.write_table(
        pa.table({"id": ids, "text": [f"hi my name is {SECRET}"] * 100}), tmp_path / "docs" / "a.parquet"
    )
    done = run(tmp_path, PIPELINE, way)
    assert done.returncode != 0
    logs = "".join(path.read_text() for path in (tmp_path / "logs").rglob("*") if path.is_file())
    assert ("a step before the redaction failed: ValueError" if way == "before" else "its id stands twice") in logs
    assert_nothing_of_anybody(tmp_path, done, "docs")
