"""What real clients do not notice when a server leaves it out: ranges, parents, pages, LFS flags, ETags."""

from __future__ import annotations

import hashlib
import json
import socket
from pathlib import Path
from urllib.parse import quote

import pytest

from clients import Answer, call, commit, make, run_client, shown
from tamis.hub.loopback.process import LoopbackHub
from tamis.hub.loopback.store import git_oid

CONTENT = bytes(range(256)) * 4


def send_lfs(hub: LoopbackHub, name: str, path: str, content: bytes) -> Answer:
    """Uploads and commits one large file to a data set."""
    oid = hashlib.sha256(content).hexdigest()
    wanted = {"operation": "upload", "transfers": ["basic"], "objects": [{"oid": oid, "size": len(content)}]}
    actions = call(hub, "POST", f"/datasets/{name}.git/info/lfs/objects/batch", wanted).json()["objects"][0]
    if "actions" in actions:
        link = actions["actions"]["upload"]["href"].removeprefix(hub.endpoint)
        assert call(hub, "PUT", link, content, token="").status == 200
    lines = [{"key": "header", "value": {"summary": "large"}}]
    lines.append({"key": "lfsFile", "value": {"path": path, "algo": "sha256", "oid": oid, "size": len(content)}})
    return call(hub, "POST", f"/api/datasets/{name}/commit/main", "\n".join(map(json.dumps, lines)).encode())


@pytest.mark.parametrize(
    ("asked", "status", "content", "said"),
    [
        ("bytes=0-0", 206, CONTENT[:1], "bytes 0-0/1024"),
        ("bytes=100-199", 206, CONTENT[100:200], "bytes 100-199/1024"),
        ("bytes=1000-", 206, CONTENT[1000:], "bytes 1000-1023/1024"),
        ("bytes=1000-9999", 206, CONTENT[1000:], "bytes 1000-1023/1024"),
        ("bytes=-24", 206, CONTENT[-24:], "bytes 1000-1023/1024"),
        ("bytes=-9999", 206, CONTENT, "bytes 0-1023/1024"),
        ("bytes=1024-", 416, None, "bytes */1024"),
        ("bytes=-0", 416, None, "bytes */1024"),
        ("bytes=5-4", 416, None, "bytes */1024"),
        ("bytes=0-1,4-5", 200, CONTENT, None),
        ("lines=0-1", 200, CONTENT, None),
    ],
)
def test_a_range_is_what_is_sent(
    asked: str, status: int, content: bytes | None, said: str | None, hub: LoopbackHub, ranged: str
) -> None:
    answer = call(hub, "GET", ranged, Range=asked)
    assert (answer.status, answer.headers.get("content-range")) == (status, said)
    if content is not None:
        assert answer.body == content and answer.headers["content-length"] == str(len(content))
        logged = hub.requests()[-1]
        assert (logged["range"], logged["sent"], logged["status"]) == (asked, len(content), status)


@pytest.fixture(scope="module")
def ranged(hub_server: LoopbackHub) -> str:
    make(hub_server, "local/ranges", {"x.bin": CONTENT})
    return "/datasets/local/ranges/resolve/main/x.bin"


def test_what_a_head_says_is_true_of_the_content(hub: LoopbackHub) -> None:
    sha = make(hub, "local/heads", {"small.txt": b"small"})
    plain = call(hub, "HEAD", "/datasets/local/heads/resolve/main/small.txt")
    assert plain.body == b"" and plain.headers["content-length"] == "5" and plain.headers["x-repo-commit"] == sha
    assert plain.headers["etag"] == f'"{git_oid(b"small")}"' and "x-linked-etag" not in plain.headers
    sha = send_lfs(hub, "local/heads", "large.parquet", CONTENT).json()["commitOid"]
    large = call(hub, "HEAD", "/datasets/local/heads/resolve/main/large.parquet")
    etag = f'"{hashlib.sha256(CONTENT).hexdigest()}"'
    assert large.headers["etag"] == large.headers["x-linked-etag"] == etag
    assert large.headers["x-linked-size"] == large.headers["content-length"] == "1024"
    assert large.headers["x-repo-commit"] == sha and hub.requests()[-1]["sent"] == 0
    by_sha = call(hub, "GET", f"/datasets/local/heads/resolve/{sha[:9]}/large.parquet")
    assert by_sha.body == CONTENT


def test_a_tree_says_which_files_are_large(hub: LoopbackHub) -> None:
    make(hub, "local/trees", {"a/b/c.txt": b"c", "a/d.txt": b"d", "a.txt": b""})
    send_lfs(hub, "local/trees", "a/e.parquet", CONTENT)
    top = call(hub, "GET", "/api/datasets/local/trees/tree/main").json()
    assert [(one["type"], one["path"]) for one in top] == [
        ("file", ".gitattributes"),
        ("directory", "a"),
        ("file", "a.txt"),
    ]
    inside = call(hub, "GET", "/api/datasets/local/trees/tree/main/a?recursive=true&expand=true").json()
    assert [one["path"] for one in inside] == ["a/b", "a/b/c.txt", "a/d.txt", "a/e.parquet"]
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashlib.sha256(CONTENT).hexdigest()}\n"
    pointer += "size 1024\n"
    large = inside[3]
    assert large["lfs"] == {
        "oid": hashlib.sha256(CONTENT).hexdigest(),
        "size": 1024,
        "pointerSize": len(pointer.encode()),
    }
    assert large["oid"] == git_oid(pointer.encode())
    assert [one["lastCommit"]["title"] for one in inside] == ["files", "files", "files", "large"]
    assert "lfs" not in inside[1] and inside[1]["oid"] == git_oid(b"c")
    folder = call(hub, "GET", f"/api/datasets/local/trees/tree/main/{quote('a/b', safe='')}").json()
    assert [one["path"] for one in folder] == ["a/b/c.txt"]
    missing = call(hub, "GET", "/api/datasets/local/trees/tree/main/nothing")
    assert (missing.status, missing.headers["x-error-code"]) == (404, "EntryNotFound")
    some = call(hub, "POST", "/api/datasets/local/trees/paths-info/main", b"paths=a&paths=a%2Fd.txt&paths=x")
    assert [(one["type"], one["path"]) for one in some.json()] == [("directory", "a"), ("file", "a/d.txt")]


def test_lists_come_in_pages_that_a_client_puts_together(hub: LoopbackHub, tmp_path: Path) -> None:
    names = [f"f/{i:02d}.txt" for i in range(7)]
    make(hub, "pages/one", dict.fromkeys(names, b"x"))
    make(hub, "pages/two", {})
    hub.configure(page_size=2)
    path, seen = "/api/datasets/pages/one/tree/main/f?recursive=true", []
    while path:
        page = call(hub, "GET", path)
        assert len(page.json()) <= 2
        seen += [one["path"] for one in page.json()]
        link = page.headers.get("link", "")
        assert not link or link.endswith('>; rel="next"')
        path = link.partition(">")[0].removeprefix(f"<{hub.endpoint}")
    assert seen == names
    hub.clear_requests()
    code = """
    from huggingface_hub import HfApi
    api = HfApi()
    show([len(api.list_repo_files("pages/one", repo_type="dataset")),
          len(api.list_repo_commits("pages/one", repo_type="dataset")),
          [one.id for one in api.list_datasets(author="pages")],
          [one.id for one in api.list_datasets(author="pages", search="tw")],
          [one.id for one in api.list_datasets(author="pages", limit=1)]])
    """
    assert shown(run_client(hub, code, tmp_path / "home")) == [
        8,
        2,
        ["pages/one", "pages/two"],
        ["pages/two"],
        ["pages/one"],
    ]
    assert sum("/tree/" in one["path"] for one in hub.requests()) == 5  # 8 files and a folder, two by two


def test_a_commit_on_an_old_parent_is_refused_and_changes_nothing(hub: LoopbackHub) -> None:
    old = make(hub, "local/parents", {"a": b"1"})
    where = "datasets/local/parents"
    new = commit(hub, where, {"a": b"2"}, parentCommit=old[:7]).json()["commitOid"]
    late = commit(hub, where, {"a": b"3"}, parentCommit=old)
    assert late.status == 412 and late.headers["x-error-message"].startswith("A commit has happened since")
    assert call(hub, "GET", f"/{where}/resolve/main/a").body == b"2"
    assert call(hub, "GET", f"/api/{where}/revision/main").json()["sha"] == new
    assert [one.get("parent_commit") for one in hub.requests() if "/commit/" in one["path"]][-2:] == [old[:7], old]


def test_a_commit_that_arrives_while_another_is_sent_wins(hub: LoopbackHub) -> None:
    make(hub, "local/slow", {})
    body = json.dumps({"key": "header", "value": {"summary": "slow"}}).encode()
    host, port = hub.endpoint.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as slow:
        head = f"POST /api/datasets/local/slow/commit/main HTTP/1.1\r\nHost: {host}:{port}\r\n"
        head += f"Authorization: Bearer {hub.write_token}\r\nContent-Length: {len(body)}\r\n\r\n"
        slow.sendall(head.encode() + body[:5])
        while not any(
            one["path"].endswith("/slow/commit/main") and one["status"] is None for one in hub.requests()
        ):
            pass
        assert commit(hub, "datasets/local/slow", {"quick.txt": b"1"}).status == 200
        slow.sendall(body[5:])
        assert slow.recv(1000).startswith(b"HTTP/1.1 409")


def test_a_pull_request_from_an_old_parent_conflicts_only_where_both_changed(hub: LoopbackHub) -> None:
    old = make(hub, "local/merges", {"a": b"1", "b": b"1"})
    where = "datasets/local/merges"
    opened = [
        commit(hub, where, {"a": b"pull"}, "?create_pr=1", parentCommit=old),
        commit(hub, where, {"b": b"pull"}, "?create_pr=1", parentCommit=old),
        commit(hub, where, {"a": b"main"}),
    ]
    assert [one.status for one in opened] == [200, 200, 200]
    assert opened[0].json()["pullRequestUrl"] == f"{hub.endpoint}/{where}/discussions/1"
    conflict = call(hub, "POST", f"/api/{where}/discussions/1/merge")
    assert conflict.status == 409 and "in a" in conflict.json()["error"]
    assert call(hub, "GET", f"/api/{where}/discussions/1").json()["filesWithConflicts"] == ["a"]
    assert call(hub, "POST", f"/api/{where}/discussions/2/merge").status == 200
    assert [call(hub, "GET", f"/{where}/resolve/main/{name}").body for name in "ab"] == [b"main", b"pull"]
    inside = call(hub, "GET", f"/{where}/resolve/refs%2Fpr%2F1/a")
    assert inside.body == b"pull" and call(hub, "GET", f"/{where}/resolve/refs/pr/1/a").status == 404


@pytest.mark.parametrize(
    "path", ["../x", "/x", "a//b", "a/./b", ".git/config", "a/.git/x", "", "a/.."], ids=lambda path: path or "none"
)
def test_a_path_that_leaves_the_repository_is_refused(path: str, hub: LoopbackHub) -> None:
    if call(hub, "GET", "/api/datasets/local/paths").status != 200:
        make(hub, "local/paths", {})
    assert commit(hub, "datasets/local/paths", {path: b"x"}).status == 400


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "first line is its header"),
        (b"{", "lines of JSON"),
        (b'{"key": "header"}', "lines of JSON"),
        (b'{"key": "header", "value": {}}', "summary"),
        (b'{"key": "header", "value": {"summary": "x"}}\n{"key": "odd", "value": {"path": "a"}}', "'odd'"),
        (b'{"key": "header", "value": {"summary": "x"}}\n{"key": "file", "value": {"path": "a"}}', "base64"),
        (
            b'{"key": "header", "value": {"summary": "x"}}\n'
            b'{"key": "lfsFile", "value": {"path": "a", "oid": "../../tokens.json"}}',
            "was not uploaded",
        ),
    ],
)
def test_a_commit_that_says_nothing_sensible_is_refused(body: bytes, says: str, hub: LoopbackHub) -> None:
    if call(hub, "GET", "/api/models/local/odd").status != 200:
        make(hub, "local/odd", {}, kind="model")
    answer = call(hub, "POST", "/api/models/local/odd/commit/main", body)
    assert answer.status == 400 and says in answer.json()["error"]


def test_an_upload_that_is_not_what_it_was_called_is_refused(hub: LoopbackHub) -> None:
    make(hub, "local/uploads", {})
    oid = hashlib.sha256(b"right").hexdigest()

    def batch(**more: object) -> Answer:
        wanted = {"transfers": ["basic", "multipart"], "objects": [{"oid": oid, "size": 5, **more}]}
        return call(hub, "POST", "/datasets/local/uploads.git/info/lfs/objects/batch", wanted)

    actions = batch().json()["objects"][0]["actions"]
    link = actions["upload"]["href"].removeprefix(hub.endpoint)
    assert call(hub, "PUT", link, b"wrong", token="").status == 400
    assert call(hub, "PUT", link.partition("?")[0], b"right", token="").status == 403
    assert call(hub, "POST", actions["verify"]["href"].removeprefix(hub.endpoint), {"size": 5}).status == 404
    assert batch(oid="../../../../x").status == 400
    hub.configure(part_size=3)
    upload = batch().json()["objects"][0]["actions"]["upload"]
    links = [upload["header"][f"0000{n}"].removeprefix(hub.endpoint) for n in (1, 2)]
    etags = [
        call(hub, "PUT", link, part, token="").headers["etag"]
        for link, part in zip(links, (b"rig", b"ht"), strict=True)
    ]
    complete = upload["href"].removeprefix(hub.endpoint)

    def completed(*parts: tuple[int, str]) -> int:
        return call(
            hub, "POST", complete, {"parts": [{"partNumber": n, "etag": etag} for n, etag in parts]}
        ).status

    assert completed((1, etags[0]), (2, etags[0])) == 400
    assert completed((1, etags[0])) == 400
    assert completed((1, etags[0]), (2, etags[1])) == 200
    assert "actions" not in batch().json()["objects"][0], "it is there now"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("---\nlicense: mit\n---\n# x", None),
        ("---\nlicense: mit\ndate: 2026-12-01\n---\n", None),
        ("---\nlicense: [mit\n---\n", "YAML Metadata Error"),
        ("---\nscore: .nan\n---\n", "YAML Metadata Error"),
        ("---\n- a\n- b\n---\n", "not a mapping"),
        ("---\nlicense:\n  a: b\n---\n", '"license" must be'),
        ("---\nconfigs:\n- config_name: a\n- config_name: a\n---\n", "names a config twice"),
        ("---\nconfigs: a\n---\n", "must be a list"),
    ],
)
def test_a_card_is_read_as_yaml(text: str, says: str | None, hub: LoopbackHub) -> None:
    answer = call(hub, "POST", "/api/validate-yaml", {"content": text, "repoType": "dataset"})
    assert answer.status == (400 if says else 200)
    assert says is None or says in answer.json()["errors"][0]["message"]
    if call(hub, "GET", "/api/datasets/local/cards").status != 200:
        make(hub, "local/cards", {})
    assert commit(hub, "datasets/local/cards", {"README.md": text.encode()}).status == (400 if says else 200)
    if says is None:
        about = call(hub, "GET", "/api/datasets/local/cards?expand=cardData&expand[]=tags").json()
        assert {*about} == {"_id", "id", "cardData", "tags"} and about["tags"] == ["license:mit"]


def test_what_is_not_there_is_refused_cleanly(hub: LoopbackHub) -> None:
    sha = make(hub, "local/there", {"a": b""})
    entry = call(hub, "GET", "/datasets/local/there/resolve/main/b")
    assert (entry.status, entry.headers["x-error-code"], entry.headers["x-repo-commit"]) == (
        404,
        "EntryNotFound",
        sha,
    )
    revision = call(hub, "GET", "/api/datasets/local/there/revision/v9")
    assert (revision.status, revision.headers["x-error-code"]) == (404, "RevisionNotFound")
    for path in ("/api/agent-harnesses", "/api/datasets/local/there/xet-write-token/main", "/nothing/at/all"):
        assert call(hub, "GET", path).status == 404
    assert call(hub, "GET", "/api/models/bert-base").headers["x-error-code"] == "RepoNotFound"
    assert call(hub, "GET", "/api/models/local/there").headers["x-error-code"] == "RepoNotFound"
