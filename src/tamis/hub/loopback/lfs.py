"""Large files: where to send them, in one piece or in parts, and whether they arrived."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from pathlib import Path
from typing import Any

from starlette.responses import Response

from tamis.hub.loopback.call import Call, Route, done
from tamis.hub.loopback.refusal import Refusal

LINKS = "/_lfs/"
"""Where the upload links lead to. They carry a signature in place of a token, as those of an object store do."""


def batch(call: Call, kind: str, name: str) -> Response:
    """Where to send each object; nothing to do for one that is there."""
    repo, fields = call.repo(kind, name, propose=True), call.json()
    answers = []
    multipart = False
    for wanted in fields.get("objects", []):
        oid, size = str(wanted["oid"]), int(wanted["size"])
        answer: dict[str, Any] = {"oid": oid, "size": size}
        answers.append(answer)
        if not re.fullmatch(r"[0-9a-f]{64}", oid):
            raise Refusal(400, f"{oid!r} is no sha256")
        if repo.store.blob(oid).is_file():
            continue
        parts = -(-size // call.hub.part_size)
        if parts > 1 and "multipart" in fields.get("transfers", []):
            multipart = True
            links = {f"{n:05d}": _link(call, f"part-{n}", oid) for n in range(1, parts + 1)}
            header = {"chunk_size": str(call.hub.part_size), **links}
            answer["actions"] = {"upload": {"href": _link(call, "complete", oid), "header": header}}
        else:
            answer["actions"] = {"upload": {"href": _link(call, "whole", oid)}}
        answer["actions"]["verify"] = {"href": _link(call, "verify", oid)}
    return done({"transfer": "multipart" if multipart else "basic", "objects": answers})


def _link(call: Call, what: str, oid: str) -> str:
    return f"{call.endpoint}{LINKS}{what}/{oid}?signature={_signature(call, what, oid)}"


def _signature(call: Call, what: str, oid: str) -> str:
    return hmac.new(call.hub.secret.encode(), f"{what}/{oid}".encode(), "sha256").hexdigest()


def _checked(call: Call, what: str, oid: str) -> Path:
    """The folder for what is on its way, once the link's signature is right."""
    if not hmac.compare_digest(call.query.get("signature", [""])[0], _signature(call, what, oid)):
        raise Refusal(403, "the link is not one of this server's")
    folder = call.hub.store.root / "uploads"
    folder.mkdir(exist_ok=True)
    return folder


async def put(call: Call, what: str, oid: str) -> Response:
    """Takes a whole object, or one part of it; a whole one has to have the sha256 that it was announced by."""
    folder = _checked(call, what, oid)
    arriving = folder / f"{secrets.token_hex(8)}.partial"
    sha256 = hashlib.sha256()
    try:
        with arriving.open("wb") as stream:
            async for chunk in call.request.stream():
                sha256.update(chunk)
                stream.write(chunk)
        if what == "whole":
            _keep(call, arriving, oid, sha256.hexdigest())
        else:
            arriving.replace(folder / f"{oid}.{what}")
    finally:
        arriving.unlink(missing_ok=True)
    return Response(headers={"ETag": f'"{sha256.hexdigest()}"'})


def complete(call: Call, oid: str) -> Response:
    """Joins the parts of an object."""
    folder = _checked(call, "complete", oid)
    parts = sorted(call.json().get("parts", []), key=lambda part: int(part["partNumber"]))
    paths = [folder / f"{oid}.part-{part['partNumber']}" for part in parts]
    joined = folder / f"{secrets.token_hex(8)}.partial"
    sha256 = hashlib.sha256()
    try:
        with joined.open("wb") as stream:
            for path, part in zip(paths, parts, strict=True):
                content = path.read_bytes() if path.is_file() else b""
                if hashlib.sha256(content).hexdigest() != str(part["etag"]).strip('"'):
                    raise Refusal(400, f"part {part['partNumber']} of {oid} did not arrive as it is named")
                sha256.update(content)
                stream.write(content)
        _keep(call, joined, oid, sha256.hexdigest())
    finally:
        joined.unlink(missing_ok=True)
    for path in paths:
        path.unlink()
    return done({"success": True})


def _keep(call: Call, arrived: Path, oid: str, sha256: str) -> None:
    if sha256 != oid:
        raise Refusal(400, f"what arrived has the sha256 {sha256}, not {oid}")
    blob = call.hub.store.blob(oid)
    blob.parent.mkdir(parents=True, exist_ok=True)
    arrived.replace(blob)


def verify(call: Call, oid: str) -> Response:
    """Whether an object is there with its size."""
    _checked(call, "verify", oid)
    blob = call.hub.store.blob(oid)
    if not blob.is_file() or blob.stat().st_size != call.json().get("size"):
        raise Refusal(404, f"{oid} did not arrive")
    return done()


ROUTES = [
    Route("POST", "/{P}{R}.git/info/lfs/objects/batch", batch),
    Route("PUT", LINKS + "{what}/{oid}", put),
    Route("POST", LINKS + "complete/{oid}", complete),
    Route("POST", LINKS + "verify/{oid}", verify),
]
