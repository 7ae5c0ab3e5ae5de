"""A gradient index on the Hub stands where a folder goes: read at one commit, nothing beside it, or refused."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import Commands

import pools
from clients import VERSIONS, call, commit, make, run_client, shown
from tamis.hub.fetch import Found, find_index, find_set, is_repo_id
from tamis.hub.loopback.faults import Fault
from tamis.hub.loopback.process import LoopbackHub

NAMES = itertools.count()
Indexes = dict[str, Path]


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Indexes:
    """Two pools that differ, two target sets, safe rows."""
    folder = tmp_path_factory.mktemp("indexes")
    path = pools.write(folder / "pool.jsonl", pools.records(20))
    rows = pools.read_rows(path)
    made = {}
    for seed, name in enumerate(("pool", "pool-2", "a", "b", "safe")):
        n = 20 if "pool" in name else 4
        known: dict[str, Any] = {"rows": rows, "recipe": {"dataset_name": path}} if n == 20 else {}
        pools.index(folder / name, *pools.factors(n, seed), **known)
        made[name] = folder / name
    return made


def repo(hub: LoopbackHub, *folders: Path, **more: Any) -> tuple[str, list[str]]:
    """A data set with a commit for each index; its name and the commits."""
    name = f"local/index-{next(NAMES)}"
    commits: list[str] = []
    for folder in folders:
        files = {**pools.contents(folder), "README.md": b"---\nlicense: mit\n---\n", "extra/big.bin": bytes(9000)}
        if commits:
            commits.append(commit(hub, f"datasets/{name}", files).json()["commitOid"])
        else:
            commits.append(make(hub, name, files, **more))
    return name, commits


def local_scores(commands: Commands, out: Path, index: Path, *flags: object) -> dict[str, bytes]:
    commands.done("score", "--index", index, *flags, "--output_dir", out)
    return pools.contents(out)


def test_scores_are_those_of_the_folder_and_only_the_index_is_read(
    commands: Commands, indexes: Indexes, tmp_path: Path
) -> None:
    hub = commands.hub
    wanted = local_scores(commands, tmp_path / "local", indexes["pool"], "--target", indexes["a"])
    name, [first] = repo(hub, indexes["pool"])
    hub.clear_requests()
    out = tmp_path / "out"
    said = commands.run(
        "score", "--index", name, "--target", indexes["a"], "--output_dir", out, "--format", "json"
    )
    assert (said.code, said.err) == (0, "") and json.loads(said.out)["rows"] == 20
    assert pools.contents(out) == wanted
    asked = [one["path"] for one in hub.requests() if "/resolve/" in one["path"]]
    assert all(f"/resolve/{first}/" in path for path in asked)
    assert {path.rpartition("/")[2] for path in asked} == {*pools.contents(indexes["pool"])}
    run = yaml.safe_load((out / "run.yaml").read_text())
    assert (run["index"], run["index_revision"]) == (name, first)


def test_the_same_run_reads_the_same_commit_when_main_has_moved(
    commands: Commands, indexes: Indexes, tmp_path: Path
) -> None:
    hub = commands.hub
    name, [first, second] = repo(hub, indexes["pool"], indexes["pool-2"])
    call(hub, "POST", f"/api/datasets/{name}/tag/{first}", {"tag": "v1"})
    old, new = (
        local_scores(commands, tmp_path / one, indexes[one], "--target", indexes["a"])
        for one in ("pool", "pool-2")
    )
    assert old != new
    for revision, wanted in ((None, new), ("v1", old), (first, old), (second, new), ("main", new)):
        out = tmp_path / f"out-{revision}"
        flags = ["--index_revision", revision] if revision else []
        commands.done("score", "--index", name, "--target", indexes["a"], *flags, "--output_dir", out)
        assert pools.contents(out) == wanted
    commit(hub, f"datasets/{name}", pools.contents(indexes["pool"]))
    commands.done("score", "--config", tmp_path / "out-None/run.yaml", "--output_dir", tmp_path / "again")
    assert pools.contents(tmp_path / "again") == new


def test_targets_and_contrast_may_lie_there_too(commands: Commands, indexes: Indexes, tmp_path: Path) -> None:
    hub = commands.hub
    names = {one: repo(hub, indexes[one])[0] for one in ("a", "b", "safe")}
    flags = ["--weight", "2", "--weight", "1"]
    folders = {one: Path(shutil.copytree(indexes[one], tmp_path / name)) for one, name in names.items()}
    wanted = local_scores(
        commands,
        tmp_path / "wanted",
        indexes["pool"],
        *("--target", folders["a"], "--target", folders["b"], "--contrast", folders["safe"], *flags),
    )
    given = ("--target", names["a"], "--target", names["b"], "--contrast", names["safe"], *flags)
    assert local_scores(commands, tmp_path / "out", indexes["pool"], *given) == wanted


def test_a_data_set_of_rows_is_still_rows(commands: Commands, indexes: Indexes, tmp_path: Path) -> None:
    rows = b"".join(json.dumps(row).encode() + b"\n" for row in pools.records(3))
    name = f"local/rows-{next(NAMES)}"
    make(commands.hub, name, {"data.jsonl": rows})
    said = commands.refused(
        2, "score", "--index", indexes["pool"], "--target", name, "--output_dir", tmp_path / "o"
    )
    assert any("data.jsonl" in one["path"] for one in commands.hub.requests())
    assert "a version of tamis that this one does not know" in said  # the next step: to embed them like this pool


SCORE = """
from tamis.cli import main
show(main(["score", "--index", {name!r}, "--target", {target!r}, *{flags!r}, "--output_dir", {out!r}]))
"""


@VERSIONS
def test_offline_only_the_very_revision_that_was_read_before(
    version: str, hub: LoopbackHub, indexes: Indexes, tmp_path: Path
) -> None:
    name, [first, second] = repo(hub, indexes["pool"], indexes["pool-2"])
    home, target = tmp_path / "home", str(indexes["a"])

    def run(*flags: str, out: str, offline: str = "1", code: int = 0) -> str:
        text = SCORE.format(name=name, target=target, flags=list(flags), out=out)
        done = run_client(hub, text, home, version=version, HF_HUB_OFFLINE=offline)
        assert shown(done) == code, done.stderr
        return done.stderr

    run(out="online", offline="0")
    hub.clear_requests()
    assert run(out="main") == run("--index_revision", second, out="commit") == ""
    before = pools.contents(tmp_path / "online")
    assert pools.contents(tmp_path / "main") == pools.contents(tmp_path / "commit") == before
    for revision in ("doesnotexist", first, "0" * 40):
        said = run("--index_revision", revision, out="none", code=2)
        missing = f"HF_HUB_OFFLINE is set: the cache does not hold {revision} whole"
        assert said == f"tamis: {name}: no such folder here, and {missing}\n"
    assert not (tmp_path / "none").exists() and not hub.requests()


@VERSIONS
def test_a_torn_copy_is_not_taken_for_the_index(
    version: str, hub: LoopbackHub, indexes: Indexes, tmp_path: Path
) -> None:
    """A download that stopped on the way is neither scored nor offered offline."""
    name, _ = repo(hub, indexes["pool"])
    hub.add_fault(Fault("/resolve/.*shard-00001", times=None, status=400))
    text = SCORE.format(name=name, target=str(indexes["a"]), flags=[], out="out")
    done = run_client(hub, text, tmp_path / "home", version=version)
    assert shown(done) == 1 and done.stderr.startswith(f"tamis: {name}: ") and done.stderr.count("\n") == 1
    hub.clear_faults()
    done = run_client(hub, text, tmp_path / "home", version=version, HF_HUB_OFFLINE="1")
    assert shown(done) != 0 and not (tmp_path / "out").exists()
    assert shown(run_client(hub, text, tmp_path / "home", version=version)) == 0


def test_what_one_may_not_read_or_does_not_exist_is_named(
    commands: Commands, indexes: Indexes, tmp_path: Path
) -> None:
    hub = commands.hub
    private, gated = (repo(hub, indexes["pool"], **more)[0] for more in ({"visibility": "private"}, {}))
    call(hub, "PUT", f"/api/datasets/{gated}/settings", {"gated": "manual"})
    empty = f"local/empty-{next(NAMES)}"
    make(hub, empty, {"README.md": b"---\nlicense: mit\n---\n"})
    hidden = (
        "no such file or folder here, and on the Hub: there is no such repository, or the token may not see it"
    )
    for name, token, flags, named in (
        ("local/none", None, [], hidden),
        (private, hub.stranger_token, [], hidden),
        (private, "hf_wrong0000000000000000", [], "no valid token"),
        (gated, hub.stranger_token, [], "gated, and the token's account has not been let in"),
        (private, None, ["--index_revision", "v9"], "there is no such revision"),
        (empty, None, [], "there is no gradient index in it (manifest.json is missing)"),
        (
            str(indexes["pool"]),
            None,
            ["--index_revision", "v1"],
            "--index_revision v1: goes with an index on the Hub",
        ),
    ):
        arguments = ["score", "--index", name, "--target", indexes["a"], *flags, "--output_dir", tmp_path / "out"]
        said = commands.refused(2, *arguments, token=token)
        assert name in said and named in said
    arguments = ["score", "--index", indexes["pool"], "--output_dir", tmp_path / "out", "--target"]
    assert "gated" in commands.refused(2, *arguments, gated, token=hub.stranger_token)
    assert hidden in commands.refused(2, *arguments, "local/none")
    assert not (tmp_path / "out").exists()


Change = Callable[[dict[str, Any]], None]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda manifest: manifest["recipe"].update(trust_remote_code=True), "runs the code of evil/model"),
        (lambda manifest: manifest["recipe"].update(hook="x"), "a version of tamis that this one does not know"),
        (
            lambda manifest: manifest["shards"].update({"../x.safetensors": {"rows": 1}}),
            "a shard outside its folder",
        ),
    ],
)
def test_an_index_of_anybody_neither_runs_code_nor_reads_beside_itself(
    change: Change, named: str, commands: Commands, indexes: Indexes, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(indexes["pool"], tmp_path / "pool"))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["recipe"]["model_name_or_path"] = "evil/model"
    manifest["identity"]["gradient"] |= {"model_revision": "0" * 40, "dtype": "float32"}
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    name, _ = repo(commands.hub, folder)
    target = pools.write(tmp_path / "rows.jsonl", pools.records(2))
    said = commands.refused(2, "score", "--index", name, "--target", target, "--output_dir", tmp_path / "out")
    assert named in said
    assert not any("evil" in one["path"] for one in commands.hub.requests())


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *((name, True) for name in ("a/b", "allenai/tulu-3-sft", "A_1/b.c", "run/index")),
        *(
            (name, False)
            for name in ("a", "a/b/c", "./a", "../a", "/a/b", "a/b.jsonl", "a/b.yaml", "~/a", "a/", "é/b", "")
        ),
    ],
)
def test_what_looks_like_a_name_on_the_hub(name: str, is_one: bool) -> None:
    assert is_repo_id(name) == is_one


def test_a_folder_is_taken_before_the_hub_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run/index").mkdir(parents=True)
    assert find_index("run/index") == Found(Path("run/index"), None) and find_set("run/index") == "run/index"
