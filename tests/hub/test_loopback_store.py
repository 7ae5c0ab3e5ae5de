"""The folder behind a server: what a kill, a restart and a second server do to it."""

from __future__ import annotations

import asyncio
import base64
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clients import call, commit, make
from tamis.errors import WorkError
from tamis.hub.loopback.access import tokens_of
from tamis.hub.loopback.app import LoopbackApp
from tamis.hub.loopback.call import Hub
from tamis.hub.loopback.process import LoopbackHub
from tamis.hub.loopback.store import KINDS, Store

NAME = "datasets/local/set"


def answered(root: Path, method: str, path: str, body: Any) -> int:
    """The status of one call to a server that runs in this process, without a socket."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    tokens = tokens_of(root)
    path, _, query = path.partition("?")
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "http_version": "1.1"}
    scope |= {
        "query_string": query.encode(),
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 1),
        "scheme": "http",
    }
    scope["headers"] = [(b"authorization", f"Bearer {tokens.write}".encode()), (b"host", b"127.0.0.1:1")]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(LoopbackApp(Hub(Store(root), tokens), print)(scope, receive, send))
    return int(sent[0]["status"])


def change(path: str, content: bytes, **header: str) -> bytes:
    value = {"path": path, "content": base64.b64encode(content).decode(), "encoding": "base64"}
    lines = [{"key": "header", "value": {"summary": "s", **header}}, {"key": "file", "value": value}]
    return "\n".join(map(json.dumps, lines)).encode()


CALLS: dict[str, tuple[str, str, Any]] = {
    "commit": ("POST", f"/api/{NAME}/commit/main", change("a.txt", b"new")),
    "propose": ("POST", f"/api/{NAME}/commit/main?create_pr=1", change("b.txt", b"new")),
    "merge": ("POST", f"/api/{NAME}/discussions/1/merge", {}),
    "tag": ("POST", f"/api/{NAME}/tag/main", {"tag": "v2"}),
    "create": ("POST", "/api/repos/create", {"name": "other", "organization": "local", "type": "dataset"}),
    "move": ("POST", "/api/repos/move", {"fromRepo": "local/set", "toRepo": "local/moved", "type": "dataset"}),
    "delete": ("DELETE", "/api/repos/delete", {"name": "set", "organization": "local", "type": "dataset"}),
    "collect": ("POST", "/api/collections", {"title": "All", "namespace": "local"}),
}


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with one data set that has a pull request."""
    root = tmp_path_factory.mktemp("before")
    create = {"name": "set", "organization": "local", "type": "dataset"}
    assert answered(root, "POST", "/api/repos/create", create) == 200
    assert answered(root, "POST", f"/api/{NAME}/commit/main", change("a.txt", b"old")) == 200
    assert answered(root, "POST", f"/api/{NAME}/commit/main?create_pr=1", change("pull.txt", b"pull")) == 200
    return root


def visible(root: Path) -> Any:
    """All that a client could see, without what differs from run to run: shas and times."""
    store, seen = Store(root), {}
    for kind in KINDS:
        for repo in store.all(kind):
            refs = {**repo.state["branches"], **repo.state["tags"], **repo.pull_heads()}
            trees = {}
            for ref, sha in refs.items():
                files = repo.read_commit(sha).files
                trees[ref] = {path: store.blob(file.sha256).read_text() for path, file in files.items()}
            talks = [[one["status"], len(one["events"])] for one in repo.state.get("discussions", [])]
            seen[f"{kind}/{repo.name}"] = [trees, talks, sum(1 for _ in repo.history(repo.resolve("main")))]
    collections = root / "collections.json"
    titles = (
        [one["title"] for one in json.loads(collections.read_bytes()).values()] if collections.is_file() else []
    )
    return [seen, store.moved_to("datasets", "local/set"), titles]


def dying(root: Path, what: str, last_write: int) -> None:
    """Runs in a child: one call, dead before the write of that number."""
    seen = 0

    def hook(event: str, values: tuple[Any, ...]) -> None:
        nonlocal seen
        if event not in ("open", "os.rename", "os.mkdir", "shutil.rmtree", "os.remove", "os.rmdir"):
            return
        if not str(values[0]).startswith((str(root), "repo.json", "commits")):
            return
        if event == "open" and (values[1] is None or not {*"wax+"} & {*str(values[1])}):
            return
        if event == "open" and not str(values[0]).endswith(".partial"):
            os._exit(3)  # a kill would leave half of it under its own name
        if seen == last_write:
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1

    sys.addaudithook(hook)
    os._exit(0 if answered(root, *CALLS[what]) == 200 else 1)


@pytest.mark.parametrize("what", CALLS)
def test_a_kill_before_any_write_leaves_the_old_or_the_new(what: str, before: Path, tmp_path: Path) -> None:
    old = visible(before)
    whole = tmp_path / "whole"
    shutil.copytree(before, whole)
    assert answered(whole, *CALLS[what]) == 200
    new = visible(whole)
    assert new != old
    found = []
    for last_write in range(100):
        root = tmp_path / str(last_write)
        shutil.copytree(before, root)
        child = multiprocessing.get_context("fork").Process(target=dying, args=(root, what, last_write))
        child.start()
        child.join()
        found.append(visible(root))
        assert found[-1] in (old, new), f"killed before write {last_write}"
        assert answered(root, "POST", "/api/repos/create", {"name": "n", "type": "model"}) == 200
        if child.exitcode == 0:
            break
        assert child.exitcode == -signal.SIGKILL
    assert len(found) > 2 and found[0] == old and found[-1] == new


def test_a_server_goes_on_from_its_folder(tmp_path: Path) -> None:
    with LoopbackHub(tmp_path / "root") as hub:
        sha = make(hub, "local/kept", {"a": b"a"})
        token = hub.write_token
        hub.kill()
    with LoopbackHub(tmp_path / "root") as hub:
        assert hub.write_token == token
        assert call(hub, "GET", "/api/datasets/local/kept").json()["sha"] == sha
        assert call(hub, "GET", "/datasets/local/kept/resolve/main/a").body == b"a"
        assert commit(hub, "datasets/local/kept", {"a": b"b"}, parentCommit=sha).status == 200
        with pytest.raises(WorkError, match="another tamis hub serves this folder"):
            LoopbackHub(tmp_path / "root").start()
        taken = int(hub.endpoint.rpartition(":")[2])
        with pytest.raises(WorkError, match=f"--port {taken}: Address already in use"):
            LoopbackHub(tmp_path / "other", taken).start()
        assert call(hub, "GET", "/api/whoami-v2").status == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_says_where_it_listens_and_stops_when_it_is_told(number: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tamis.cli", "hub", "--root", str(tmp_path / "root"), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        lines = [process.stdout.readline().strip() for _ in range(8)]
        process.send_signal(number)
        rest, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    keys = ["endpoint", "write token", "read token", "for the clients"]
    assert [line.partition(":")[0] for line in lines[:4]] == keys
    assert [line.partition("=")[0] for line in lines[4:]] == [
        "export HF_ENDPOINT",
        "export HF_HUB_DISABLE_XET",
        "export HF_HUB_OFFLINE",
        "export HF_TOKEN",
    ]
    assert lines[0].startswith("endpoint: http://127.0.0.1:")
    assert (process.returncode, rest, errors) == (0, "", "")
    assert not (tmp_path / "root" / ".lock").exists()


@pytest.mark.parametrize("port", ["-1", "65536", "x", "80"])
def test_a_port_that_cannot_be_had_is_one_sentence(port: str, tmp_path: Path) -> None:
    if port == "80" and os.geteuid() == 0:
        pytest.skip("root may take any port")
    command = [sys.executable, "-m", "tamis.cli", "hub", "--root", str(tmp_path), f"--port={port}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "port" in done.stderr


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(WorkError, match="holds something else; name another --root"):
        LoopbackHub(tmp_path).start()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
