"""A release is on the Hub whole or not at all: through busy servers, cut lines, races and kills."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import Commands

from clients import VERSIONS, call, commit, make, run_client, shown
from tamis.hub.front_matter import join
from tamis.hub.loopback.faults import Fault
from tamis.hub.loopback.process import LoopbackHub

NAMES = itertools.count()


@pytest.fixture
def repo() -> str:
    return f"local/data-{next(NAMES)}"


def folder(path: Path, version: int = 1, variant: str = "", column: str = "text", files: int = 2) -> Path:
    """A data set with the configs `low` and `all`, each row different from those of other versions."""
    where, prefix = (f"data/{variant}", f"{variant}-") if variant else ("data", "")
    names = [f"{where}/part-{i}-v{version}.parquet" for i in range(files)]
    features = [{"name": column, "dtype": "string"}, {"name": "order", "dtype": "int64"}]
    for i, name in enumerate(names):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        texts = [f"{variant} v{version} row {i}-{j}" for j in range(4)]
        rows = pa.table({column: texts, "order": range(4 * i, 4 * i + 4)})
        pq.write_table(rows.replace_schema_metadata({"of": str(path)}), path / name)  # what is there is not sent
    chosen = {f"{prefix}low": names[:1], f"{prefix}all-rows": names}
    metadata = {
        "license": "mit",
        "tags": ["tamis"],
        "configs": [
            {
                "config_name": name,
                **({"default": True} if name == f"{prefix}low" else {}),
                "data_files": [{"split": "train", "path": paths}],
            }
            for name, paths in chosen.items()
        ],
        "dataset_info": [
            {"config_name": name, "features": features, "splits": [_split(paths)]}
            for name, paths in chosen.items()
        ],
    }
    body = f"# Version {version}\n"
    if variant:
        body = f"<!-- variant {variant} -->\n{body}<!-- end of {variant} -->\n"
    (path / "README.md").write_text(join(metadata, body))
    return path


def _split(paths: list[str]) -> dict[str, Any]:
    return {"name": "train", "num_bytes": 100 * len(paths), "num_examples": 4 * len(paths)}


def head(hub: LoopbackHub, repo: str, revision: str = "main") -> str:
    return str(call(hub, "GET", f"/api/datasets/{repo}/revision/{revision}").json()["sha"])


def tree(hub: LoopbackHub, repo: str, revision: str = "main") -> set[str]:
    answer = call(hub, "GET", f"/api/datasets/{repo}/tree/{revision.replace('/', '%2F')}?recursive=true")
    return {entry["path"] for entry in answer.json() if entry["type"] == "file"}


def history(hub: LoopbackHub, repo: str) -> list[str]:
    return [one["title"] for one in call(hub, "GET", f"/api/datasets/{repo}/commits/main").json()]


def open_pulls(hub: LoopbackHub, repo: str) -> list[str]:
    found = call(hub, "GET", f"/api/datasets/{repo}/discussions").json()["discussions"]
    return [one["title"] for one in found if one["status"] in ("open", "draft")]


def loaded(hub: LoopbackHub, repo: str, home: Path, *configs: str) -> dict[str, list[str]]:
    """The texts of each config, by plain `load_dataset` in a fresh process."""
    code = f"""
        from datasets import load_dataset
        found = {{name: load_dataset({repo!r}, name)["train"] for name in {configs!r}}}
        show({{name: next(iter(rows.to_dict().values())) for name, rows in found.items()}})
    """
    return dict(shown(run_client(hub, code, home)))


def whole(hub: LoopbackHub, repo: str, version: int) -> bool:
    """Whether main holds that version and nothing of another."""
    found = {path for path in tree(hub, repo) if path.endswith(".parquet")}
    return found == {f"data/part-{i}-v{version}.parquet" for i in range(2)}


def test_a_release_is_loaded_by_plain_datasets(commands: Commands, repo: str, tmp_path: Path) -> None:
    hub = commands.hub
    done = commands.done("publish", folder(tmp_path / "one"), "--repo_id", repo, "--tag", "v1")
    assert done["rows"] == {"low": 4, "all-rows": 8} and done["commit"] == head(hub, repo) == head(hub, repo, "v1")
    assert sorted(done["sent"]) == ["README.md", "data/part-0-v1.parquet", "data/part-1-v1.parquet"]
    found = loaded(hub, repo, tmp_path / "home", "low", "all-rows")
    assert len(found["low"]) == 4 and len(found["all-rows"]) == 8
    assert not open_pulls(hub, repo) and len(history(hub, repo)) == 2  # made, merged
    parents = [one["parent_commit"] for one in hub.requests() if "/commit/" in one["path"]]
    assert parents and all(parents)


def test_nothing_changed_is_no_commit(commands: Commands, repo: str, tmp_path: Path) -> None:
    command = ("publish", folder(tmp_path / "one"), "--repo_id", repo)
    commands.done(*command)
    before, log = history(commands.hub, repo), commands.hub
    log.clear_requests()
    assert "nothing has changed" in commands.done(*command)["published"]
    assert history(commands.hub, repo) == before
    assert {one["method"] for one in log.requests()} <= {"GET", "HEAD"}
    commands.done(*command, "--tag", "v1")
    assert head(commands.hub, repo, "v1") == head(commands.hub, repo)


def test_a_later_release_replaces_the_files_the_columns_and_nothing_else(
    commands: Commands, repo: str, tmp_path: Path
) -> None:
    """Stale features in the card, and files that nothing names any more, are what `push_to_hub` leaves."""
    hub = commands.hub
    commands.done("publish", folder(tmp_path / "one"), "--repo_id", repo)
    assert commit(hub, f"datasets/{repo}", {"notes.txt": b"of a person"}).status == 200
    done = commands.done("publish", folder(tmp_path / "two", 2, column="other"), "--repo_id", repo)
    assert done["deleted"] == ["data/part-0-v1.parquet", "data/part-1-v1.parquet"]
    assert whole(hub, repo, 2) and "notes.txt" in tree(hub, repo)
    assert loaded(hub, repo, tmp_path / "home", "low")["low"] == [f" v2 row 0-{j}" for j in range(4)]
    assert "tag v1 is there" in commands.refused(
        2, "publish", _tagged(commands, repo, tmp_path), "--repo_id", repo, "--tag", "v1"
    )
    assert whole(hub, repo, 2)


def _tagged(commands: Commands, repo: str, path: Path) -> Path:
    """A third version, where the tag v1 is on the second."""
    commands.done("publish", path / "two", "--repo_id", repo, "--tag", "v1")
    return folder(path / "three", 3)


FAULTS = {
    "busy before anything": Fault("/api/datasets/", method="GET", status=503, times=2),
    "rate limited": Fault("/commit/", status=429, headers={"RateLimit": '"api";r=0;t=1'}),
    "told to wait": Fault("/preupload/", status=503, headers={"Retry-After": "1"}),
    "an upload is cut": Fault("^/_lfs|^/lfs|upload", method="PUT", lose="request"),
    "the commit is lost": Fault("/commit/", lose="request"),
    "the commit's answer is lost": Fault("/commit/", lose="reply"),
    "the merge is lost": Fault("/merge", lose="request"),
    "the merge's answer is lost": Fault("/merge", lose="reply"),
    "the tag's answer is lost": Fault("/tag/", lose="reply"),
    "a file is cut while it is read back": Fault("/resolve/", method="GET", cut_after=10),
    "somebody commits before us": Fault("/commit/", race="theirs.txt"),
    "somebody commits before the merge": Fault("/merge", race="theirs.txt"),
    "somebody changes the card before the merge": Fault("/merge", race="README.md"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_passes(name: str, commands: Commands, repo: str, tmp_path: Path) -> None:
    hub = commands.hub
    commands.done("publish", folder(tmp_path / "one"), "--repo_id", repo)
    hub.add_fault(FAULTS[name])
    command = ["publish", folder(tmp_path / "two", 2), "--repo_id", repo, "--tag", "v2"]
    if FAULTS[name].race == "README.md":  # what they wrote is no card of ours any more
        command.append("--replace")
    done = commands.done(*command)
    hub.clear_faults()
    assert whole(hub, repo, 2) and not open_pulls(hub, repo)
    assert head(hub, repo) == done["commit"] == head(hub, repo, "v2")
    assert ("theirs.txt" in tree(hub, repo)) == (FAULTS[name].race == "theirs.txt")


LASTING = {
    "busy for good": Fault("/commit/", status=500, times=None),
    "refused": Fault("/commit/", status=400, times=None),
    "no merge": Fault("/merge", status=400, times=None),
    "too long to wait": Fault("/commit/", status=429, headers={"Retry-After": "4000"}, times=None),
    "always somebody first": Fault("/commit/", status=412, times=None),
    "the file that came back is gone": Fault("/resolve/.*parquet", status=404, times=None),
    "no upload gets through": Fault("/_lfs/", method="PUT", status=400, times=None),
    "a paid plan": Fault("/commit/", status=402, times=None),
}


@pytest.mark.parametrize("name", LASTING)
def test_a_fault_that_stays_leaves_main_as_it_was(
    name: str, commands: Commands, repo: str, tmp_path: Path
) -> None:
    hub = commands.hub
    commands.done("publish", folder(tmp_path / "one"), "--repo_id", repo)
    before = head(hub, repo)
    hub.add_fault(LASTING[name])
    command = ("publish", folder(tmp_path / "two", 2), "--repo_id", repo)
    assert repo in commands.refused(1, *command)
    hub.clear_faults()
    assert head(hub, repo) == before and whole(hub, repo, 1) and not open_pulls(hub, repo)
    commands.done(*command)
    assert whole(hub, repo, 2)


@pytest.mark.parametrize("path", ["/revision/main", "/preupload/", "/commit/", "/merge"])
def test_a_hub_that_hangs_is_asked_again(path: str, commands: Commands, repo: str, tmp_path: Path) -> None:
    """The client itself would wait for ever."""
    hub = commands.hub
    hub.add_fault(Fault(path, hang=True))
    command = ("publish", folder(tmp_path / "one"), "--repo_id", repo)
    said = commands.wait(commands.start(*command, HF_HUB_DOWNLOAD_TIMEOUT="2"))
    assert said.code == 0, said.err
    assert whole(hub, repo, 1) and not open_pulls(hub, repo)


def test_a_line_that_is_cut_for_good_is_one_sentence_and_mended_by_the_next_run(
    commands: Commands, repo: str, tmp_path: Path
) -> None:
    """Not even the pull request can be closed then."""
    hub = commands.hub
    commands.done("publish", folder(tmp_path / "one"), "--repo_id", repo)
    hub.add_fault(Fault("/merge|/status", lose="request", times=None))
    command = ("publish", folder(tmp_path / "two", 2), "--repo_id", repo)
    assert "cannot be reached" in commands.refused(1, *command)
    hub.clear_faults()
    assert whole(hub, repo, 1) and len(open_pulls(hub, repo)) == 1
    commands.done(*command)
    assert whole(hub, repo, 2) and not open_pulls(hub, repo)


STEPS = {
    "asking": "/revision/main",
    "listing": "/tree/",
    "upload modes": "/preupload/",
    "uploads": "/info/lfs/objects/batch",
    "the commit": "/commit/",
    "reading back": "/resolve/.*parquet",
    "the merge": "/merge",
    "the merge's answer": "/revision/main",
    "the tag": "/tag/",
}


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_each_step(step: str, commands: Commands, repo: str, tmp_path: Path) -> None:
    hub = commands.hub
    commands.done("publish", folder(tmp_path / "one"), "--repo_id", repo)
    hub.clear_requests()
    after = 2 if step == "the merge's answer" else 0
    hub.add_fault(Fault(STEPS[step], hang=True, after=after))
    command = ("publish", folder(tmp_path / "two", 2), "--repo_id", repo, "--tag", "v2")
    commands.killed_at(*command)
    hub.clear_faults()
    assert whole(hub, repo, 1) or whole(hub, repo, 2)
    merged = any("/merge" in call["path"] and call["status"] == 200 for call in hub.requests())
    assert whole(hub, repo, 2) == merged  # on a busy machine a call that was repeated may meet the fault earlier
    assert not merged or step in ("the merge's answer", "the tag")
    commands.done(*command)
    assert whole(hub, repo, 2) and not open_pulls(hub, repo)
    assert head(hub, repo, "v2") == head(hub, repo)


def test_eight_publishers_of_eight_variants_at_once(commands: Commands, repo: str, tmp_path: Path) -> None:
    """With `push_to_hub`, five of eight such failed."""
    hub = commands.hub
    folders = [folder(tmp_path / f"v{i}", i, variant=f"v{i}") for i in range(8)]
    started = [commands.start("publish", one, "--repo_id", repo) for one in folders]
    said = [commands.wait(process) for process in started]
    assert [one.code for one in said] == [0] * 8, said
    assert {path for path in tree(hub, repo) if path.endswith("parquet")} == {
        f"data/v{i}/part-{part}-v{i}.parquet" for i in range(8) for part in range(2)
    }
    configs = [f"v{i}-{name}" for i in range(8) for name in ("low", "all-rows")]
    found = loaded(hub, repo, tmp_path / "reader", *configs)
    assert all(found[f"v{i}-low"][0] == f"v{i} v{i} row 0-0" for i in range(8))
    card = call(hub, "GET", f"/datasets/{repo}/resolve/main/README.md").body.decode()
    assert re.findall(r"<!-- variant (\S+) -->", card) == [f"v{i}" for i in range(8)]
    assert card.count("default: true") == 1 and not open_pulls(hub, repo)


def test_many_files_are_several_commits_and_one_merge(commands: Commands, repo: str, tmp_path: Path) -> None:
    hub = commands.hub
    done = commands.done("publish", folder(tmp_path / "one", files=205), "--repo_id", repo)
    assert len(tree(hub, repo)) == 207 and head(hub, repo) == done["commit"]
    assert len(history(hub, repo)) == 2
    commits = [one for one in hub.requests() if "/commit/" in one["path"]]
    assert [one["path"].rpartition("/commit/")[2] for one in commits] == ["main", "refs/pr/1"]
    assert commits[0]["query"] == "create_pr=1" and all(one["parent_commit"] for one in commits)


@pytest.mark.parametrize("exists", [True, False])
def test_a_token_that_may_not_write_fails_before_anything_is_sent(
    exists: bool, commands: Commands, repo: str, tmp_path: Path
) -> None:
    hub, one = commands.hub, folder(tmp_path / "one")
    if exists:
        commands.done("publish", one, "--repo_id", repo)
    hub.clear_requests()
    for token in (hub.read_token, hub.stranger_token):
        said = commands.refused(2, "publish", folder(tmp_path / "two", 2), "--repo_id", repo, token=token)
        assert "write" in said and repo in said
    sent = [one["path"] for one in hub.requests() if one["method"] not in ("GET", "HEAD")]
    assert sent == ([] if exists else ["/api/repos/create"])  # the stranger's, which is refused
    assert "no valid token" in commands.refused(2, "publish", one, "--repo_id", repo, token="hf_wrong")


def test_what_tamis_did_not_make_is_not_touched(commands: Commands, repo: str, tmp_path: Path) -> None:
    hub, one = commands.hub, folder(tmp_path / "one")
    make(hub, repo, {"README.md": b"---\nlicense: mit\n---\n", "data/mine.csv": b"a\n1\n"})
    before = head(hub, repo)
    assert "--replace" in commands.refused(2, "publish", one, "--repo_id", repo, "--private", "--gated", "auto")
    assert "--replace" in commands.refused(2, "publish", one, "--repo_id", repo, "--revision", "next")
    assert [one["name"] for one in call(hub, "GET", f"/api/datasets/{repo}/refs").json()["branches"]] == ["main"]
    about = call(hub, "GET", f"/api/datasets/{repo}").json()
    assert head(hub, repo) == before and not about["private"] and not about["gated"]
    commands.done("publish", one, "--repo_id", repo, "--replace")
    assert whole(hub, repo, 1)


def test_a_renamed_repository_is_found(commands: Commands, repo: str, tmp_path: Path) -> None:
    hub = commands.hub
    commands.done("publish", folder(tmp_path / "one"), "--repo_id", repo)
    moved = {"fromRepo": repo, "toRepo": f"{repo}-new", "type": "dataset"}
    assert call(hub, "POST", "/api/repos/move", moved).status == 200
    done = commands.done("publish", folder(tmp_path / "two", 2), "--repo_id", repo)
    assert f"{repo}-new" in done["published"] and whole(hub, f"{repo}-new", 2)


def test_private_gated_and_a_branch(commands: Commands, repo: str, tmp_path: Path) -> None:
    hub, one = commands.hub, folder(tmp_path / "one")
    commands.done("publish", one, "--repo_id", repo, "--private")
    assert call(hub, "GET", f"/api/datasets/{repo}", token=hub.stranger_token).status == 404
    commands.done("publish", one, "--repo_id", repo, "--gated", "manual")
    assert call(hub, "GET", f"/api/datasets/{repo}").json()["gated"] == "manual"
    before = head(hub, repo)
    done = commands.done("publish", folder(tmp_path / "two", 2), "--repo_id", repo, "--revision", "next")
    assert head(hub, repo) == before and head(hub, repo, "next") == done["commit"]
    assert "data/part-0-v2.parquet" in tree(hub, repo, "next")


def test_a_dry_run_needs_no_hub(commands: Commands, repo: str, tmp_path: Path) -> None:
    commands.hub.clear_requests()
    done = commands.done("publish", folder(tmp_path / "one"), "--repo_id", repo, "--dry_run")
    assert "nothing was sent" in done["dry_run"] and set(done["files"]) == {
        f"data/part-{i}-v1.parquet" for i in (0, 1)
    }
    assert "# Version 1" in done["card"] and commands.hub.requests() == []


def _card(path: Path, **changes: Any) -> None:
    from tamis.hub.front_matter import split

    metadata, body = split((path / "README.md").read_text())
    (path / "README.md").write_text(join({**metadata, **changes}, body))


def _infos(count: int = 4, column: str = "text") -> list[Mapping[str, Any]]:
    features = [{"name": column, "dtype": "string"}, {"name": "order", "dtype": "int64"}]
    split = {"name": "train", "num_bytes": 1, "num_examples": count}
    return [{"config_name": "low", "features": features, "splits": [split]}]


BAD: dict[str, tuple[int, str, Any]] = {
    "no card": (2, "no README.md", lambda path: (path / "README.md").unlink()),
    "no front matter": (2, "no front matter", lambda path: (path / "README.md").write_text("# hello\n")),
    "broken YAML": (2, "not YAML", lambda path: (path / "README.md").write_text("---\na: [\n---\n")),
    "another count": (1, "low has 4 rows, and its card says 5", lambda path: _card(path, dataset_info=_infos(5))),
    "another column": (1, "low", lambda path: _card(path, dataset_info=_infos(column="texts"))),
    "a file that is gone": (1, "low does not load", lambda path: (path / "data/part-0-v1.parquet").unlink()),
    "a torn file": (1, "low does not load", lambda path: (path / "data/part-0-v1.parquet").write_bytes(b"PAR1")),
    "a link": (2, "not a plain file", lambda path: (path / "more.txt").symlink_to("/etc/hostname")),
    "a token": (2, "looks like a token", lambda path: (path / "notes.txt").write_text("hf_" + "a" * 34)),
    "a token in the card": (2, "looks like a token", lambda path: _card(path, key="hf_" + "b" * 34)),
    "removed rows": (2, "configs with removed rows", lambda path: _removed(path)),
}


def _removed(path: Path) -> None:
    _card(
        path,
        tamis={},
        configs=[
            {"config_name": "removed-20", "data_files": [{"split": "train", "path": ["data/part-0-v1.parquet"]}]}
        ],
        dataset_info=[],
    )


@pytest.mark.parametrize("name", BAD)
def test_a_folder_that_is_not_right_is_not_sent(name: str, commands: Commands, repo: str, tmp_path: Path) -> None:
    code, words, spoil = BAD[name]
    one = folder(tmp_path / "one")
    spoil(one)
    commands.hub.clear_requests()
    assert words in commands.refused(code, "publish", one, "--repo_id", repo)
    assert not [one for one in commands.hub.requests() if one["method"] != "GET"]
    assert call(commands.hub, "GET", f"/api/datasets/{repo}").status == 404


def test_the_record_of_the_run_stays_here(commands: Commands, repo: str, tmp_path: Path) -> None:
    one = folder(tmp_path / "one")
    for name in ("run.yaml", ".lock", ".part.partial", "__pycache__/a.pyc"):
        (one / name).parent.mkdir(exist_ok=True)
        (one / name).write_text("/home/somebody")
    commands.done("publish", one, "--repo_id", repo)
    expected = {".gitattributes", "README.md", "data/part-0-v1.parquet", "data/part-1-v1.parquet"}
    assert tree(commands.hub, repo) == expected


def test_models_and_spaces(commands: Commands, repo: str, tmp_path: Path) -> None:
    hub = commands.hub
    model, space = tmp_path / "model", tmp_path / "space"
    for path, metadata in (
        (model, {"tags": ["tamis"], "library_name": "transformers"}),
        (space, {"tags": ["tamis"], "sdk": "gradio", "app_file": "app.py"}),
    ):
        path.mkdir()
        (path / "README.md").write_text(join(metadata, "# It\n"))
    (model / "model.safetensors").write_bytes(b"\x02" + b"\0" * 7 + b"{}")
    (space / "app.py").write_text("print()\n")
    commands.done("publish", model, "--repo_id", repo, "--repo_type", "model")
    commands.done("publish", space, "--repo_id", repo, "--repo_type", "space")
    for kind, file in (("models", "model.safetensors"), ("spaces", "app.py")):
        listed = call(hub, "GET", f"/api/{kind}/{repo}/tree/main?recursive=true").json()
        assert file in {entry["path"] for entry in listed}
    (model / "pytorch_model.bin").write_bytes(b"pickle")
    said = commands.refused(2, "publish", model, "--repo_id", repo, "--repo_type", "model")
    assert "published as safetensors only" in said


@VERSIONS
def test_both_major_versions_of_the_client(version: str, hub: LoopbackHub, repo: str, tmp_path: Path) -> None:
    for number in (1, 2):
        one = folder(tmp_path / str(number), number)
        code = f"""
            import huggingface_hub
            from tamis import cli
            assert huggingface_hub.__version__.startswith("{version}."), huggingface_hub.__version__
            raise SystemExit(cli.main(["publish", {str(one)!r}, "--repo_id", {repo!r}]))
        """
        run_client(hub, code, tmp_path / "home", version=version)
        assert whole(hub, repo, number)
