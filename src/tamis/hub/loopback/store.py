"""The repositories on disk: names, commits, references, and blobs by their sha256.

Everything that can change about a repository stands in one `repo.json`, and all names in one `names.json`. Blobs
and commits are written before the file that refers to them, so a process that is killed between any two writes
leaves every repository as it was before the call, or as it is after.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from tamis.hub.loopback.refusal import Refusal
from tamis.provenance import write_whole

KINDS = ("models", "datasets", "spaces")
ATTRIBUTES = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n*.safetensors filter=lfs diff=lfs merge=lfs -text\n"


@dataclass(frozen=True)
class File:
    """A file of a commit: its content's sha256 and bytes, its git object id, and whether it is an LFS file."""

    sha256: str
    size: int
    oid: str
    lfs: bool


@dataclass(frozen=True)
class Commit:
    """A commit: what it came from and the whole tree after it."""

    sha: str
    parents: list[str]
    date: str
    title: str
    message: str
    author: str
    files: dict[str, File]


def now() -> str:
    """The time in UTC as the Hub writes it."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def git_oid(content: bytes) -> str:
    """Git's name of a blob: 40 hexadecimal digits."""
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content)).hexdigest()


def lfs_pointer(sha256: str, size: int) -> bytes:
    """What git keeps in place of an LFS file's content."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()


class Store:
    """All repositories below a folder.

    Args:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._names_file = root / "names.json"
        self._names: dict[str, Any] = {"repos": {}, "moved": {}}
        if self._names_file.is_file():
            self._names = json.loads(self._names_file.read_bytes())
        self._repos: dict[str, Repo] = {}
        self.clock = 0  # goes on with every change of a reference

    def find(self, kind: str, name: str) -> Repo | None:
        """The repository of that name; None where there is none."""
        folder = self._names["repos"].get(f"{kind}/{name}")
        if folder is None:
            return None
        if folder not in self._repos:
            self._repos[folder] = Repo(self, self.root / "repos" / folder)
        repo = self._repos[folder]
        repo.kind, repo.name = kind, name
        return repo

    def moved_to(self, kind: str, name: str) -> str | None:
        """The name that a renamed repository has now; None where that name was never given up."""
        moved = self._names["moved"].get(f"{kind}/{name}")
        return None if moved is None else str(moved).partition("/")[2]

    def all(self, kind: str) -> list[Repo]:
        """All repositories of a kind, by name."""
        names = sorted(key.partition("/")[2] for key in self._names["repos"] if key.startswith(f"{kind}/"))
        return [repo for name in names if (repo := self.find(kind, name))]

    def create(self, kind: str, name: str, author: str, **facts: Any) -> Repo:
        """A new repository with one commit, as the Hub makes it."""
        folder = secrets.token_hex(12)
        repo = Repo(self, self.root / "repos" / folder, {"created": now(), "branches": {}, "tags": {}, **facts})
        files = {".gitattributes": self.add_blob(ATTRIBUTES)}
        repo.state["branches"]["main"] = repo.write_commit([], files, "initial commit", "", author)
        repo.save(repo.state)
        with self._changed_names() as names:
            names["repos"][f"{kind}/{name}"] = folder
            names["moved"].pop(f"{kind}/{name}", None)
        found = self.find(kind, name)
        assert found
        return found

    def move(self, repo: Repo, name: str) -> None:
        """Renames a repository; its old names lead to the new one."""
        old, new = f"{repo.kind}/{repo.name}", f"{repo.kind}/{name}"
        with self._changed_names() as names:
            names["repos"][new] = names["repos"].pop(old)
            names["moved"] = {key: new if value == old else value for key, value in names["moved"].items()}
            names["moved"][old] = new
            names["moved"].pop(new, None)

    def delete(self, repo: Repo) -> None:
        """Removes a repository; its blobs stay, as others may have the same."""
        key = f"{repo.kind}/{repo.name}"
        with self._changed_names() as names:
            del names["repos"][key]
            names["moved"] = {old: new for old, new in names["moved"].items() if new != key}
        self._repos.pop(repo.folder.name, None)
        shutil.rmtree(repo.folder, ignore_errors=True)

    def blob(self, sha256: str) -> Path:
        """Where a blob lies, if it is there."""
        return self.root / "blobs" / sha256[:2] / sha256

    def add_blob(self, content: bytes) -> File:
        """Keeps content as a regular file."""
        sha256 = hashlib.sha256(content).hexdigest()
        path = self.blob(sha256)
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)
        return File(sha256, len(content), git_oid(content), lfs=False)

    @contextmanager
    def _changed_names(self) -> Iterator[dict[str, Any]]:
        names = copy.deepcopy(self._names)
        yield names
        write_whole(self._names_file, json.dumps(names, indent=1).encode())
        self._names = names


class Repo:
    """One repository: settings, references and discussions in `state`, commits as files that never change."""

    kind = ""
    name = ""

    def __init__(self, store: Store, folder: Path, state: dict[str, Any] | None = None) -> None:
        self.store = store
        self.folder = folder
        self.read_commit = cache(self._read_commit)
        self.changed_at: dict[str, int] = {}
        (folder / "commits").mkdir(parents=True, exist_ok=True)
        self.state: dict[str, Any] = json.loads((folder / "repo.json").read_bytes()) if state is None else state

    def save(self, state: dict[str, Any]) -> None:
        """Writes a state whole, then takes it over."""
        write_whole(self.folder / "repo.json", json.dumps(state, indent=1).encode())
        self.state = state

    @contextmanager
    def changed(self) -> Iterator[dict[str, Any]]:
        """A copy of the state to change: written in one go at the end, dropped if the block fails."""
        state = copy.deepcopy(self.state)
        yield state
        self.save(state)

    def write_commit(
        self, parents: list[str], files: dict[str, File], title: str, message: str, author: str
    ) -> str:
        """Keeps a commit that no reference points to yet; its sha."""
        fields = {"parents": parents, "date": now(), "title": title, "message": message, "author": author}
        tree = {path: asdict(files[path]) for path in sorted(files)}
        content = json.dumps({**fields, "files": tree}, indent=0).encode()
        sha = hashlib.sha1(content).hexdigest()
        write_whole(self.folder / "commits" / f"{sha}.json", content)
        return sha

    def _read_commit(self, sha: str) -> Commit:
        fields = json.loads((self.folder / "commits" / f"{sha}.json").read_bytes())
        files = {path: File(**file) for path, file in fields.pop("files").items()}
        return Commit(sha=sha, files=files, **fields)

    def resolve(self, revision: str) -> str:
        """The sha that a branch, tag, pull request's reference or (shortened) sha stands for.

        Raises:
            Refusal: There is none.
        """
        name = "main" if revision == "HEAD" else revision
        if sha := self.pull_heads().get(name):
            return sha
        for prefix, refs in (("refs/heads/", "branches"), ("refs/tags/", "tags")):
            if sha := self.state[refs].get(name.removeprefix(prefix)):
                return str(sha)
        if re.fullmatch(r"[0-9a-f]{7,40}", name):
            found = list((self.folder / "commits").glob(f"{name}*.json"))
            if len(found) == 1:
                return found[0].stem
        raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")

    def pull_heads(self) -> dict[str, str]:
        """The last commit of each pull request, by its reference."""
        found = self.state.get("discussions", [])
        return {f"refs/pr/{pull['num']}": pull["head"] for pull in found if pull["isPullRequest"]}

    def writable(self, revision: str) -> str:
        """The reference that a commit to this revision moves: a branch's name, or `refs/pr/N`.

        Raises:
            Refusal: It is neither.
        """
        name = revision.removeprefix("refs/heads/")
        if name in self.state["branches"] or name in self.pull_heads():
            return name
        self.resolve(revision)
        raise Refusal(400, f"{revision} is neither a branch nor a pull request: nothing can be committed to it")

    def point(self, state: dict[str, Any], ref: str, sha: str) -> None:
        """Makes a branch or a pull request's reference, in a state that is being changed, stand for a commit."""
        self.store.clock += 1
        self.changed_at[ref] = self.store.clock
        if ref.startswith("refs/pr/"):
            state["discussions"][int(ref.rpartition("/")[2]) - 1]["head"] = sha
        else:
            state["branches"][ref] = sha

    def history(self, sha: str) -> Iterator[Commit]:
        """The commits from one back to the first, along their first parents."""
        at: str | None = sha
        while at:
            commit = self.read_commit(at)
            yield commit
            at = commit.parents[0] if commit.parents else None
