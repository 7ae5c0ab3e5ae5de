"""A manifest is released in its order, up to the first that is not ready; a wrong manifest is refused."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import Commands

from clients import call
from tamis.errors import UsageError
from tamis.hub.front_matter import join
from tamis.hub.release import read_manifest

ROOT = Path(__file__).parents[2]
NUMBERS = itertools.count()


@pytest.fixture
def namespace() -> str:
    return f"team-{next(NUMBERS)}"


def manifest(folder: Path, *artefacts: dict[str, Any]) -> Path:
    (folder / "recipe.yaml").write_text("ratio: 0.2\n")
    known = {"kind": "space", "recipe": "recipe.yaml", "license": "mit"}
    listed = [{"name": f"tamis-{one['folder']}", **known, **one} for one in artefacts]
    path = folder / "release.yaml"
    path.write_text(yaml.safe_dump({"artefacts": listed}))
    return path


def space(folder: Path, licence: str = "mit") -> None:
    folder.mkdir()
    (folder / "README.md").write_text(join({"license": licence, "sdk": "gradio", "tags": ["tamis"]}, "# It\n"))
    (folder / "app.py").write_text(f"print({folder.name!r})\n")


def there(commands: Commands, namespace: str, *names: str) -> list[bool]:
    return [call(commands.hub, "GET", f"/api/spaces/{namespace}/tamis-{name}").status == 200 for name in names]


def test_all_is_released_in_order_and_again_nothing(commands: Commands, namespace: str, tmp_path: Path) -> None:
    for name in "ab":
        space(tmp_path / name)
    path = manifest(tmp_path, {"folder": "b"}, {"folder": "a"})
    command = ("release", "--namespace", namespace, "--manifest", path, "--tag", "v1")
    dry = commands.done(*command, "--dry_run")["dry_run"]
    assert [line.partition(":")[0] for line in dry] == [f"{namespace}/tamis-b", f"{namespace}/tamis-a"]
    assert there(commands, namespace, "a", "b") == [False, False]
    commands.done(*command)
    assert there(commands, namespace, "a", "b") == [True, True]
    commands.hub.clear_requests()
    commands.done(*command)
    assert {one["method"] for one in commands.hub.requests()} <= {"GET", "HEAD"}


def test_it_stops_before_the_first_that_is_not_ready(commands: Commands, namespace: str, tmp_path: Path) -> None:
    for name, licence in (("a", "mit"), ("b", "apache-2.0"), ("c", "mit")):
        space(tmp_path / name, licence)
    command = ("release", "--namespace", namespace, "--manifest")
    said = commands.refused(1, *command, manifest(tmp_path, {"folder": "a"}, {"folder": "b"}, {"folder": "c"}))
    assert "stopped before tamis-b: not ready: its card has the licence apache-2.0, not mit" in said
    assert f"before it: {namespace}/tamis-a" in said
    assert there(commands, namespace, "a", "b", "c") == [True, False, False]
    said = commands.refused(1, *command, manifest(tmp_path, {"folder": "nowhere"}))
    assert "tamis-nowhere" in said and "no such folder" in said
    said = commands.refused(1, *command, manifest(tmp_path, {"folder": "c", "recipe": "gone.yaml"}))
    assert "gone.yaml is not there" in said and not there(commands, namespace, "c")[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "SafeTulu"}, "SafeTulu: has to have tamis in its name"),
        ({"name": "tamisation"}, "has to have tamis in its name"),
        ({"kind": "dataframe"}, "kind 'dataframe': not one of dataset, gradients"),
        ({"colour": "red"}, "unknown key 'colour'; valid: name, kind"),
    ],
)
def test_a_manifest_that_is_not_right(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_manifest(manifest(tmp_path, {"folder": "a", **change}))


@pytest.mark.parametrize("content", ["[", "a: 1", "artefacts: 3", "artefacts: [3]", "artefacts: [{name: tamis}]"])
def test_what_is_no_manifest(tmp_path: Path, content: str) -> None:
    (tmp_path / "release.yaml").write_text(content)
    with pytest.raises(UsageError, match=r"release\.yaml"):
        read_manifest(tmp_path / "release.yaml")


def test_the_projects_own_manifest() -> None:
    """Each of its recipes is there, and says which data set it is of; no demo is in it."""
    for artefact in read_manifest(ROOT / "release.yaml"):
        recipe = yaml.safe_load((ROOT / artefact.recipe).read_text())
        if artefact.name.startswith("MathEd-PII"):
            made = f"{recipe['output_dir']}/model" if artefact.kind == "model" else recipe["output_dir"]
            assert made == artefact.folder and (artefact.kind == "model" or recipe["public"])
            assert yaml.safe_load((ROOT / recipe["card"]).read_text())["license"] == artefact.license
            continue
        assert recipe["dataset_name"] == "allenai/tulu-3-sft-mixture" and "max_samples" not in recipe
        variant = recipe.get("variant", "whole")
        assert artefact.folder == (
            "run/safetulu/index" if artefact.kind == "gradients" else f"run/safetulu/{variant}/dataset"
        )
        card = artefact.card or recipe["card"]
        assert yaml.safe_load((ROOT / card).read_text())["license"] == artefact.license
        assert artefact.gated == recipe["gated"] or artefact.kind == "gradients"
