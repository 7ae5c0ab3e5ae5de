"""A full disk, a folder that cannot be written, torn, swapped and edited shards: one sentence, nothing damaged."""

from __future__ import annotations

import multiprocessing
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pools import chat, contents, write
from tamis import cli
from tamis.rows import read_rows


@pytest.fixture
def arguments(tmp_path: Path, model: str) -> list[str]:
    """Of an `embed` into the folder `index`."""
    write(tmp_path / "pool.jsonl", [chat(i) for i in range(12)])
    flags = {
        "dataset_name": tmp_path / "pool.jsonl",
        "output_dir": tmp_path / "index",
        "model_name_or_path": model,
    }
    flags |= {"last_k": 2, "proj_dim": 8, "max_length": 64, "shard_rows": 4}
    return ["embed", *(part for name, value in flags.items() for part in (f"--{name}", str(value)))]


def refused(code: int, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence of a command that ends with this code."""
    capsys.readouterr()
    assert cli.main(arguments) == code
    lines = [line for line in capsys.readouterr().err.splitlines() if "already there" not in line]
    assert len(lines) == 1 and re.fullmatch(r"tamis: .+", lines[0]), lines
    return lines[0]


def _limited(arguments: list[str], size: int, said: int) -> None:
    read_rows(arguments[2])  # `datasets` has a cache of its own, which this is not about
    sys.stderr = os.fdopen(said, "w")
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    sys.exit(cli.main(arguments))


@pytest.mark.parametrize("size", [0, 1000, 3000])
def test_a_file_that_finds_no_room(size: int, arguments: list[str], tmp_path: Path) -> None:
    """The kernel limits the size of a file: run.yaml, the manifest or a shard is in its way."""
    read, said_to = os.pipe()
    child = multiprocessing.get_context("fork").Process(target=_limited, args=(arguments, size, said_to))
    child.start()
    os.close(said_to)
    with os.fdopen(read) as stream:
        said = stream.read().splitlines()
    child.join()
    assert child.exitcode == 1, said
    assert len(said) == 1 and "could not be written (File too large)" in said[0] and "index/" in said[0], said
    assert not [*(tmp_path / "index").rglob("*.partial")]
    assert cli.main(arguments) == 0
    after = contents(tmp_path / "index")
    other = [*arguments, "--output_dir", str(tmp_path / "other")]
    assert cli.main(other) == 0
    assert contents(tmp_path / "other") == after


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=28k", "none", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(
    small_disk: Path, arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    full = [*arguments, "--output_dir", str(small_disk / "index")]
    first = refused(1, full, capsys)
    assert "No space left on device" in first and "goes on from there" in first
    assert not [*small_disk.rglob("*.partial")]
    there = len([*small_disk.rglob("shard-*")])
    assert "No space left on device" in refused(1, full, capsys)
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    capsys.readouterr()
    assert cli.main(full) == 0
    assert capsys.readouterr().err.count("already there") == there
    assert cli.main(arguments) == 0
    assert contents(small_disk / "index") == contents(tmp_path / "index")


def test_a_folder_that_cannot_be_written(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("a file")
    for folder in (tmp_path / "file" / "index", Path("/proc/index"), tmp_path / "file"):
        assert str(folder) in refused(2, [*arguments, "--output_dir", str(folder)], capsys)
    assert (tmp_path / "file").read_text() == "a file"


def test_a_disk_that_is_read_only(
    small_disk: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (small_disk / "empty").mkdir()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for name in ("empty", "new"):
        said = refused(2, [*arguments, "--output_dir", str(small_disk / name)], capsys)
        assert str(small_disk / name) in said and "Read-only" in said


def _torn(folder: Path) -> str:
    shard = folder / "shard-00001.safetensors"
    shard.write_bytes(shard.read_bytes()[:-7])
    return "torn"


def _emptied(folder: Path) -> str:
    (folder / "shard-00001.safetensors").write_bytes(b"")
    return "torn"


def _edited(folder: Path) -> str:
    shard = folder / "shard-00001.safetensors"
    content = bytearray(shard.read_bytes())
    content[-5] ^= 64
    shard.write_bytes(content)
    return "altered"


def _swapped(folder: Path) -> str:
    one, two = folder / "shard-00001.safetensors", folder / "shard-00002.safetensors"
    content = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(content)
    return "another"


@pytest.mark.parametrize("damage", [_torn, _emptied, _edited, _swapped])
def test_a_damaged_shard(
    damage: object, arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "index"
    assert cli.main(arguments) == 0
    before = contents(folder)
    word = damage(folder)  # type: ignore[operator]
    damaged = contents(folder)
    said = refused(1, arguments, capsys)
    assert (
        "shard-00001.safetensors" in said and word in said and "remove it and run the same command again" in said
    )
    assert contents(folder) == damaged
    for shard in folder.glob("shard-*"):
        if damaged[shard.name] != before[shard.name]:
            shard.unlink()
    assert cli.main(arguments) == 0
    assert contents(folder) == before
