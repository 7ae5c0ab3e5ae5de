"""A loopback Hub in a process of its own: started, asked, told what is to go wrong, stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import urllib.request
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from tamis.errors import WorkError
from tamis.hub.loopback.faults import Fault

_PATIENCE = 60


class LoopbackHub:
    """A server on 127.0.0.1 over a folder; also a context manager.

    Args:
        root: The folder; its repositories and tokens outlive the server.
        port: The port; 0 takes a free one.

    Attributes:
        endpoint: What `HF_ENDPOINT` has to be.
        write_token: The owner's token; the owner is `local`, and may write in every namespace but `stranger`.
        read_token: The owner's token that only reads.
        stranger_token: Somebody else's token: sees what is public, and may write in the namespace `stranger`.
    """

    endpoint = write_token = read_token = stranger_token = ""

    def __init__(self, root: str | Path, port: int = 0) -> None:
        self.root = Path(root)
        self._port = port
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> Self:
        """Starts the server, and comes back when it listens.

        Raises:
            WorkError: It did not start; the message is its own.
        """
        words = ["hub", "--root", str(self.root), "--port", str(self._port), "--format", "json"]
        command = [sys.executable, "-m", "tamis.cli", *words]
        with tempfile.TemporaryFile("w+") as said:  # a pipe that nobody reads would stop the server one day
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, text=True
            )
            assert self._process.stdout
            line = self._process.stdout.readline()
            if not line:
                self._process.wait()
                said.seek(0)
                raise WorkError(f"the loopback Hub did not start: {said.read().strip()}")
        started = json.loads(line)
        self.endpoint = started["endpoint"]
        self.write_token, self.read_token = started["write_token"], started["read_token"]
        self.stranger_token = json.loads((self.root / "tokens.json").read_bytes())["stranger"]
        return self

    def stop(self) -> None:
        """Stops it; what it was told stays in the folder."""
        if self._process:
            self._process.send_signal(signal.SIGTERM)
            self._process.communicate(timeout=_PATIENCE)
            self._process = None

    def kill(self) -> None:
        """Ends it at once, as a crash would."""
        if self._process:
            self._process.kill()
            self._process.communicate(timeout=_PATIENCE)
            self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def environment(self, token: str | None = None) -> dict[str, str]:
        """What a client's process needs in its environment, on top of a home of its own.

        Args:
            token: The client's token; none if None.
        """
        return {
            "HF_ENDPOINT": self.endpoint,
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_OFFLINE": "0",
            "NO_PROXY": "127.0.0.1",
            **({"HF_TOKEN": token} if token else {}),
        }

    def add_fault(self, fault: Fault) -> None:
        """Makes the next calls that the rule matches go wrong."""
        self._control("POST", "faults", asdict(fault))

    def clear_faults(self) -> None:
        """Takes all rules back."""
        self._control("DELETE", "faults")

    def requests(self) -> list[dict[str, Any]]:
        """The calls since `clear_requests`, oldest first.

        Each has `method`, `path` and `query` (decoded), `status` (None while it has no answer), `sent` (bytes of
        the body), `range`, and for a commit `parent_commit`.
        """
        found: list[dict[str, Any]] = self._control("GET", "requests")
        return found

    def clear_requests(self) -> None:
        """Empties the log of calls."""
        self._control("DELETE", "requests")

    def configure(self, *, page_size: int | None = None, part_size: int | None = None) -> None:
        """Sets the entries of a page and the bytes of an upload's part; None gives the default back."""
        self._control("PUT", "settings", {"page_size": page_size, "part_size": part_size})

    def _control(self, method: str, what: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"{self.endpoint}/_loopback/{what}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.write_token}"},
        )
        no_proxy = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with no_proxy.open(request, timeout=_PATIENCE) as answer:
            return json.load(answer)
