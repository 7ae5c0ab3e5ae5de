"""Discussions and pull requests: opened, commented, closed, merged."""

from __future__ import annotations

import secrets
from typing import Any

from starlette.responses import JSONResponse, Response

from tamis.hub.loopback.access import check_namespace
from tamis.hub.loopback.call import Call, Route, done
from tamis.hub.loopback.refusal import Refusal
from tamis.hub.loopback.store import File, Repo, now

_PAGE = 50


def opened(
    state: dict[str, Any], author: str, title: str, description: str, *, base: str, start: str | None, status: str
) -> dict[str, Any]:
    """A new discussion in a repository's state; a pull request where it starts from a commit.

    Args:
        state: The state that is being changed.
        author: Who opens it.
        title: Its title.
        description: Its first comment.
        base: The branch that a pull request is to be merged into.
        start: The commit that a pull request starts from; None for a discussion.
        status: `open`, or `draft`.
    """
    found = state.setdefault("discussions", [])
    discussion: dict[str, Any] = {
        "num": len(found) + 1,
        "title": title,
        "author": author,
        "createdAt": now(),
        "status": status,
    }
    discussion |= {"isPullRequest": start is not None, "base": base, "start": start, "head": start, "events": []}
    discussion["events"].append(_comment(author, description))
    found.append(discussion)
    return discussion


def add_commit(repo: Repo, state: dict[str, Any], num: int, sha: str, subject: str, author: str) -> None:
    """Moves a pull request on to a commit, in a state that is being changed."""
    repo.point(state, f"refs/pr/{num}", sha)
    state["discussions"][num - 1]["events"].append(_event("commit", author, {"subject": subject, "oid": sha}))


def check_author(call: Call, repo: Repo, num: int) -> None:
    """Refuses to change a discussion to all but its author and the repository's owner.

    Raises:
        Refusal: The account is neither.
    """
    if call.account is None or call.account.name != _found(repo.state, num)["author"]:
        check_namespace(call.account, repo.name.partition("/")[0])


def _event(kind: str, author: str, data: dict[str, Any]) -> dict[str, Any]:
    who = {"name": author, "type": "user"}
    return {"id": secrets.token_hex(12), "type": kind, "createdAt": now(), "author": who, "data": data}


def _comment(author: str, text: str) -> dict[str, Any]:
    latest = {"raw": text, "html": "", "updatedAt": now(), "author": {"name": author}}
    return _event("comment", author, {"edited": False, "hidden": False, "latest": latest, "history": []})


def _found(state: dict[str, Any], num: int | str) -> dict[str, Any]:
    found = state.get("discussions", [])
    if not str(num).isdecimal() or not 0 < int(num) <= len(found):
        raise Refusal(404, f"There is no discussion {num}")
    discussion: dict[str, Any] = found[int(num) - 1]
    return discussion


def _short(repo: Repo, discussion: dict[str, Any]) -> dict[str, Any]:
    keys = ("num", "title", "createdAt", "status", "isPullRequest")
    where = {"name": repo.name, "type": repo.kind[:-1]}
    return {**{key: discussion[key] for key in keys}, "author": {"name": discussion["author"]}, "repo": where}


def create(call: Call, kind: str, name: str) -> Response:
    """Opens a discussion, or a pull request without a commit yet, which is a draft."""
    repo, fields = call.repo(kind, name, propose=True), call.json()
    assert call.account
    pull = bool(fields.get("pullRequest"))
    start = repo.resolve("main") if pull else None
    text = str(fields.get("description", ""))
    if len(str(fields.get("title", ""))) < 3:
        raise Refusal(400, "a discussion's title has at least 3 characters")
    with repo.changed() as state:
        status = "draft" if pull else "open"
        new = opened(state, call.account.name, fields["title"], text, base="main", start=start, status=status)
    return done({"num": new["num"], "pullRequest": pull, "url": f"{call.url(repo)}/discussions/{new['num']}"})


def listed(call: Call, kind: str, name: str) -> Response:
    """The discussions, the last one first, a page at a time."""
    repo = call.repo(kind, name)
    wanted = {key: call.query[key][0] for key in ("status", "author") if call.query.get(key, ["all"]) != ["all"]}
    pull = {"pull_request": True, "discussion": False}.get(call.query.get("type", ["all"])[0])
    found = [
        one
        for one in reversed(repo.state.get("discussions", []))
        if pull in (None, one["isPullRequest"]) and all(one[key] == value for key, value in wanted.items())
    ]
    size = call.hub.page_size or _PAGE
    start = size * int(call.query.get("p", ["0"])[0])
    page = [_short(repo, one) for one in found[start : start + size]]
    return JSONResponse({"count": len(found), "start": start, "discussions": page})


def details(call: Call, kind: str, name: str, num: str) -> Response:
    """A discussion with its events; of a pull request also what is in the way of merging it."""
    repo = call.repo(kind, name)
    discussion = _found(repo.state, num)
    answer = {**_short(repo, discussion), "events": discussion["events"]}
    if discussion["isPullRequest"]:
        merge_commit = discussion.get("mergeCommitId")
        answer["changes"] = {"base": f"refs/heads/{discussion['base']}"}
        answer["changes"] |= {"mergeCommitId": merge_commit} if merge_commit else {}
        answer["filesWithConflicts"] = [] if merge_commit else _merged(repo, discussion)[1]
    return JSONResponse(answer)


def comment(call: Call, kind: str, name: str, num: str) -> Response:
    """Adds a comment."""
    repo = call.repo(kind, name, propose=True)
    assert call.account
    with repo.changed() as state:
        event = _comment(call.account.name, str(call.json().get("comment", "")))
        _found(state, num)["events"].append(event)
    return done({"newMessage": event})


def change_status(call: Call, kind: str, name: str, num: str) -> Response:
    """Opens or closes a discussion; a draft becomes an open pull request."""
    repo = call.repo(kind, name, propose=True)
    check_author(call, repo, _found(repo.state, num)["num"])
    assert call.account
    fields = call.json()
    if fields.get("status") not in ("open", "closed") or _found(repo.state, num)["status"] == "merged":
        raise Refusal(400, "a status is open or closed, and a merged pull request stays merged")
    with repo.changed() as state:
        discussion = _found(state, num)
        if fields.get("comment"):
            discussion["events"].append(_comment(call.account.name, str(fields["comment"])))
        event = _event("status-change", call.account.name, {"status": fields["status"]})
        discussion["status"] = fields["status"]
        discussion["events"].append(event)
    return done({"newStatus": event})


def merge(call: Call, kind: str, name: str, num: str) -> Response:
    """Merges an open pull request: one commit on its base branch, whole or not at all."""
    repo = call.repo(kind, name, write=True)
    assert call.account
    pull = _found(repo.state, num)
    if not pull["isPullRequest"] or pull["status"] != "open":
        raise Refusal(400, f"{num} is not an open pull request")
    files, conflicts = _merged(repo, pull)
    if conflicts:
        raise Refusal(409, f"the pull request conflicts with {pull['base']} in {', '.join(conflicts)}")
    parents = [repo.resolve(pull["base"]), pull["head"]]
    author = call.account.name
    sha = repo.write_commit(parents, files, f"{pull['title']} (#{num})", "", author)
    with repo.changed() as state:
        repo.point(state, pull["base"], sha)
        merged = _found(state, num)
        merged |= {"status": "merged", "mergeCommitId": sha}
        if text := call.json().get("comment"):
            merged["events"].append(_comment(author, str(text)))
        merged["events"].append(_event("status-change", author, {"status": "merged"}))
    return done({"mergeCommitId": sha})


def _merged(repo: Repo, pull: dict[str, Any]) -> tuple[dict[str, File], list[str]]:
    """The base branch's files with the pull request's changes, and the paths that both changed differently."""
    start, head = (repo.read_commit(pull[key]).files for key in ("start", "head"))
    base = repo.read_commit(repo.resolve(pull["base"])).files
    changed = [path for path in {*start, *head} if start.get(path) != head.get(path)]
    conflicts = [path for path in changed if base.get(path) not in (start.get(path), head.get(path))]
    files = {path: file for path, file in base.items() if path not in changed}
    return files | {path: head[path] for path in changed if path in head}, sorted(conflicts)


ROUTES = [
    Route("POST", "/api/{T}/{R}/discussions", create),
    Route("GET", "/api/{T}/{R}/discussions", listed),
    Route("GET", "/api/{T}/{R}/discussions/{num}", details),
    Route("POST", "/api/{T}/{R}/discussions/{num}/comment", comment),
    Route("POST", "/api/{T}/{R}/discussions/{num}/status", change_status),
    Route("POST", "/api/{T}/{R}/discussions/{num}/merge", merge),
]
