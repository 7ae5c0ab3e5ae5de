"""Invented sessions to a data set on a Hub, by the two builders as a person calls them; the recipes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from clients import call, run_client, shown
from tamis.hub.loopback.process import LoopbackHub

SCRIPTS = Path(__file__).parents[2] / "dataset_scripts"
sys.path.insert(0, str(SCRIPTS))

import build_mathed_pii  # noqa: E402
import build_mathed_pii_synthetic  # noqa: E402


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sessions")
    assert build_mathed_pii_synthetic.main(["--output_dir", str(folder), "--sessions", "40"]) == 0
    return folder / "sessions.jsonl"


def test_the_published_recipe_is_one_of_the_builder() -> None:
    given = yaml.safe_load((SCRIPTS / "recipes" / "mathed-pii-synthetic.yaml").read_text())
    recipe = build_mathed_pii.BuildRecipe(**given)
    assert {*given} < {field.name for field in fields(recipe)}
    assert (SCRIPTS.parent / str(recipe.card)).is_file()


def test_sessions_are_written_the_same_each_time_and_hold_what_is_reported(
    sessions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--output_dir", str(tmp_path), "--sessions", "40", "--format", "json"]
    assert build_mathed_pii_synthetic.main(words) == 0
    report = json.loads(capsys.readouterr().out)
    assert (tmp_path / "sessions.jsonl").read_bytes() == sessions.read_bytes()
    rows = [json.loads(line) for line in sessions.read_text().splitlines()]
    assert len(rows) == 40 and report["messages"] == sum(len(row["messages"]) for row in rows)
    assert report["spans"] == sum(len(message["spans"]) for row in rows for message in row["messages"])


def test_wrong_calls_are_told_in_a_sentence(sessions: Path, tmp_path: Path) -> None:
    for script, words, said in (
        ("build_mathed_pii_synthetic.py", ["--density", "2"], "density"),
        ("build_mathed_pii_synthetic.py", ["--sessions", "0"], "--sessions 0"),
        ("build_mathed_pii_synthetic.py", ["--templates", "some"], "templates"),
        ("build_mathed_pii.py", ["--push_to_hub"], "--repo_id"),
    ):
        line = [sys.executable, str(SCRIPTS / script), "--output_dir", str(tmp_path / "x"), *words]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and said in done.stderr, done.stderr


def test_from_sessions_to_a_hub_and_back(hub: LoopbackHub, sessions: Path, tmp_path: Path) -> None:
    given = {
        "dataset_name": str(sessions),
        "output_dir": str(tmp_path / "made"),
        "encoder": "none",
        "card": str(SCRIPTS.parent / "model_cards" / "MathEd-PII-synthetic-tamis" / "card.yaml"),
        "tag": "v1",
    }
    words = [word for name, value in given.items() for word in (f"--{name}", value)]

    def build(repo_id: str) -> str:
        return f"""
            import sys
            sys.path.insert(0, {str(SCRIPTS)!r})
            import build_mathed_pii
            words = [*{words!r}, "--repo_id", {repo_id!r}, "--push_to_hub", "--format", "json"]
            raise SystemExit(build_mathed_pii.main(words))
        """

    refused = run_client(hub, build("builders/MathEd-PII"), tmp_path / "home", check=False)
    assert refused.returncode == 2 and "has to have `synthetic` in it" in refused.stderr
    name = "builders/pii-synthetic"
    report = json.loads(run_client(hub, build(name), tmp_path / "home").stdout.splitlines()[-1])
    assert report["published"].startswith(f"{name} at ")
    info = call(hub, "GET", f"/api/datasets/{name}").json()
    assert info["private"]
    assert [tag["name"] for tag in call(hub, "GET", f"/api/datasets/{name}/refs").json()["tags"]] == ["v1"]
    read = f"""
        from datasets import load_dataset
        from tamis.pii.reading import read_sessions
        configs = "full", "maths", "non_maths", "token_classification", "surrogate"
        found = {{name: load_dataset({name!r}, name) for name in configs}}
        show({{
            "rows": {{name: {{split: one.num_rows for split, one in of.items()}} for name, of in found.items()}},
            "spans": sum(len(m["spans"]) for of in found["full"].values() for row in of for m in row["messages"]),
            "read": sum(1 for _ in read_sessions({name!r}, config="full", split="train")),
        }})
    """
    back: dict[str, Any] = shown(run_client(hub, read, tmp_path / "reader"))
    assert {config: sum(of.values()) for config, of in back["rows"].items()} == report["configs"]
    assert {*back["rows"]["full"]} == {"train", "validation", "test"}
    assert back["read"] == back["rows"]["full"]["train"]
    rows = [json.loads(line) for line in sessions.read_text().splitlines()]
    assert back["spans"] == sum(len(message["spans"]) for row in rows for message in row["messages"])
    listed = call(hub, "GET", f"/api/datasets/{name}/tree/main?recursive=true").json()
    assert "eval.yaml" in {one["path"] for one in listed}
