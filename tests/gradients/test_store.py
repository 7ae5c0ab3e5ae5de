"""Two writers, a lock that dies with its process, and memory that does not grow with the rows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tiny
from pools import chat, contents, write
from tamis import cli
from tamis.errors import UsageError
from tamis.gradients.store import IndexWriter

HOLD = """
import sys, time
from pathlib import Path
from tamis.gradients.store import IndexWriter
writer = IndexWriter(Path(sys.argv[1]), {"data": {}}, {})
print("held", flush=True)
time.sleep(60)
"""
GROW = """
import resource, sys
from pathlib import Path
import numpy as np
from tamis.gradients.shard import EmbeddedRow, Part
from tamis.gradients.store import IndexWriter

def anonymous():
    return int(Path("/proc/self/status").read_text().partition("RssAnon:")[2].split()[0]) // 1024

def make(folder, shards, rows=1000):
    u = np.ones((rows, 1, 2), np.float16)
    parts = [Part(i, range(i * rows, (i + 1) * rows), str(i)) for i in range(shards)]
    with IndexWriter(Path(folder), {"data": {}, "gradient": {}}, {}) as writer:
        for part in parts:
            known = [EmbeddedRow(f"row {i}", i, "s", "en", 9, 4, [], 1.0, 0.9, 1.5, str(i)) for i in part.rows]
            writer.write(part, u, u, known, [])
        before = anonymous()
        assert len(writer.finish(parts)) == shards * rows
    return before

make(sys.argv[1] + "-warm", 2)
before = make(sys.argv[1], int(sys.argv[2]))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(before, peak)
"""


def arguments(folder: Path) -> list[str]:
    """Of an `embed` of ten rows into the folder's `index`."""
    write(folder / "pool.jsonl", [chat(i) for i in range(10)])
    flags = {
        "dataset_name": "pool.jsonl",
        "output_dir": "index",
        "model_name_or_path": tiny.saved(folder / "model"),
    }
    flags |= {"last_k": "2", "proj_dim": "8", "max_length": "64", "shard_rows": "4"}
    return ["embed", *(part for name, value in flags.items() for part in (f"--{name}", value))]


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], cwd=cwd, capture_output=True, text=True, check=False)


def test_two_writers_in_two_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is refused while the first lives; where the first is killed, the next goes on."""
    index = tmp_path / "index"
    command = [sys.executable, "-m", "tamis.cli", *arguments(tmp_path)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as first:
        while not (index / "manifest.json").exists() and first.poll() is None:
            time.sleep(0.001)
        os.kill(first.pid, signal.SIGSTOP)
        before = contents(index)
        second = run(*command[1:], cwd=tmp_path)
        assert contents(index) == before
        os.kill(first.pid, signal.SIGCONT)
        assert first.wait() == 0
    assert second.returncode == 2 and second.stderr.count("\n") == 1
    assert "index: another process is writing there" in second.stderr
    monkeypatch.chdir(tmp_path)
    assert cli.main([*command[3:], "--output_dir", "other"]) == 0
    assert contents(index) == contents(tmp_path / "other")
    assert not (index / ".lock").exists()


def test_a_lock_dies_with_its_process(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(UsageError, match="another process is writing there"):
            IndexWriter(folder, {"data": {}}, {})
        holder.kill()
    assert (folder / ".lock").exists()
    with IndexWriter(folder, {"data": {}}, {}):
        pass
    assert not (folder / ".lock").exists()


def test_writers_that_join_share_the_folder_with_nobody_else(tmp_path: Path) -> None:
    with IndexWriter(tmp_path, {"data": {}}, {}) as first:
        with pytest.raises(UsageError, match="another process"):
            IndexWriter(tmp_path, {"data": {}}, {}, join=True)
        first.share()
        with IndexWriter(tmp_path, {"data": {}}, {}, join=True):
            pass
        with pytest.raises(UsageError, match="another process"):
            IndexWriter(tmp_path, {"data": {}}, {})
        manifest = json.loads((tmp_path / "manifest.json").read_text())
        assert manifest["complete"] is False


def test_a_refused_call_leaves_nothing(tmp_path: Path) -> None:
    with IndexWriter(tmp_path, {"data": {}}, {}):
        pass
    before = contents(tmp_path)
    with pytest.raises(UsageError, match="another recipe"):
        IndexWriter(tmp_path, {"data": {}, "seed": 1}, {})
    assert contents(tmp_path) == before


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux says what is anonymous memory")
def test_finishing_takes_no_memory_that_grows_with_the_rows(tmp_path: Path) -> None:
    """As Python dicts, 200,000 rows are more than 200 MB."""
    grown = {}
    for shards in (20, 200):
        done = run("-c", GROW, str(tmp_path / str(shards)), str(shards), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        before, peak = map(int, done.stdout.split())
        grown[shards] = peak - before
    assert grown[200] - grown[20] < 60, grown
