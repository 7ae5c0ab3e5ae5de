"""Commits and what points to them: upload modes, commits, branches, tags."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable
from typing import Any

from starlette.responses import JSONResponse, Response

from tamis.hub.loopback import discussions
from tamis.hub.loopback.call import Call, Route, done
from tamis.hub.loopback.card import read_card
from tamis.hub.loopback.refusal import Refusal
from tamis.hub.loopback.store import File, Repo, git_oid, lfs_pointer

_LFS_SUFFIXES = re.compile(
    r"\.(7z|arrow|bin|bz2|ckpt|gguf|gz|h5|jpg|mp3|mp4|msgpack|npy|npz|onnx|parquet|pdf|pkl|png|pt|pth|safetensors|tar"
    r"|wasm|wav|xz|zip|zst)$",
    re.IGNORECASE,
)
_LFS_BYTES = 10 << 20
_COMMITS_PAGE = 50


def preupload(call: Call, kind: str, name: str, revision: str) -> Response:
    """How each file is to be sent, and what is there under its path: a client leaves out what has not changed."""
    repo = _to_change(call, kind, name, revision)
    there = repo.read_commit(repo.resolve(revision)).files
    answers = []
    for file in call.json().get("files", []):
        path = file["path"]
        lfs = bool(_LFS_SUFFIXES.search(path)) or file["size"] >= _LFS_BYTES
        known = there.get(path)
        oid = None if known is None else known.sha256 if known.lfs else known.oid
        answers.append(
            {"path": path, "uploadMode": "lfs" if lfs else "regular", "shouldIgnore": False, "oid": oid}
        )
    return done({"files": answers})


def commit(call: Call, kind: str, name: str, revision: str) -> Response:
    """Makes a commit on a branch or a pull request, or opens a pull request with it."""
    create_pr = call.asked("create_pr")
    repo = _to_change(call, kind, name, revision)
    assert call.account
    header, operations = _operations(call.body)
    parent = header.get("parentCommit")
    call.logged["parent_commit"] = parent
    if parent is None and call.fault and call.fault.parent_required:
        raise Refusal(400, "parentCommit is required here")
    ref = repo.writable(revision)
    if ref.startswith("refs/pr/"):
        discussions.check_author(call, repo, int(ref.rpartition("/")[2]))
    head = repo.resolve(ref)
    if create_pr and parent:
        head = repo.resolve(parent)  # where the pull request starts
    elif parent and not head.startswith(parent):
        raise Refusal(412, "A commit has happened since. Please refresh and try again.")
    elif repo.changed_at.get(ref, 0) > call.began and not create_pr:
        raise Refusal(409, "Another commit happened while this one was being sent. Please try again.")
    files = _applied(repo, repo.read_commit(head).files, operations)
    title, message = str(header.get("summary", "")), str(header.get("description", ""))
    if not title:
        raise Refusal(400, "a commit needs a summary")
    sha = repo.write_commit([head], files, title, message, call.account.name)
    answer = {"success": True, "commitOid": sha, "commitUrl": f"{call.url(repo)}/commit/{sha}", "hookOutput": ""}
    with repo.changed() as state:
        if create_pr:
            opened = discussions.opened(
                state, call.account.name, title, message, base=ref, start=head, status="open"
            )
            discussions.add_commit(repo, state, opened["num"], sha, title, call.account.name)
            answer["pullRequestUrl"] = f"{call.url(repo)}/discussions/{opened['num']}"
        elif ref.startswith("refs/pr/"):
            discussions.add_commit(repo, state, int(ref.rpartition("/")[2]), sha, title, call.account.name)
        else:
            repo.point(state, ref, sha)
    return done(answer)


def _to_change(call: Call, kind: str, name: str, revision: str) -> Repo:
    """The repository, if the account may commit to the revision, or open a pull request where it asks for one."""
    proposed = call.asked("create_pr") or revision.startswith("refs/pr/")
    return call.repo(kind, name, write=not proposed, propose=proposed)


def commit_of_somebody(call: Call, kind: str, name: str, *, path: str, author: str) -> None:
    """Commits one file to `main` in somebody's name, as if it had arrived just before this call."""
    repo = call.hub.store.find(kind, name)
    if repo is None:
        return
    head = repo.resolve("main")
    files = {**repo.read_commit(head).files, path: repo.store.add_blob(f"after {head}\n".encode())}
    sha = repo.write_commit([head], files, f"Add {path}", "", author)
    with repo.changed() as state:
        repo.point(state, "main", sha)


def _operations(body: bytes) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    try:
        lines = [json.loads(line) for line in body.splitlines() if line.strip()]
        pairs = [(line["key"], line["value"]) for line in lines]
    except (ValueError, KeyError, TypeError) as error:
        raise Refusal(400, "a commit is lines of JSON, each with a key and a value") from error
    if not pairs or pairs[0][0] != "header":
        raise Refusal(400, "a commit's first line is its header")
    return pairs[0][1], pairs[1:]


def _applied(
    repo: Repo, before: dict[str, File], operations: Iterable[tuple[str, dict[str, Any]]]
) -> dict[str, File]:
    """The tree after the operations, in their order; the content of regular files is kept as blobs.

    Raises:
        Refusal: A path, a content, an LFS object or a README is not what it has to be.
    """
    files = dict(before)
    for key, value in operations:
        path = str(value.get("path", ""))
        steps = path.rstrip("/").split("/")
        if "" in steps or {".", "..", ".git"} & {*steps}:
            raise Refusal(400, f"{path!r} is no path of a repository")
        if key == "file":
            try:
                content = base64.b64decode(value["content"], validate=True)
            except (binascii.Error, KeyError, TypeError) as error:
                raise Refusal(400, f"{path}: its content is not base64") from error
            if path == "README.md" and (faults := read_card(content.decode("utf-8", "replace"))[1]):
                raise Refusal(400, f"{path}: {'; '.join(faults)}")
            files[path] = repo.store.add_blob(content)
        elif key == "lfsFile":
            files[path] = _lfs_file(repo, path, str(value.get("oid", "")), value.get("size"))
        elif key in ("deletedFile", "deletedFolder"):
            inside = [at for at in files if at.startswith(path.rstrip("/") + "/")]
            gone = [path] * (path in files) if key == "deletedFile" else inside
            if not gone:
                raise Refusal(404, "A file with this name doesn't exist", "EntryNotFound")
            for at in gone:
                del files[at]
        else:
            raise Refusal(400, f"{key!r} is no operation of a commit")
    return files


def _lfs_file(repo: Repo, path: str, sha256: str, size: int | None) -> File:
    blob = repo.store.blob(sha256)
    if not re.fullmatch(r"[0-9a-f]{64}", sha256) or not blob.is_file():
        raise Refusal(400, f"{path}: the LFS object {sha256} was not uploaded")
    there = blob.stat().st_size
    if size not in (None, there):
        raise Refusal(400, f"{path}: the LFS object {sha256} has {there} bytes, not {size}")
    return File(sha256, there, git_oid(lfs_pointer(sha256, there)), lfs=True)


def commits(call: Call, kind: str, name: str, revision: str) -> Response:
    """The commits of a revision, the last one first, a page at a time."""
    repo = call.repo(kind, name, content=True)
    listed = [
        {
            "id": one.sha,
            "title": one.title,
            "message": one.message,
            "date": one.date,
            "authors": [{"user": one.author}],
        }
        for one in repo.history(repo.resolve(revision))
    ]
    return call.page(listed, _COMMITS_PAGE)


def refs(call: Call, kind: str, name: str) -> Response:
    """Branches and tags, and the pull requests' references where they are asked for."""
    repo = call.repo(kind, name)

    def listed(prefix: str, found: dict[str, str]) -> list[dict[str, str]]:
        return [{"name": ref, "ref": f"{prefix}{ref}", "targetCommit": sha} for ref, sha in found.items()]

    answer = {
        "branches": listed("refs/heads/", repo.state["branches"]),
        "tags": listed("refs/tags/", repo.state["tags"]),
        "converts": [],
    }
    if call.asked("include_prs"):
        answer["pullRequests"] = listed("", repo.pull_heads())
    return JSONResponse(answer)


def create_branch(call: Call, kind: str, name: str, branch: str) -> Response:
    """A branch from `startingPoint`, or from `main`."""
    repo = call.repo(kind, name, write=True)
    if branch.startswith("refs/"):
        raise Refusal(400, f"Invalid reference for a branch: {branch}")
    if branch in repo.state["branches"]:
        raise Refusal(409, f"Reference already exists: refs/heads/{branch}")
    sha = repo.resolve(call.json().get("startingPoint") or "main")
    with repo.changed() as state:
        repo.point(state, branch, sha)
    return done()


def delete_branch(call: Call, kind: str, name: str, branch: str) -> Response:
    """Takes a branch away; its commits stay."""
    repo = call.repo(kind, name, write=True)
    if branch == "main":
        raise Refusal(403, "main is protected")
    if branch not in repo.state["branches"]:
        raise Refusal(404, f"There is no branch {branch}", "RevisionNotFound")
    with repo.changed() as state:
        del state["branches"][branch]
    return done()


def create_tag(call: Call, kind: str, name: str, revision: str) -> Response:
    """A tag on a revision."""
    repo = call.repo(kind, name, write=True)
    sha, tag = repo.resolve(revision), call.json().get("tag")
    if not tag or not isinstance(tag, str):
        raise Refusal(400, "a tag needs a name")
    if tag in repo.state["tags"]:
        raise Refusal(409, f"Tag reference exists already: refs/tags/{tag}")
    with repo.changed() as state:
        state["tags"][tag] = sha
    return done()


def delete_tag(call: Call, kind: str, name: str, tag: str) -> Response:
    """Takes a tag away."""
    repo = call.repo(kind, name, write=True)
    if tag not in repo.state["tags"]:
        raise Refusal(404, f"There is no tag {tag}", "RevisionNotFound")
    with repo.changed() as state:
        del state["tags"][tag]
    return done()


ROUTES = [
    Route("POST", "/api/{T}/{R}/preupload/{revision}", preupload),
    Route("POST", "/api/{T}/{R}/commit/{revision}", commit),
    Route("GET", "/api/{T}/{R}/commits/{revision}", commits),
    Route("GET", "/api/{T}/{R}/refs", refs),
    Route("POST", "/api/{T}/{R}/branch/{branch}", create_branch),
    Route("DELETE", "/api/{T}/{R}/branch/{branch}", delete_branch),
    Route("POST", "/api/{T}/{R}/tag/{revision}", create_tag),
    Route("DELETE", "/api/{T}/{R}/tag/{tag}", delete_tag),
]
