"""Several selections of one pool share a repository; a published gradient index names no folder from here."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from commands import Commands

import pools
from clients import call, run_client, shown
from tamis.dataset_folder import Exported, export
from tamis.hub.front_matter import split
from tamis.hub.loopback.process import LoopbackHub
from tamis.recipe import ExportRecipe, SelectRecipe
from tamis.selection import select

NUMBERS = itertools.count()


@pytest.fixture
def repo() -> str:
    return f"local/shared-{next(NUMBERS)}"


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> str:
    return pools.scored(tmp_path_factory.mktemp("pool"), np.linspace(-0.9, 0.9, 60))


def exported(scores: str, folder: Path, variant: str | None, ratio: float, **more: object) -> Exported:
    select(SelectRecipe(scores, str(folder / "selection"), ratio))
    return export(ExportRecipe(str(folder / "selection"), str(folder / "dataset"), variant=variant, **more))


def card(hub: LoopbackHub, repo: str) -> tuple[dict[str, object], str]:
    return split(call(hub, "GET", f"/datasets/{repo}/resolve/main/README.md").body.decode())


def test_a_variant_has_its_names_its_files_and_its_section(scores: str, tmp_path: Path) -> None:
    plain = exported(scores, tmp_path / "plain", None, 0.2)
    made = exported(scores, tmp_path / "made", "strict", 0.2)
    assert {f"strict-{name}": rows for name, rows in plain.configs.items()} == made.configs
    assert made.default == "strict-drop-20"
    metadata, body = split((made.folder / "README.md").read_text())
    assert {path.parent.name for path in made.folder.rglob("*.parquet")} == {"strict"}
    assert body.startswith("\n<!-- variant strict -->\n") and body.rstrip().endswith("<!-- end of strict -->")
    plain_block = split((plain.folder / "README.md").read_text())[0]["tamis"]
    assert metadata["tamis"] == {"variants": {"strict": plain_block}}


def test_variants_share_a_repository_and_go_on_their_own(
    commands: Commands, repo: str, scores: str, tmp_path: Path
) -> None:
    hub = commands.hub
    ratios = {None: 0.4, "strict": 0.5, "lenient": 0.45}
    places = {
        variant: exported(scores, tmp_path / str(variant), variant, ratio, leave_out_removed=True).folder
        for variant, ratio in ratios.items()
    }
    for place in places.values():
        commands.done("publish", place, "--repo_id", repo)
    metadata, body = card(hub, repo)
    names = {config["config_name"]: config for config in metadata["configs"]}
    assert [*names] == ["drop-40", "drop-45", "drop-50", "lenient-drop-45", "lenient-drop-50", "strict-drop-50"]
    assert [name for name, config in names.items() if config.get("default")] == ["drop-40"]
    assert {*metadata["tamis"]["variants"]} == {"strict", "lenient"} and metadata["tamis"]["recipe"][
        "ratio"
    ] == 0.4
    assert body.index("<!-- variant lenient") < body.index("<!-- variant strict") and body.count("sieved by") == 3
    assert f'load_dataset("{repo}", "lenient-drop-50")' in body and "path/to/this/folder" not in body
    code = f"""
        from datasets import load_dataset
        names = "drop-40", "strict-drop-50", "lenient-drop-45"
        show({{name: load_dataset({repo!r}, name)["train"].num_rows for name in names}})
    """
    found = shown(run_client(hub, code, tmp_path / "home"))
    assert found == {"drop-40": 36, "strict-drop-50": 30, "lenient-drop-45": 33}
    download = ("download", repo, "--ratio", 0.47, "--output_dir")
    for variant, words in ((None, []), ("lenient", ["--variant", "lenient"])):
        assert commands.done(*download, tmp_path / f"of-{variant}", *words)["rows"] == 60 - 28
    said = commands.refused(2, *download, tmp_path / "x", "--variant", "odd")
    assert "lenient" in said and "strict" in said
    again = exported(scores, tmp_path / "again", "strict", 0.45, leave_out_removed=True).folder
    done = commands.done("publish", again, "--repo_id", repo)
    assert all(path.startswith("data/strict/") for path in done["deleted"]) and done["deleted"]
    later, _ = card(hub, repo)
    assert "strict-drop-45" in {config["config_name"] for config in later["configs"]}
    assert later["tamis"]["variants"]["lenient"] == metadata["tamis"]["variants"]["lenient"]
    assert "nothing has changed" in commands.done("publish", places["lenient"], "--repo_id", repo)["published"]


def test_removed_rows_are_not_shown_to_everybody(
    commands: Commands, repo: str, scores: str, tmp_path: Path
) -> None:
    full = exported(scores, tmp_path / "full", None, 0.2).folder
    kept = exported(scores, tmp_path / "kept", None, 0.5, leave_out_removed=True).folder
    said = commands.refused(2, "publish", full, "--repo_id", repo)
    assert "--gated auto" in said and "--leave_out_removed" in said
    commands.done("publish", kept, "--repo_id", repo)
    assert "removed rows" in commands.refused(2, "publish", full, "--repo_id", repo)
    commands.done("publish", full, "--repo_id", repo, "--gated", "manual")
    answer = call(
        commands.hub, "GET", f"/datasets/{repo}/resolve/main/README.md", token=commands.hub.stranger_token
    )
    assert answer.status == 403


def test_an_index_is_private_and_names_no_folder(commands: Commands, repo: str, scores: str) -> None:
    hub, index = commands.hub, Path(scores).with_name("index")
    manifest = json.loads((index / "manifest.json").read_text())
    assert str(index.parent) in manifest["recipe"]["dataset_name"]
    done = commands.done("publish", index, "--repo_id", repo)
    assert done["rows"] == {"rows": 60}
    assert call(hub, "GET", f"/api/datasets/{repo}", token=hub.stranger_token).status == 404
    for path in done["files"]:
        assert str(index.parent).encode() not in call(hub, "GET", f"/datasets/{repo}/resolve/main/{path}").body
    published = call(hub, "GET", f"/datasets/{repo}/resolve/main/manifest.json").json()
    assert published["recipe"]["dataset_name"] == "pool.jsonl"
    assert {**published, "recipe": 0} == {**manifest, "recipe": 0}
    commands.done("publish", index, "--repo_id", f"{repo}-open", "--public")
    assert call(hub, "GET", f"/api/datasets/{repo}-open", token=hub.stranger_token).status == 200


def test_an_index_that_is_not_whole_or_of_a_local_model_is_refused(
    commands: Commands, repo: str, scores: str, tmp_path: Path
) -> None:
    index = tmp_path / "index"
    shutil.copytree(Path(scores).with_name("index"), index)
    manifest = json.loads((index / "manifest.json").read_text())
    manifest["recipe"]["model_name_or_path"] = str(tmp_path)
    (index / "manifest.json").write_text(json.dumps(manifest))
    assert "its model is a folder on this machine" in commands.refused(2, "publish", index, "--repo_id", repo)
    del manifest["recipe"]["model_name_or_path"]
    (index / "manifest.json").write_text(json.dumps(manifest))
    shard = index / "shard-00000.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1] + b"\x01")
    assert "shard-00000" in commands.refused(1, "publish", index, "--repo_id", repo)
    assert call(commands.hub, "GET", f"/api/datasets/{repo}").status == 404
