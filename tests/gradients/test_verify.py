"""`tamis verify`: an index that is whole is said to be; whatever was done to a file of it, the file is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file

import pools
from pools import contents
from tamis import cli
from tamis.gradients import shard as shards
from tamis.gradients.store import GradientIndex

SHARD = "shard-00001.safetensors"


@pytest.fixture
def index(tmp_path: Path) -> GradientIndex:
    """Twelve rows, two of them excluded, in three shards."""
    draw = np.random.default_rng(0).normal(size=(2, 12, 3, 4))
    u, v = (side / np.linalg.norm(side, axis=-1, keepdims=True) / 3**0.25 for side in draw)
    return pools.index(tmp_path / "index", u, v, excluded=[3, 11], shard_rows=5)


def said(code: int, *arguments: str | Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.main(["verify", *map(str, arguments)]) == code
    printed = capsys.readouterr()
    assert code == 0 or (printed.out == "" and printed.err.count("\n") == 1)
    return printed.out + printed.err


def test_a_whole_index(index: GradientIndex, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(index.folder)
    found = json.loads(said(0, index.folder, "--format", "json", capsys=capsys))
    assert (found["shards"], found["rows"], found["excluded"]) == (3, 10, 2)
    assert found["bytes"] == sum(path.stat().st_size for path in index.folder.glob("shard-*"))
    assert found["digest"] == index.manifest["digest"]
    assert "every byte" in said(0, "--index", index.folder, capsys=capsys)
    assert contents(index.folder) == before


def test_no_index_and_no_finished_index_are_exit_2(
    index: GradientIndex, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "not a gradient index" in said(2, tmp_path / "nowhere", capsys=capsys)
    assert not (tmp_path / "nowhere").exists()
    assert "required" in said(2, capsys=capsys)
    _manifest(index.folder, complete=False)
    assert "not finished" in said(2, index.folder, capsys=capsys)


def _manifest(folder: Path, **changes: Any) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _flip(name: str, place: int) -> Callable[[Path], None]:
    def flip(folder: Path) -> None:
        content = bytearray((folder / name).read_bytes())
        content[place] ^= 1
        (folder / name).write_bytes(content)

    return flip


def _cut(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-3]) and None


def _swap(folder: Path) -> None:
    (folder / "shard-00000.safetensors").rename(folder / "x")
    (folder / SHARD).rename(folder / "shard-00000.safetensors")
    (folder / "x").rename(folder / SHARD)


def _rewritten(change: Callable[[dict[str, Any], dict[str, np.ndarray]], object]) -> Callable[[Path], None]:
    """Somebody who also writes the new checksum into the manifest."""

    def rewrite(folder: Path) -> None:
        header, tensors = shards.read_header(folder / SHARD), load_file(folder / SHARD)
        change(header, tensors)
        known = [shards.EmbeddedRow(**row) for row in header["rows"]]
        out = [shards.ExcludedRow(**row) for row in header["excluded"]]
        (folder / SHARD).write_bytes(shards.encode(header["digest"], tensors["u"], tensors["v"], known, out))
        files = json.loads((folder / "manifest.json").read_text())["shards"]
        _manifest(folder, shards={**files, SHARD: {"rows": 5, "sha256": shards.sha256(folder / SHARD)}})

    return rewrite


def _nan(_: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
    tensors["u"][2, 0, 0] = np.nan


def _edit_rows(folder: Path) -> None:
    table = pq.read_table(folder / "rows.parquet").to_pylist()
    table[4]["norm"] = 2.0
    pq.write_table(pa.Table.from_pylist(table, shards.ROWS_SCHEMA), folder / "rows.parquet")


def _short_rows(folder: Path) -> None:
    pq.write_table(pq.read_table(folder / "rows.parquet").slice(0, 9), folder / "rows.parquet")


DAMAGE: list[tuple[Callable[[Path], object], str, str]] = [
    (_flip(SHARD, -1), SHARD, "altered"),
    (_flip(SHARD, 200), SHARD, ""),
    (_flip("shard-00002.safetensors", 9), "shard-00002.safetensors", ""),
    (_cut(SHARD), SHARD, "torn"),
    (lambda folder: (folder / SHARD).unlink(), SHARD, "torn"),
    (lambda folder: (folder / SHARD).write_bytes(b""), SHARD, "torn"),
    (_swap, "shard-00000.safetensors", "altered"),
    (_rewritten(_nan), SHARD, "row 7 has the norm nan, not 1"),
    (_rewritten(lambda _, tensors: tensors.update(u=tensors["u"] * 2)), SHARD, "has the norm 2.0"),
    (_rewritten(lambda _, tensors: tensors.update(u=tensors["u"][:, :2])), SHARD, "(5, 3, 4) float16"),
    (_rewritten(lambda header, _: header["rows"][0].update(index=6)), SHARD, "each exactly once"),
    (_rewritten(lambda header, _: header["rows"][0].update(loss=9.0)), "rows.parquet", "row 5"),
    (_edit_rows, "rows.parquet", "line 4"),
    (_short_rows, "rows.parquet", "line 9"),
    (_cut("rows.parquet"), "rows.parquet", "cannot be read"),
    (lambda folder: (folder / "excluded.parquet").unlink(), "excluded.parquet", "cannot be read"),
    (lambda folder: _manifest(folder, digest="0" * 12), "manifest.json", "digest"),
    (lambda folder: (folder / "shard-00003.safetensors").write_bytes(b""), "shard-00003", "does not belong"),
    (lambda folder: (folder / ".rows.parquet.partial").write_bytes(b""), ".partial", "does not belong"),
]


@pytest.mark.parametrize("case", range(len(DAMAGE)))
def test_damage_is_named(case: int, index: GradientIndex, capsys: pytest.CaptureFixture[str]) -> None:
    damage, name, word = DAMAGE[case]
    damage(index.folder)
    before = contents(index.folder)
    line = said(1, index.folder, capsys=capsys)
    assert name in line and word in line
    assert contents(index.folder) == before
