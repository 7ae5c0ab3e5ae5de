"""Repositories as a whole, and accounts: made, listed, described, renamed, gated, removed."""

from __future__ import annotations

import re
from typing import Any

from starlette.responses import JSONResponse, Response

from tamis.hub.loopback.access import OWNER, can_read, check_namespace
from tamis.hub.loopback.call import PREFIX, Call, Route, done
from tamis.hub.loopback.card import read_card, tags_of
from tamis.hub.loopback.refusal import Refusal
from tamis.hub.loopback.spaces import kept
from tamis.hub.loopback.store import KINDS, Commit, Repo, lfs_pointer

_PAGE = 1000
_SDKS = ("gradio", "docker", "static")


def whoami(call: Call) -> Response:
    """The account, and the namespaces that it may write in."""
    if call.account is None:
        raise Refusal(401, "Invalid username or password.")
    me = call.account.name
    spaces = {repo.name.partition("/")[0] for kind in KINDS for repo in call.hub.store.all(kind)}
    orgs = [
        {"name": one, "type": "org", "roleInOrg": "admin"}
        for one in sorted(spaces - {me})
        if call.account.owns(one)
    ]
    user = {"type": "user", "id": me, "name": me, "fullname": me, "email": None, "isPro": me == OWNER}
    token = {"displayName": f"{me}-{call.account.role}", "role": call.account.role}
    return JSONResponse({**user, "orgs": orgs, "auth": {"type": "access_token", "accessToken": token}})


def create(call: Call) -> Response:
    """Makes a repository in the account's own namespace, or in one that is named."""
    fields = call.json()
    kind, name = _named(call, fields)
    check_namespace(call.account, name.partition("/")[0])
    assert call.account
    answer = {"url": f"{call.endpoint}/{PREFIX[kind]}{name}", "name": name, "id": name}
    if call.hub.store.find(kind, name):
        raise Refusal(409, f"You already created this {kind[:-1]} repo: {name}", body=answer)
    facts: dict[str, Any] = {"private": _private(fields) or False, "gated": False, "granted": []}
    if kind == "spaces":
        if fields.get("sdk") not in _SDKS:
            raise Refusal(400, f"sdk has to be one of {', '.join(_SDKS)}")
        facts |= {"sdk": fields["sdk"], "hardware": fields.get("hardware") or "cpu-basic"}
        facts["sleep"] = fields.get("sleepTimeSeconds")
        for key in ("variables", "secrets"):
            facts[key] = {one["key"]: kept(one, key) for one in fields.get(key) or []}
    call.hub.store.create(kind, name, call.account.name, **facts)
    return done(answer)


def _named(call: Call, fields: dict[str, Any]) -> tuple[str, str]:
    kind = f"{fields.get('type') or 'model'}s"
    name = f"{fields.get('organization') or (call.account.name if call.account else '-')}/{fields.get('name')}"
    if kind not in KINDS or not re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", name, re.ASCII):
        raise Refusal(
            400, f"{kind[:-1]} {name}: a type is model, dataset or space, a name letters, digits and -_."
        )
    return kind, name


def _private(fields: dict[str, Any]) -> bool | None:
    if fields.get("visibility"):
        return bool(fields["visibility"] != "public")
    return fields.get("private")


def delete(call: Call) -> Response:
    """Removes a repository."""
    kind, name = _named(call, call.json())
    call.hub.store.delete(call.repo(kind, name, write=True))
    return done()


def move(call: Call) -> Response:
    """Renames a repository; its old name goes on leading to it."""
    fields = call.json()
    namespace, _, short = str(fields.get("toRepo")).partition("/")
    kind, name = _named(call, {**fields, "organization": namespace, "name": short})
    repo = call.repo(kind, str(fields.get("fromRepo")), write=True)
    check_namespace(call.account, name.partition("/")[0])
    if call.hub.store.find(kind, name):
        raise Refusal(409, f"{name} is there already")
    call.hub.store.move(repo, name)
    return done()


def set_settings(call: Call, kind: str, name: str) -> Response:
    """Makes a repository private or public, and gated or not."""
    repo, fields = call.repo(kind, name, write=True), call.json()
    if fields.get("gated", False) not in (False, "auto", "manual"):
        raise Refusal(400, "gated is auto, manual or false")
    with repo.changed() as state:
        state["gated"] = fields.get("gated", state["gated"])
        private = _private(fields)
        state["private"] = state["private"] if private is None else private
    return done({"private": repo.state["private"], "gated": repo.state["gated"]})


def grant(call: Call, kind: str, name: str) -> Response:
    """Lets a user read a gated repository."""
    repo = call.repo(kind, name, write=True)
    with repo.changed() as state:
        state["granted"].append(str(call.json().get("user")))
    return done()


def auth_check(call: Call, kind: str, name: str) -> Response:
    """Whether the account may read the content."""
    call.repo(kind, name, content=True)
    return done()


def auth_check_write(call: Call, kind: str, name: str) -> Response:
    """Whether the account may write."""
    call.repo(kind, name, write=True)
    return done()


def info(call: Call, kind: str, name: str, revision: str = "main") -> Response:
    """What is known about a repository at a revision; with `expand`, only what it names."""
    repo = call.repo(kind, name)
    return JSONResponse(_described(call, repo, repo.read_commit(repo.resolve(revision))))


def listed(call: Call, kind: str) -> Response:
    """The repositories that the account may see, by author, text and tags."""
    author, search, tags = (call.query.get(key, []) for key in ("author", "search", "filter"))
    found = []
    for repo in call.hub.store.all(kind):
        named = repo.name.partition("/")[0] in (author or [repo.name.partition("/")[0]])
        if not named or not can_read(call.account, repo) or any(text not in repo.name for text in search):
            continue
        fields = _described(call, repo, repo.read_commit(repo.resolve("main")))
        if {*tags} <= {*fields.get("tags", [])}:
            found.append(fields if call.asked("full") else {k: v for k, v in fields.items() if k != "siblings"})
    return call.page(found, _PAGE)


def _described(call: Call, repo: Repo, commit: Commit) -> dict[str, Any]:
    card = _card(repo, commit)
    fields: dict[str, Any] = {"_id": repo.folder.name, "id": repo.name, "author": repo.name.partition("/")[0]}
    fields |= {"sha": commit.sha, "lastModified": commit.date, "createdAt": repo.state["created"]}
    fields |= {"private": repo.state["private"], "gated": repo.state["gated"], "disabled": False}
    fields |= {"downloads": 0, "likes": 0, "usedStorage": sum(one.size for one in commit.files.values())}
    fields |= {"tags": tags_of(card), "cardData": card}
    blobs = call.asked("blobs")
    fields["siblings"] = [_sibling(commit, path, blobs) for path in commit.files]
    if repo.kind == "models":
        fields |= {"modelId": repo.name, **{key: card.get(key) for key in ("pipeline_tag", "library_name")}}
    if repo.kind == "spaces":
        fields |= {"sdk": repo.state["sdk"]}
    if wanted := call.query.get("expand"):
        return {key: value for key, value in fields.items() if key in ("_id", "id", *wanted)}
    return fields


def _sibling(commit: Commit, path: str, blobs: bool) -> dict[str, Any]:
    file = commit.files[path]
    fields: dict[str, Any] = {"rfilename": path}
    if blobs:
        fields |= {"size": file.size, "blobId": file.oid}
        if file.lfs:
            pointer = len(lfs_pointer(file.sha256, file.size))
            fields["lfs"] = {"sha256": file.sha256, "size": file.size, "pointerSize": pointer}
    return fields


def _card(repo: Repo, commit: Commit) -> dict[str, Any]:
    readme = commit.files.get("README.md")
    return read_card(repo.store.blob(readme.sha256).read_text("utf-8", "replace"))[0] if readme else {}


def validate_yaml(call: Call) -> Response:
    """What is wrong with a README's metadata, and what is missing."""
    _, errors, warnings = read_card(str(call.json().get("content", "")))
    body = {"errors": [{"message": one} for one in errors], "warnings": [{"message": one} for one in warnings]}
    return JSONResponse(body, 400 if errors else 200)


ROUTES = [
    Route("GET", "/api/whoami-v2", whoami),
    Route("POST", "/api/repos/create", create),
    Route("DELETE", "/api/repos/delete", delete),
    Route("POST", "/api/repos/move", move),
    Route("POST", "/api/validate-yaml", validate_yaml),
    Route("PUT", "/api/{T}/{R}/settings", set_settings),
    Route("POST", "/api/{T}/{R}/user-access-request/grant", grant),
    Route("GET", "/api/{T}/{R}/auth-check", auth_check),
    Route("GET", "/api/{T}/{R}/auth-check/write", auth_check_write),
    Route("GET", "/api/{T}/{R}/revision/{revision}", info),
    Route("GET", "/api/{T}/{R}", info),
    Route("GET", "/api/{T}", listed),
]
