"""The files of a commit: listed, looked up, and sent in whole or by range."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.responses import JSONResponse, Response, StreamingResponse

from tamis.hub.loopback.call import Call, Route
from tamis.hub.loopback.refusal import Refusal
from tamis.hub.loopback.store import Commit, File, Repo, lfs_pointer

_PAGE, _PAGE_EXPANDED = 1000, 50
_CHUNK = 1 << 20


def tree(call: Call, kind: str, name: str, revision: str, path: str = "") -> Response:
    """A folder's files and folders, by path, a page at a time."""
    repo = call.repo(kind, name, content=True)
    commit = repo.read_commit(repo.resolve(revision))
    prefix = f"{path.strip('/')}/" if path.strip("/") else ""
    inside = {path: file for path, file in commit.files.items() if path.startswith(prefix)}
    if prefix and not inside:
        raise Refusal(404, f"{path} does not exist on {revision}", "EntryNotFound", {"X-Repo-Commit": commit.sha})
    entries: dict[str, File | None] = {}
    for at, file in inside.items():
        steps = at.removeprefix(prefix).split("/")
        for depth in range(1, len(steps)):
            entries[prefix + "/".join(steps[:depth])] = None
        entries[at] = file
    if not call.asked("recursive"):
        entries = {at: file for at, file in entries.items() if "/" not in at.removeprefix(prefix)}
    expand = call.asked("expand")
    listed = [_entry(repo, commit, at, entries[at], expand) for at in sorted(entries)]
    return call.page(listed, _PAGE_EXPANDED if expand else _PAGE)


def paths_info(call: Call, kind: str, name: str, revision: str) -> Response:
    """What `tree` says of the paths in the form; paths that are not there are left out."""
    repo = call.repo(kind, name, content=True)
    commit = repo.read_commit(repo.resolve(revision))
    form = parse_qs(call.body.decode())
    expand = form.get("expand", [""])[0].lower() == "true"
    found = []
    for path in (given.strip("/") for given in form.get("paths", [])):
        if path in commit.files:
            found.append(_entry(repo, commit, path, commit.files[path], expand))
        elif any(at.startswith(f"{path}/") for at in commit.files):
            found.append(_entry(repo, commit, path, None, expand))
    return JSONResponse(found)


def _entry(repo: Repo, commit: Commit, path: str, file: File | None, expand: bool) -> dict[str, Any]:
    if file:
        entry: dict[str, Any] = {"type": "file", "oid": file.oid, "size": file.size, "path": path}
        if file.lfs:
            pointer = len(lfs_pointer(file.sha256, file.size))
            entry["lfs"] = {"oid": file.sha256, "size": file.size, "pointerSize": pointer}
    else:
        entry = {"type": "directory", "oid": _folder_oid(commit, path), "size": 0, "path": path}
    if expand:
        last = _last_change(repo, commit, path)
        entry["lastCommit"] = {"id": last.sha, "title": last.title, "date": last.date}
        if file:
            scan = {"status": "unscanned"}
            entry["securityFileStatus"] = {**scan, "avScan": scan, "pickleImportScan": None}
    return entry


def _folder_oid(commit: Commit, path: str) -> str:
    inside = [f"{at} {file.oid}" for at, file in commit.files.items() if at.startswith(f"{path}/")]
    return hashlib.sha1("\n".join(inside).encode()).hexdigest()


def _last_change(repo: Repo, commit: Commit, path: str) -> Commit:
    def seen(one: Commit) -> list[tuple[str, File]]:
        return [(at, file) for at, file in one.files.items() if at == path or at.startswith(f"{path}/")]

    wanted, last = seen(commit), commit
    for earlier in repo.history(commit.sha):
        if seen(earlier) != wanted:
            return last
        last = earlier
    return last


def resolve(call: Call, kind: str, name: str, revision: str, path: str) -> Response:
    """A file's content, whole or one range of bytes; for HEAD its headers only."""
    repo = call.repo(kind, name, content=True)
    sha = repo.resolve(revision)
    file = repo.read_commit(sha).files.get(path)
    if file is None:
        raise Refusal(404, "Entry not found", "EntryNotFound", {"X-Repo-Commit": sha})
    headers = {
        "X-Repo-Commit": sha,
        "ETag": f'"{file.sha256 if file.lfs else file.oid}"',
        "Accept-Ranges": "bytes",
        "Content-Type": "application/octet-stream" if file.lfs else "text/plain; charset=utf-8",
    }
    if file.lfs:
        headers |= {"X-Linked-Etag": f'"{file.sha256}"', "X-Linked-Size": str(file.size)}
    start, end, status = 0, file.size, 200
    if given := call.request.headers.get("range"):
        wanted = _range(given, file.size)
        if wanted == (0, 0):
            raise Refusal(
                416, "the range is past the end", headers={**headers, "Content-Range": f"bytes */{file.size}"}
            )
        if wanted:
            (start, end), status = wanted, 206
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{file.size}"
    headers["Content-Length"] = str(end - start)
    if call.request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    return StreamingResponse(_read(repo.store.blob(file.sha256), start, end), status, headers)


def _range(header: str, size: int) -> tuple[int, int] | None:
    """The bytes [start, end) that a `Range` asks for; (0, 0) where there are none; None where it means all."""
    found = re.fullmatch(r"bytes=(\d*)-(\d*)", header.replace(" ", ""))
    if not found or not (found[1] or found[2]):
        return None
    if not found[1]:
        start, end = max(size - int(found[2]), 0), size
    else:
        start, end = int(found[1]), min(int(found[2]) + 1 if found[2] else size, size)
    return (start, end) if start < end else (0, 0)


async def _read(path: Path, start: int, end: int) -> AsyncIterator[bytes]:
    with path.open("rb") as stream:
        stream.seek(start)
        left = end - start
        while left and (chunk := stream.read(min(left, _CHUNK))):
            left -= len(chunk)
            yield chunk


ROUTES = [
    Route("GET", "/api/{T}/{R}/tree/{revision}", tree),
    Route("GET", "/api/{T}/{R}/tree/{revision}/{path}", tree),
    Route("POST", "/api/{T}/{R}/paths-info/{revision}", paths_info),
    Route("GET", "/{P}{R}/resolve/{revision}/{path}", resolve),
]
