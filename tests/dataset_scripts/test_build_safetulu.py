"""The builder from rows on a Hub to a data set on a Hub; SafeRLHF's rule; the recipes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

import pools
import tiny
from clients import call, run_client, shown
from tamis.hub.loopback.process import LoopbackHub

SCRIPTS = Path(__file__).parents[2] / "dataset_scripts"
sys.path.insert(0, str(SCRIPTS))

import build_safetulu  # noqa: E402
import safe_rlhf  # noqa: E402


def pair(prompt: str, *answers: tuple[str, bool, str | None]) -> dict[str, Any]:
    row: dict[str, Any] = {"prompt": prompt}
    for k, (text, safe, harm) in enumerate(answers):
        harms = {name: name == harm for name in ("Privacy Violation", "Violence")}
        row |= {f"response_{k}": text, f"is_response_{k}_safe": safe, f"response_{k}_harm_category": harms}
    return row


ROWS = [
    pair("how?", ("so", False, "Violence"), ("no", True, None)),
    pair("how?", ("so", False, "Violence"), ("thus", False, "Privacy Violation")),
    pair("who?", ("me", True, None), ("you", True, None)),
    pair("where?", ("there", False, "Privacy Violation"), ("nowhere", True, None)),
]


def test_each_unsafe_response_is_taken_once() -> None:
    found = [(row["prompt"], row["response"], row["source"]) for row in safe_rlhf.responses(ROWS, safe=False)]
    assert found == [
        ("how?", "so", "Violence"),
        ("how?", "thus", "Privacy Violation"),
        ("where?", "there", "Privacy Violation"),
    ]
    some = safe_rlhf.responses(ROWS, safe=False, categories=["Privacy Violation"])
    assert [row["response"] for row in some] == ["thus", "there"]
    safe = safe_rlhf.responses(ROWS, safe=True)
    assert [row["response"] for row in safe] == ["no", "me", "you", "nowhere"]
    without = {k: v for k, v in ROWS[0].items() if "category" not in k}
    assert [row["source"] for row in safe_rlhf.responses([without], safe=False)] == ["unsafe"]


@pytest.mark.parametrize("path", sorted((SCRIPTS / "recipes").glob("safetulu*.yaml")), ids=lambda path: path.stem)
def test_a_published_recipe_is_one_of_the_builder(path: Path) -> None:
    given = yaml.safe_load(path.read_text())
    recipe = build_safetulu.BuildRecipe(output_dir="somewhere", **given)
    assert {*given} < {field.name for field in fields(recipe)}
    for name in ("card", "gradients_card"):
        assert (SCRIPTS.parent / getattr(recipe, name)).is_file()


def test_the_help_and_a_wrong_call() -> None:
    script = [sys.executable, str(SCRIPTS / "build_safetulu.py")]
    shown_help = subprocess.run([*script, "--help"], capture_output=True, text=True, check=True)
    assert "--leave_out_removed" in shown_help.stdout
    wrong = subprocess.run(
        [*script, "--output_dir", "x", "--colour", "red"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1 and "--colour" in wrong.stderr


def test_from_a_hub_to_a_hub(hub: LoopbackHub, tmp_path: Path) -> None:
    """Pool, model and target set are read from a Hub; the data set and its index go to one."""
    home = tmp_path / "home"
    tiny.saved(tmp_path / "model")
    (tmp_path / "pool").mkdir()
    pools.write(tmp_path / "pool" / "train.jsonl", pools.records(24))
    (tmp_path / "safe").mkdir()
    pools.write(tmp_path / "safe" / "train.jsonl", ROWS)
    upload = f"""
        from huggingface_hub import HfApi
        for name, folder, kind in (
            ("builders/tiny", "model", "model"),
            ("builders/pool", "pool", "dataset"),
            ({safe_rlhf.NAME!r}, "safe", "dataset"),
        ):
            HfApi().create_repo(name, repo_type=kind, exist_ok=True)
            HfApi().upload_folder(repo_id=name, folder_path={str(tmp_path)!r} + "/" + folder, repo_type=kind)
    """
    run_client(hub, upload, home)
    given = {
        "dataset_name": "builders/pool",
        "model_name_or_path": "builders/tiny",
        "last_k": "2",
        "max_length": "64",
        "contrast": "safe",
        "similarity": "layer-cosine",
        "ratio": "0.25",
        "output_dir": str(tmp_path / "run"),
        "repo_id": "builders/made",
        "gated": "auto",
        "tag": "v1",
    }
    words = [word for name, value in given.items() for word in (f"--{name}", value)]
    build = f"""
        import runpy, sys
        sys.argv = ["build_safetulu.py", *{words!r}, "--push_to_hub", "--public_gradients", "--format", "json"]
        sys.path.insert(0, {str(SCRIPTS)!r})
        runpy.run_path({str(SCRIPTS / "build_safetulu.py")!r}, run_name="__main__")
    """
    report = _reported(run_client(hub, build, home))
    assert report["removed"] == "6 of 24"
    assert report["target_set"] == [
        "3 unsafe responses by our rule; the paper names 43469",
        "2 safe responses to the same prompts",
    ]
    again = run_client(hub, build, home)
    assert "already there" in again.stderr and _reported(again) == report
    tags = call(hub, "GET", "/api/datasets/builders/made/refs").json()["tags"]
    assert [tag["name"] for tag in tags] == ["v1"]
    read = """
        from datasets import load_dataset
        names = "drop-25", "removed-25", "all"
        show([
            *(load_dataset("builders/made", name)["train"].num_rows for name in names),
            load_dataset("builders/made-gradients")["train"].num_rows,
        ])
    """
    assert shown(run_client(hub, read, tmp_path / "reader")) == [18, 6, 24, 24]
    score = f"""
        from tamis import cli
        target = {str(tmp_path / "run" / "whole" / "unsafe.jsonl")!r}
        made = ["--target", target, "--output_dir", {str(tmp_path / "anew")!r}]
        raise SystemExit(cli.main(["score", "--index", "builders/made-gradients", *made, "--format", "json"]))
    """
    assert _reported(run_client(hub, score, tmp_path / "other"))["rows"] == 24
    listed = call(hub, "GET", "/api/datasets/builders/made/tree/main?recursive=true").json()
    texts = [call(hub, "GET", f"/datasets/builders/made/resolve/main/{one['path']}").body for one in listed]
    assert not any(str(tmp_path).encode() in text for text in texts)


def _reported(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    return dict(json.loads(done.stdout.splitlines()[-1]))
