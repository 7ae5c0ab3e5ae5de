"""The server: started on 127.0.0.1 over a folder, until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tamis.errors import UsageError
from tamis.gradients.lock import FolderLock
from tamis.hub.loopback.access import TOKENS, tokens_of
from tamis.hub.loopback.app import LoopbackApp
from tamis.hub.loopback.call import Hub
from tamis.hub.loopback.store import Store
from tamis.provenance import left_in

_HOST = "127.0.0.1"


class _Protocol(H11Protocol):
    """Knows each open connection by its client's port, for the fault that cuts it."""

    open_connections: dict[int, asyncio.Transport] = {}  # noqa: RUF012  all connections of the process share it

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.open_connections[transport.get_extra_info("peername")[1]] = transport

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.open_connections.pop(self.transport.get_extra_info("peername")[1], None)

    @classmethod
    def cut(cls, port: int) -> None:
        if transport := cls.open_connections.get(port):
            transport.abort()


class _Server(uvicorn.Server):
    """Leaves the signals to `serve`, which has to be told before the server runs."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(root: Path, port: int) -> Iterator[dict[str, Any]]:
    """Where the server listens and its tokens, once it does; then serves until Ctrl-C or SIGTERM.

    Args:
        root: The folder that holds all repositories.
        port: The port; 0 takes a free one.

    Raises:
        UsageError: The port is taken, another server has the folder, or the folder holds something else.
    """
    root.mkdir(parents=True, exist_ok=True)
    try:
        lock = FolderLock(root)
    except UsageError as error:
        raise UsageError(
            f"{root}: another tamis hub serves this folder; stop it, or name another --root"
        ) from error
    try:
        if left_in(root) and not (root / TOKENS).is_file():
            raise UsageError(f"{root}: holds something else; name another --root")
        root.chmod(0o700)  # private repositories lie in it
        with _listening(port) as listener:
            tokens = tokens_of(root)
            shutil.rmtree(root / "uploads", ignore_errors=True)  # its links were the last server's
            app = LoopbackApp(Hub(Store(root), tokens), _Protocol.cut)
            config = uvicorn.Config(
                app, http=_Protocol, ws="none", lifespan="off", log_config=None, log_level="error",
                access_log=False, proxy_headers=False, server_header=False, timeout_graceful_shutdown=1,
            )  # fmt: skip
            server = _Server(config)
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: setattr(server, "should_exit", True))
            endpoint = f"http://{_HOST}:{listener.getsockname()[1]}"
            exports = {"HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
            exports |= {"HF_TOKEN": tokens.write}
            yield {
                "endpoint": endpoint,
                "write_token": tokens.write,
                "read_token": tokens.read,
                "for_the_clients": [f"export {name}={value}" for name, value in exports.items()],
            }
            asyncio.run(server.serve([listener]))
    finally:
        lock.release()


def _listening(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_HOST, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            raise UsageError(f"--port {port}: {error.strerror}; name another, or 0 for a free one") from error
        raise
    return listener
