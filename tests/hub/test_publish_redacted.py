"""A redacted folder is published once all of its text was looked at, and its run's own files never are."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from commands import Commands

from tamis.hub.front_matter import join

NAMES = itertools.count()
CONFIG = {"config_name": "default", "data_files": [{"split": "train", "path": ["redacted.parquet"]}]}
KEY = "0123456789abcdef"
RULES = ("--detector", "rules")


@pytest.fixture
def repo() -> str:
    return f"local/redacted-{next(NAMES)}"


def redacted(commands: Commands, tmp_path: Path, *flags: str) -> Path:
    """A redacted folder with a card."""
    rows = pa.table({"text": ["hi my name is jamal"], "title": ["jamal's homework"]})
    pq.write_table(rows, tmp_path / "in.parquet")
    (tmp_path / "key").write_text(KEY)
    folder = tmp_path / "out"
    commands.done("redact", "--dataset_name", tmp_path / "in.parquet", "--output_dir", folder, *RULES, *flags)
    (folder / "README.md").write_text(
        join({"license": "mit", "tags": ["tamis"], "configs": [CONFIG]}, "# Chats\n")
    )
    return folder


def test_text_that_was_not_scanned_stops_a_release_until_it_is_named(
    commands: Commands, repo: str, tmp_path: Path
) -> None:
    folder = redacted(commands, tmp_path)
    said = commands.refused(2, "publish", folder, "--repo_id", repo)
    assert "columns not scanned: title; name each in --scan_columns, --drop_columns or --keep_columns" in said
    folder = redacted(commands, tmp_path, "--scan_columns", "title")
    done = commands.done("publish", folder, "--repo_id", repo)
    assert {"redacted.parquet", "spans.jsonl", "offsets.jsonl"} <= {*done["sent"]} and "run.yaml" not in done[
        "files"
    ]


def test_what_was_not_redacted_stops_a_release(commands: Commands, repo: str, tmp_path: Path) -> None:
    folder = redacted(commands, tmp_path, "--operator", "keep", "--keep_columns", "title")
    assert "nothing in it was redacted" in commands.refused(2, "publish", folder, "--repo_id", repo)


def test_a_redaction_that_did_not_end_stops_a_release(commands: Commands, repo: str, tmp_path: Path) -> None:
    folder = redacted(commands, tmp_path, "--keep_columns", "title")
    run = yaml.safe_load((folder / "run.yaml").read_text())
    del run["provenance"]["unscanned"]  # as a killed run leaves it
    (folder / "run.yaml").write_text(yaml.dump(run))
    assert "its redaction did not end" in commands.refused(2, "publish", folder, "--repo_id", repo)


def test_restored_text_stops_a_release_wherever_it_lies(commands: Commands, repo: str, tmp_path: Path) -> None:
    key = ("--key_file", str(tmp_path / "key"))
    folder = redacted(commands, tmp_path, "--operator", "encrypt", "--keep_columns", "title", *key)
    commands.done("restore", "--dataset_name", folder, "--output_dir", folder / "back", *key)
    assert "holds personal data that was restored" in commands.refused(2, "publish", folder, "--repo_id", repo)


def test_a_data_set_on_the_hub_is_streamed_and_leaves_nothing_in_a_cache(
    commands: Commands, repo: str, tmp_path: Path
) -> None:
    folder = tmp_path / "private"
    folder.mkdir()
    pq.write_table(pa.table({"text": ["hi my name is zebulonia", "3 + 4 = 7"]}), folder / "redacted.parquet")
    (folder / "README.md").write_text(
        join({"license": "mit", "tags": ["tamis"], "configs": [CONFIG]}, "# Chats\n")
    )
    commands.done("publish", folder, "--repo_id", repo)
    done = commands.done("redact", "--dataset_name", repo, "--output_dir", tmp_path / "out", *RULES)
    assert pq.read_table(done["file"])["text"].to_pylist() == ["hi my name is <PERSON>", "3 + 4 = 7"]
    kept = [path for path in commands.home.rglob("*") if path.is_file() and b"zebulonia" in path.read_bytes()]
    assert kept == []
    said = commands.refused(2, "redact", "--dataset_name", f"{repo}-none", "--output_dir", tmp_path / "none")
    assert f"{repo}-none: cannot be read" in said
