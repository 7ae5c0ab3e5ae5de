"""Collections: lists of repositories under a title."""

from __future__ import annotations

import copy
import json
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.responses import JSONResponse, Response

from tamis.hub.loopback.access import can_read, check_namespace
from tamis.hub.loopback.call import Call, Route, done
from tamis.hub.loopback.refusal import Refusal
from tamis.hub.loopback.store import now
from tamis.provenance import write_whole

_PAGE = 100


def _all(call: Call) -> dict[str, dict[str, Any]]:
    path = _path(call)
    found: dict[str, dict[str, Any]] = json.loads(path.read_bytes()) if path.is_file() else {}
    return found


def _path(call: Call) -> Path:
    return call.hub.store.root / "collections.json"


def _found(call: Call, namespace: str, name: str, *, write: bool = False) -> dict[str, Any]:
    found = _all(call).get(f"{namespace}/{name}")
    mine = call.account is not None and call.account.owns(namespace)
    if found is None or (found["private"] and not mine):
        raise Refusal(404, "Collection not found")
    if write:
        check_namespace(call.account, namespace)
    return found


@contextmanager
def _changed(call: Call, found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    changed = copy.deepcopy(found)
    yield changed
    changed["lastUpdated"] = now()
    changed["items"] = [{**item, "position": at} for at, item in enumerate(changed["items"])]
    write_whole(_path(call), json.dumps({**_all(call), changed["slug"]: changed}, indent=1).encode())


def listed(call: Call) -> Response:
    """The collections that the account may see, by owner."""
    owners, mine = call.query.get("owner", []), call.account
    found = [
        {key: value for key, value in one.items() if key != "position"}  # the client counts for itself
        for one in _all(call).values()
        if one["owner"] in (owners or [one["owner"]])
        and (not one["private"] or (mine and mine.owns(one["owner"])))
    ]
    return call.page(found, _PAGE)


def create(call: Call) -> Response:
    """Makes a collection; a second one of the same title is refused with the first one's name."""
    fields = call.json()
    owner, title = str(fields.get("namespace")), str(fields.get("title", ""))
    check_namespace(call.account, owner)
    for one in _all(call).values():
        if (one["owner"], one["title"]) == (owner, title):
            raise Refusal(409, "This collection is there already", body={"slug": one["slug"]})
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    new: dict[str, Any] = {
        "slug": f"{owner}/{words}-{secrets.token_hex(12)}",
        "title": title,
        "owner": owner,
        "items": [],
    }
    new |= {"position": 0, "theme": "blue", "upvotes": 0, "private": bool(fields.get("private"))}
    with _changed(call, {**new, "description": fields.get("description")}) as made:
        pass
    return JSONResponse(made)


def get(call: Call, namespace: str, name: str) -> Response:
    """A collection with its items."""
    return JSONResponse(_found(call, namespace, name))


def delete(call: Call, namespace: str, name: str) -> Response:
    """Removes a collection; what it lists stays."""
    found = _found(call, namespace, name, write=True)
    rest = {slug: one for slug, one in _all(call).items() if slug != found["slug"]}
    write_whole(_path(call), json.dumps(rest, indent=1).encode())
    return done()


def add_item(call: Call, namespace: str, name: str) -> Response:
    """Adds a repository that is there and that the account may see."""
    found, fields = _found(call, namespace, name, write=True), call.json()
    item = fields.get("item") or {}
    repo = call.hub.store.find(f"{item.get('type')}s", str(item.get("id")))
    if repo is None or not can_read(call.account, repo):
        raise Refusal(404, f"there is no {item.get('type')} {item.get('id')}")
    if any((one["id"], one["type"]) == (item["id"], item["type"]) for one in found["items"]):
        raise Refusal(409, f"{item['id']} is in the collection already")
    note = {"note": {"text": fields["note"]}} if fields.get("note") else {}
    with _changed(call, found) as changed:
        changed["items"].append({"_id": secrets.token_hex(12), "id": item["id"], "type": item["type"], **note})
    return JSONResponse(changed)


ROUTES = [
    Route("GET", "/api/collections", listed),
    Route("POST", "/api/collections", create),
    Route("GET", "/api/collections/{namespace}/{name}", get),
    Route("DELETE", "/api/collections/{namespace}/{name}", delete),
    Route("POST", "/api/collections/{namespace}/{name}/items", add_item),
]
