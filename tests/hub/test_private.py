"""A file with text of people for review is never uploaded, whatever it is called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Commands

from clients import call
from tamis.hub.front_matter import join
from tamis.hub.loopback.process import LoopbackHub
from tamis.pii.private import write_private


@pytest.mark.parametrize("name", ["review.jsonl", "data/notes.txt", "sample.json"])
def test_a_review_file_is_never_published(name: str, hub: LoopbackHub, commands: Commands, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / name).parent.mkdir(parents=True)
    (folder / "README.md").write_text(join({"license": "mit", "tags": ["tamis"]}, "# It\n"))
    write_private(folder / name, [{"text": "y" * (2 << 20)}, {"text": "emma"}])
    if name.endswith(".json"):  # an editor wrote it anew
        rows = [json.loads(line) for line in (folder / name).read_text().splitlines()]
        (folder / name).write_text(json.dumps(rows, indent=2))
    said = commands.refused(2, "publish", folder, "--repo_id", "local/reviewed")
    assert name in said and "never uploaded" in said and "emma" not in said
    assert call(hub, "GET", "/api/datasets/local/reviewed").status == 404
