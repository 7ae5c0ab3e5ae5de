"""Downloads from the Hub: little more than the kept rows is sent, of one commit; a fault leaves nothing half."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from commands import Commands

import pools
from clients import VERSIONS, call, commit, make, run_client, shown
from tamis.dataset_folder import export
from tamis.hub.front_matter import split
from tamis.hub.loopback.faults import Fault
from tamis.hub.loopback.process import LoopbackHub
from tamis.recipe import ExportRecipe

N, ROWS_A_GROUP = 1200, 20
NAMES = itertools.count()
Publish = Callable[[Path], str]


@dataclass(frozen=True)
class Release:
    """A data set of long rows whose text does not compress, and the repository that it was published to."""

    folder: Path
    scores: str
    repo: str
    commit: str

    @property
    def bytes(self) -> int:
        return sum(file.stat().st_size for file in [*(self.folder / "data").iterdir(), self.folder / "README.md"])


def exported(folder: Path, n: int = N, seed: int = 0) -> tuple[Path, str]:
    rng = np.random.default_rng(seed)
    records = pools.records(n)
    for record in records:
        record["messages"][1]["content"] = rng.bytes(1500).hex()
    file = pools.write(folder / "pool.parquet", records)
    scores = pools.scored(folder, rng.choice(np.linspace(-0.9, 0.9, n // 2), n).tolist(), file, excluded=(5, 77))
    return export(ExportRecipe(pools.selected(scores, 0.2), str(folder / "out"), ROWS_A_GROUP)).folder, scores


def files_of(folder: Path) -> dict[str, bytes]:
    return {name: content for name, content in pools.contents(folder).items() if name != "run.yaml"}


@pytest.fixture(scope="module")
def release(hub_server: LoopbackHub, tmp_path_factory: pytest.TempPathFactory) -> Release:
    home = tmp_path_factory.mktemp("release")
    folder, scores = exported(home)
    repo = f"local/sieved-{next(NAMES)}"
    code = f"""
        from huggingface_hub import HfApi
        HfApi().create_repo("{repo}", repo_type="dataset", private=True)
        show(HfApi().upload_folder(repo_id="{repo}", repo_type="dataset", folder_path="{folder}").oid)
    """
    return Release(folder, scores, repo, shown(run_client(hub_server, code, home / "home")))


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [row for file in sorted((folder / "data").iterdir()) for row in pq.read_table(file).to_pylist()]


def content(hub: LoopbackHub) -> list[dict[str, Any]]:
    """The calls for bytes of files."""
    return [one for one in hub.requests() if "/resolve/" in one["path"]]


@pytest.mark.parametrize("ratio", ["0.13", "0.2", "0.4"])
def test_only_what_is_kept_is_sent(ratio: str, release: Release, commands: Commands, tmp_path: Path) -> None:
    arguments = ["download", release.repo, "--ratio", ratio, "--output_dir", tmp_path / "out", "--format", "json"]
    said = commands.run(*arguments)
    assert (said.code, said.err) == (0, "")
    done = said.report
    calls = content(commands.hub)
    assert all(
        one["range"] and one["status"] == 206 and f"/resolve/{release.commit}/" in one["path"] for one in calls
    )
    sent = sum(one["sent"] for one in calls)
    assert done["fetched"].startswith(f"{sent} of {release.bytes} bytes ")
    tails = 64 << 10  # of each file, where its footer is looked for
    removed = sum(
        file.stat().st_size - tails
        for file in (release.folder / "data").iterdir()
        if (found := re.match(r"top-\d+-(\d+)", file.name)) and int(found[1]) <= 100 * float(ratio)
    )
    assert removed > 0 and sent <= release.bytes - removed
    assert len(calls) < 40  # what lies side by side is one request
    kept = [row for row in rows_of(release.folder) if (row["order"] is not None and row["order"] < done["rows"])]
    found = rows_of(tmp_path / "out")
    assert done["rows"] == len(found) == len(kept)
    wanted = {row["row_id"]: {**row, "reason": None} for row in kept}
    assert {row["row_id"]: {**row, "reason": None} for row in found} == wanted


def test_of_a_part_the_small_columns_are_read_first(release: Release, commands: Commands, tmp_path: Path) -> None:
    arguments = ["--ratio", "0.9", "--source", "maths", "--output_dir", tmp_path / "out"]
    done = commands.done("download", release.repo, *arguments)
    sent = sum(one["sent"] for one in content(commands.hub))
    assert done["fetched"].startswith(f"{sent} of ") and sent < release.bytes / 2
    scored = [row for row in rows_of(release.folder) if row["source"] == "maths" and row["order"] is not None]
    scored.sort(key=lambda row: row["order"])
    kept = scored[: len(scored) - int(0.9 * len(scored))]
    assert sorted(row["row_id"] for row in rows_of(tmp_path / "out")) == sorted(row["row_id"] for row in kept)
    commands.done(
        "select", "--scores", release.scores, "--recipe", tmp_path / "out", "--output_dir", tmp_path / "s"
    )


@VERSIONS
def test_both_clients_download_what_load_dataset_reads(
    version: str, release: Release, hub: LoopbackHub, tmp_path: Path
) -> None:
    """`drop-20` and its rows by filter, in streaming and not, are what is downloaded at 0.2."""
    code = f"""
        from datasets import load_dataset
        from tamis.cli import main

        assert main(["download", "{release.repo}", "--ratio", "0.2", "--output_dir", "out"]) == 0
        below = load_dataset("out", split="train").num_rows
        found = [
            load_dataset("out", split="train").to_list(),
            load_dataset("{release.repo}", "drop-20", split="train").to_list(),
            load_dataset("{release.repo}", "all", split="train", filters=[("order", "<", below)],
                         verification_mode="no_checks").to_list(),
            list(load_dataset("{release.repo}", "all", split="train", filters=[("order", "<", below)],
                              verification_mode="no_checks", streaming=True)),
        ]
        show([below, [rows == found[0] for rows in found]])
    """
    done = run_client(hub, code, tmp_path / "home", version=version)
    n = N - 2
    assert shown(done) == [n - n // 5, [True] * 4]


def test_another_cut_of_an_older_revision(commands: Commands, tmp_path: Path) -> None:
    repo, folders = f"local/sieved-{next(NAMES)}", [exported(tmp_path / str(i), 60, i)[0] for i in range(2)]
    first = make(commands.hub, repo, files_of(folders[0]))
    answer = commit(commands.hub, f"datasets/{repo}", files_of(folders[1]))
    second = answer.json()["commitOid"]
    call(commands.hub, "POST", f"/api/datasets/{repo}/tag/{first}", {"tag": "v1"})
    for revision, folder, at in ((first, 0, first), ("v1", 0, first), ("main", 1, second), (None, 1, second)):
        out = tmp_path / f"out-{revision}"
        flags = ["--revision", revision] if revision else []
        done = commands.done("download", repo, "--ratio", "0.5", *flags, "--output_dir", out)
        assert done["commit"] == at and f"revision: {at}" in (out / "run.yaml").read_text()
        assert split((out / "README.md").read_text())[0]["tamis"]["downloaded_from"] == {
            "repo": repo,
            "revision": at,
        }
        texts = {row["messages"][1]["content"] for row in rows_of(out)}
        assert len(texts) == 30 and texts < {row["messages"][1]["content"] for row in rows_of(folders[folder])}


def test_main_moves_while_it_is_read(commands: Commands, tmp_path: Path) -> None:
    repo, hub = f"local/sieved-{next(NAMES)}", commands.hub
    first = make(hub, repo, files_of(exported(tmp_path, 60)[0]))
    hub.clear_requests()
    hub.add_fault(Fault("/resolve/", method="GET", after=1, delay=2))
    process = commands.start(
        "download", repo, "--ratio", "0.5", "--output_dir", tmp_path / "got", "--format", "json"
    )
    while not any(one["status"] is None for one in hub.requests()):
        time.sleep(0.01)
    commit(hub, f"datasets/{repo}", {"README.md": b"nothing any more"})
    said = commands.wait(process)
    assert said.code == 0 and said.report["commit"] == first and len(rows_of(tmp_path / "got")) == 30


# What goes wrong


@pytest.mark.parametrize(
    "fault",
    [
        Fault("/resolve/.*parquet", cut_after=1000),
        Fault("/resolve/.*parquet", after=13, cut_after=100_000),
        Fault("/resolve/", status=503),
        Fault("/paths-info/", status=429, headers={"Retry-After": "0"}),
        Fault("/revision/|/api/datasets/[^/]+/[^/]+$", lose="request"),
    ],
    ids=lambda fault: f"{fault.path}-{fault.after}",
)
def test_a_fault_that_passes_is_got_over(
    fault: Fault, release: Release, commands: Commands, tmp_path: Path
) -> None:
    commands.hub.add_fault(fault)
    done = commands.done("download", release.repo, "--ratio", "0.5", "--output_dir", tmp_path / "out")
    assert done["rows"] == len(rows_of(tmp_path / "out")) == 599


@pytest.mark.parametrize("after", [0, 3, 13, 16])
def test_a_fault_that_stays_leaves_nothing_half_written(
    after: int, release: Release, commands: Commands, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    commands.hub.add_fault(Fault("/resolve/", after=after, times=None, status=400))
    said = commands.refused(1, "download", release.repo, "--ratio", "0.1", "--output_dir", out)
    assert f"{release.repo}/" in said and "the Hub refused (400" in said
    assert not [*out.rglob("*.parquet*")] and not (out / "README.md").exists()
    commands.hub.clear_faults()
    assert commands.done("download", release.repo, "--ratio", "0.1", "--output_dir", out)["rows"] == 1079


@pytest.mark.parametrize("after", [2, 14, 16])
def test_killed_and_run_again(after: int, release: Release, commands: Commands, tmp_path: Path) -> None:
    out, arguments = tmp_path / "out", ["download", release.repo, "--ratio", "0.1", "--output_dir"]
    commands.hub.add_fault(Fault("/resolve/", after=after, hang=True))
    commands.killed_at(*arguments, out)
    assert (
        not [file for file in out.glob("data/*") if file.suffix != ".partial"] and not (out / "README.md").exists()
    )
    commands.hub.clear_faults()
    commands.done(*arguments, out)
    commands.done(*arguments, tmp_path / "undisturbed")
    names = {*pools.contents(out)}
    assert pools.contents(tmp_path / "undisturbed") == {name: pools.contents(out)[name] for name in names}


def test_what_one_may_not_read_is_named(release: Release, commands: Commands, tmp_path: Path) -> None:
    hub, gated = commands.hub, f"local/gated-{next(NAMES)}"
    make(hub, gated, {"README.md": b"---\nlicense: mit\n---\n"})
    call(hub, "PUT", f"/api/datasets/{gated}/settings", {"gated": "manual"})
    ratio = ["--ratio", "0.5", "--output_dir", tmp_path / "out"]
    for name, token, flags, named in (
        ("local/none", None, [], "there is no such repository, or the token may not see it"),
        (release.repo, hub.stranger_token, [], "there is no such repository, or the token may not see it"),
        (release.repo, "hf_wrong0000000000000000", [], "no valid token"),
        (release.repo, None, ["--revision", "v9"], "there is no such revision"),
        (gated, hub.stranger_token, [], "gated, and the token's account has not been let in"),
        (gated, None, [], "its card does not say what it takes: it has no tamis block with columns"),
    ):
        said = commands.refused(2, "download", name, *flags, *ratio, token=token)
        assert name in said and named in said
    assert "no such folder" in commands.refused(2, "download", "no/such/folder", *ratio)
    assert not (tmp_path / "out").exists()


def test_offline_it_says_so(release: Release, hub: LoopbackHub, tmp_path: Path) -> None:
    code = f"""
        from tamis.cli import main
        show(main(["download", "{release.repo}", "--ratio", "0.5", "--output_dir", "out"]))
    """
    done = run_client(hub, code, tmp_path / "home", HF_HUB_OFFLINE="1")
    assert shown(done) == 2 and "HF_HUB_OFFLINE is set" in done.stderr


def test_a_card_on_the_hub_is_a_recipe(release: Release, commands: Commands, tmp_path: Path) -> None:
    done = commands.done(
        "select", "--scores", release.scores, "--recipe", release.repo, "--output_dir", tmp_path / "s"
    )
    block = split((release.folder / "README.md").read_text())[0]["tamis"]
    assert done["digest"] == block["selection"] and "repeated" in done["recipe"]
    assert f"link={done['link']}".count("selection=") == 1 and json.dumps(done)
    said = commands.refused(
        2, "select", "--scores", release.scores, "--recipe", "local/none", "--output_dir", tmp_path / "t"
    )
    assert "--recipe local/none: " in said and "no such repository" in said
