"""A file that is read by ranges gives the bytes that were asked for, and its end is fetched once."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from tamis.errors import UsageError
from tamis.hub.ranges import FolderFiles, Ranged

CONTENT = random.Random(0).randbytes(5000)


@pytest.fixture
def files(tmp_path: Path) -> FolderFiles:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.bin").write_bytes(CONTENT)
    return FolderFiles(str(tmp_path))


@pytest.mark.parametrize("tail", [0, 1, 100, 4999, 5000])
def test_reads_are_those_of_the_file(files: FolderFiles, tail: int) -> None:
    chance, file, real = random.Random(tail), Ranged(files, "data/a.bin", len(CONTENT)), io.BytesIO(CONTENT)
    file.seek(-tail, io.SEEK_END)
    assert file.read() == CONTENT[len(CONTENT) - tail :]
    for _ in range(300):
        offset, size = chance.randrange(5100), chance.choice([-1, 0, 1, chance.randrange(5100)])
        assert file.seek(offset) == real.seek(offset)
        assert file.read(size) == real.read(size) and file.tell() == real.tell()
        assert file.seek(0, io.SEEK_CUR) == real.tell() and file.seek(-3, io.SEEK_END) == real.seek(
            -3, io.SEEK_END
        )


def test_nothing_else_is_fetched_and_the_end_once(files: FolderFiles) -> None:
    file = Ranged(files, "data/a.bin", len(CONTENT))
    for start, size, fetched in ((4000, 1000, 1000), (4500, 100, 1000), (3900, 300, 1100), (0, 10, 1110)):
        file.seek(start)
        assert file.read(size) == CONTENT[start : start + size] and files.fetched == fetched


@pytest.mark.parametrize(
    "path", ["data/b.bin", "data", "", "../x/data/a.bin", "/etc/passwd", "data/../data/a.bin"]
)
def test_only_files_inside_are_there(files: FolderFiles, path: str) -> None:
    with pytest.raises(UsageError, match="there is no"):
        files.sizes([path])
