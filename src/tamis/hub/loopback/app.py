"""The server as an ASGI application: meets the faults, finds the route, answers, and logs the call."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from tamis.hub.loopback import collection, commits, control, discussions, files, lfs, repos, spaces
from tamis.hub.loopback.access import STRANGER
from tamis.hub.loopback.call import PREFIX, Call, Hub
from tamis.hub.loopback.faults import Fault
from tamis.hub.loopback.refusal import Refusal

CONTROL = "/_loopback/"
_KINDS = {prefix: kind for kind, prefix in PREFIX.items()}
_SEGMENTS = {
    "T": "(models|datasets|spaces)",
    "P": "(datasets/|spaces/|)",
    "R": "([^/]+(?:/[^/]+)?)",
    "S": "(variables|secrets)",
    "path": "(.+)",
}
_NOUNS = (control, commits, files, lfs, discussions, spaces, collection, repos)  # repos has the widest paths: last
_ROUTES = [
    (
        route.method,
        re.compile(re.sub(r"\\{(\w+)\\}", lambda name: _SEGMENTS.get(name[1], "([^/]+)"), re.escape(route.path))),
        route.handler,
    )
    for noun in _NOUNS
    for route in noun.ROUTES
]


class LoopbackApp:
    """Answers calls one at a time: between a handler's first line and its last no other handler runs.

    Args:
        hub: The state behind it.
        cut: Cuts the connection from a client's port.
    """

    def __init__(self, hub: Hub, cut: Callable[[int], None]) -> None:
        self._hub = hub
        self._cut = cut

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            return
        path = unquote(scope["raw_path"].decode("latin-1"))
        query = unquote(scope["query_string"].decode("latin-1"))
        logged: dict[str, Any] = {
            "method": scope["method"],
            "path": path,
            "query": query,
            "status": None,
            "sent": 0,
        }
        fault = None
        if not path.startswith(CONTROL):
            self._hub.log.append(logged)
            fault = self._hub.faults.meet(scope["method"], f"{path}?{query}" if query else path)
        request = Request(scope, receive)
        logged["range"] = request.headers.get("range")
        if path.startswith(lfs.LINKS):
            logged["query"] = ""  # it is what lets the client in
        with contextlib.suppress(ClientDisconnect):
            response = await self._respond(request, logged, fault)
            if response is None:
                self._cut(scope["client"][1])
            else:
                await response(scope, receive, _watched(send, logged, fault.cut_after if fault else None))

    async def _respond(self, request: Request, logged: dict[str, Any], fault: Fault | None) -> Response | None:
        """The answer; None where the connection is to be cut."""
        began = self._hub.store.clock
        if fault:
            await asyncio.sleep(fault.delay)
            while fault.hang:
                if (await request.receive())["type"] == "http.disconnect":
                    raise ClientDisconnect
            if fault.lose == "request":
                return None
            if fault.status:
                async for _ in request.stream():  # a client that is still sending would not read the answer
                    pass
                return JSONResponse({"error": "a fault was asked for"}, fault.status, dict(fault.headers))
        streamed = request.method == "PUT" and request.url.path.startswith(lfs.LINKS)
        body = b"" if streamed else await request.body()
        call = Call(self._hub, request, body, began, logged, fault)
        try:
            response: Response = await self._handled(call)
        except Refusal as refusal:
            response = JSONResponse(refusal.body, refusal.status, refusal.headers)
        return None if fault and fault.lose == "reply" else response

    async def _handled(self, call: Call) -> Any:
        call.account = self._hub.tokens.account(call.request.headers.get("authorization"))
        method = "GET" if call.request.method == "HEAD" else call.request.method
        for wanted, pattern, handler in _ROUTES:
            if wanted == method and (found := pattern.fullmatch(call.path)):
                groups = [_KINDS.get(group) or unquote(group) for group in found.groups()]
                if call.fault and call.fault.race:
                    commits.commit_of_somebody(call, *groups[:2], path=call.fault.race, author=STRANGER)
                answer = handler(call, *groups)
                return await answer if inspect.isawaitable(answer) else answer
        raise Refusal(404, f"there is no {call.request.method} {call.path} here")


def _watched(send: Send, logged: dict[str, Any], cut_after: int | None) -> Send:
    """A `send` that logs the status and the bytes of the body, and sends nothing more after a cut.

    The server closes a connection whose answer ends before it should.
    """
    cut = False

    async def watched(message: Message) -> None:
        nonlocal cut
        if message["type"] == "http.response.start":
            logged["status"] = message["status"]
        elif not cut:
            body = message.get("body", b"")
            if cut_after is not None and logged["sent"] + len(body) > cut_after:
                cut = True
                message = {**message, "body": body[: cut_after - logged["sent"]], "more_body": True}
            logged["sent"] += len(message.get("body", b"")) * (logged["method"] != "HEAD")
        else:
            return
        await send(message)

    return watched
