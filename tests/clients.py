"""The real clients, in a process of their own as they read address and token at import; and plain HTTP calls."""

from __future__ import annotations

import base64
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tamis.hub.loopback.process import LoopbackHub

HUB_1 = Path(sys.prefix) / "hub-1"
"""Where `make setup` puts huggingface_hub 1 and what it needs."""
VERSIONS = pytest.mark.parametrize("version", ["2", "1"])
"""Runs a test with both major versions of huggingface_hub; give `version` to `run_client`."""


def run_client(
    hub: LoopbackHub,
    code: str,
    home: Path,
    *,
    token: str | None = None,
    version: str = "2",
    check: bool = True,
    **env: str,
) -> subprocess.CompletedProcess[str]:
    """A finished process whose clients talked to the hub.

    Args:
        hub: The started hub.
        code: What the process runs; `show` in it prints a value as the last line of JSON, which `shown` reads.
        home: `HF_HOME`: the clients' cache; its parent is the working directory.
        token: The token; the owner's that may write, if None, and none at all if it is empty.
        version: The major version of huggingface_hub; the test is skipped where it is not installed.
        check: Fails where the process fails, and shows what it said.
        **env: More of its environment.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment |= hub.environment(hub.write_token if token is None else token or None)
    environment |= {"HF_HOME": str(home), "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    if version == "1":
        if not HUB_1.is_dir():
            pytest.skip(f"{HUB_1}: run `make setup`")
        environment["PYTHONPATH"] = f"{HUB_1}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    code = f"import json\ndef show(value): print(json.dumps(value))\n{dedent(code)}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, **env},
        cwd=home.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return done


def shown(done: subprocess.CompletedProcess[str]) -> Any:
    """What a client's process gave to `show` last."""
    return json.loads(done.stdout.splitlines()[-1])


@dataclass(frozen=True)
class Answer:
    """An answer as it came, redirects included."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def call(
    hub: LoopbackHub, method: str, path: str, body: Any = None, *, token: str | None = None, **headers: str
) -> Answer:
    """One HTTP call without a client library: nothing is retried, followed or quoted.

    Args:
        hub: The started hub.
        method: The HTTP method.
        path: Path and query.
        body: Bytes, or what is sent as JSON.
        token: The token; the owner's that may write, if None, and none at all if it is empty.
        **headers: More headers.
    """
    token = hub.write_token if token is None else token
    connection = http.client.HTTPConnection(hub.endpoint.removeprefix("http://"), timeout=30)
    content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    try:
        connection.request(
            method, path, content, {**headers, **({"Authorization": f"Bearer {token}"} if token else {})}
        )
        answer = connection.getresponse()
        return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def make(hub: LoopbackHub, name: str, files: Mapping[str, bytes], kind: str = "dataset", **more: Any) -> str:
    """Makes a repository with one more commit, of regular files; that commit's sha."""
    namespace, _, short = name.partition("/")
    made = call(hub, "POST", "/api/repos/create", {"organization": namespace, "name": short, "type": kind, **more})
    assert made.status == 200, made.body
    return commit(hub, f"{kind}s/{name}", files).json()["commitOid"]


def commit(
    hub: LoopbackHub, where: str, files: Mapping[str, bytes], query: str = "", revision: str = "main", **more: Any
) -> Answer:
    """Commits regular files to `models|datasets|spaces/namespace/name`.

    Args:
        hub: The started hub.
        where: The kind and the name.
        files: Content by path.
        query: Such as `?create_pr=1`.
        revision: The branch or the pull request, percent-encoded.
        **more: `parentCommit` and other keys of the header, or `token`.
    """
    token = more.pop("token", None)
    lines: list[dict[str, Any]] = [{"key": "header", "value": {"summary": "files", "description": "", **more}}]
    for path, content in files.items():
        value = {"path": path, "content": base64.b64encode(content).decode(), "encoding": "base64"}
        lines.append({"key": "file", "value": value})
    body = "\n".join(json.dumps(line) for line in lines).encode()
    return call(hub, "POST", f"/api/{where}/commit/{revision}{query}", body, token=token)
