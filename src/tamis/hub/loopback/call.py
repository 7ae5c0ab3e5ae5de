"""One call, as the handlers of all routes see it."""

from __future__ import annotations

import base64
import json
import secrets
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tamis.hub.loopback import access
from tamis.hub.loopback.access import Account, Tokens
from tamis.hub.loopback.faults import Fault, Faults
from tamis.hub.loopback.refusal import Refusal
from tamis.hub.loopback.store import Repo, Store

PREFIX = {"models": "", "datasets": "datasets/", "spaces": "spaces/"}
_LOGGED = 10_000


@dataclass
class Hub:
    """What a running server holds: the store, the tokens, the rules of faults, and a log of the last calls.

    Args:
        store: The repositories.
        tokens: The tokens.
        page_size: Entries of a page, where the Hub would send more; None for the Hub's own sizes.
        part_size: Bytes above which an LFS upload goes in parts of that size.
    """

    store: Store
    tokens: Tokens
    page_size: int | None = None
    part_size: int = 256 << 20
    faults: Faults = field(default_factory=Faults)
    log: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_LOGGED))
    secret: str = field(default_factory=secrets.token_hex)  # signs the upload links of this process


@dataclass
class Call:
    """A request with its body, who sent it, and the hub's state when it came."""

    hub: Hub
    request: Request
    body: bytes
    began: int
    logged: dict[str, Any]
    fault: Fault | None = None
    account: Account | None = None

    @property
    def path(self) -> str:
        """The path as it was sent, with its percent signs."""
        return str(self.request.scope["raw_path"].decode("latin-1"))

    @property
    def endpoint(self) -> str:
        """What the client calls this server."""
        return f"http://{self.request.headers.get('host', '127.0.0.1')}"

    @property
    def query(self) -> dict[str, list[str]]:
        """All values of each key; `expand[]` is `expand`."""
        found: dict[str, list[str]] = {}
        for key, value in parse_qsl(self.request.scope["query_string"].decode("latin-1")):
            found.setdefault(key.removesuffix("[]"), []).append(value)
        return found

    def asked(self, key: str) -> bool:
        """Whether a key of the query says yes."""
        return self.query.get(key, [""])[0].lower() in ("true", "1")

    def json(self) -> dict[str, Any]:
        """The body as a JSON object; empty without a body.

        Raises:
            Refusal: It is something else.
        """
        try:
            fields = json.loads(self.body or b"{}") or {}
        except ValueError as error:
            raise Refusal(400, f"the body is not JSON: {error}") from error
        if not isinstance(fields, dict):
            raise Refusal(400, "the body is not a JSON object")
        return fields

    def repo(
        self, kind: str, name: str, *, content: bool = False, write: bool = False, propose: bool = False
    ) -> Repo:
        """The repository, if the account may do this with it.

        Args:
            kind: `models`, `datasets` or `spaces`.
            name: Its name with its namespace.
            content: Read its files.
            write: Change it.
            propose: Open a pull request or a discussion.

        Raises:
            Refusal: It is not there for this account, which may not even know of it; it has another name now; or
                the account may see it and not do this.
        """
        repo = self.hub.store.find(kind, name)
        now_at = self.hub.store.moved_to(kind, name)
        moved = self.hub.store.find(kind, now_at) if repo is None and now_at else None
        if moved and access.can_read(self.account, moved):
            query = self.request.scope["query_string"].decode("latin-1")
            path = self.path.replace(f"/{name}", f"/{moved.name}", 1) + ("?" + query if query else "")
            raise Refusal(307, f"{name} is {moved.name} now", headers={"Location": path})
        if repo is None or not access.can_read(self.account, repo):
            # To a client without a token, what is private and what is not there look the same.
            status, sentence = (
                (404, "Repository not found") if self.account else (401, "Invalid username or password.")
            )
            raise Refusal(status, sentence, "RepoNotFound")
        if write or propose:
            access.check_write(self.account, repo, propose=propose)
        elif content:
            access.check_content(self.account, repo)
        return repo

    def url(self, repo: Repo) -> str:
        """A repository's address."""
        return f"{self.endpoint}/{PREFIX[repo.kind]}{repo.name}"

    def page(self, items: Sequence[Any], size: int) -> JSONResponse:
        """One page of a list, with a `Link` to the next where there is one; `limit` and `cursor` say which."""
        size = min(size, self.hub.page_size or size, int(self.query.get("limit", [size])[0]))
        try:
            at = int(base64.urlsafe_b64decode(self.query.get("cursor", ["MA=="])[0]))
        except ValueError as error:
            raise Refusal(400, "the cursor is not one of ours") from error
        headers = {}
        if at + size < len(items):
            cursor = base64.urlsafe_b64encode(str(at + size).encode()).decode()
            more = urlencode({**self.query, "limit": [size], "cursor": [cursor]}, doseq=True)
            headers["Link"] = f'<{self.endpoint}{quote(self.path, safe="/%")}?{more}>; rel="next"'
        return JSONResponse(items[at : at + size], headers=headers)


@dataclass(frozen=True)
class Route:
    """A path and what answers it.

    Args:
        method: The HTTP method; GET answers HEAD too.
        path: `{T}` is a kind, `{P}` a kind as the addresses of files have it, `{R}` a repository, `{path}` all the
            rest, and any other name one segment; each is an argument of the handler.
        handler: Answers the call.
    """

    method: str
    path: str
    handler: Callable[..., Any]


def done(body: Mapping[str, Any] | None = None) -> Response:
    """A plain yes."""
    return JSONResponse(body or {})
