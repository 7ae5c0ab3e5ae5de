"""Command lines that talk to the loopback Hub: forked from a process that has imported everything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tamis.hub.loopback.process import LoopbackHub

_PARENT = """
import json, os, sys
import datasets, huggingface_hub, fsspec.implementations.local, pyarrow.parquet, torch
import tamis.hub.publish
from tamis import cli

for line in sys.stdin:
    asked = json.loads(line)
    if "wait" in asked:
        _, status = os.waitpid(asked["wait"], 0)
        print(json.dumps(os.waitstatus_to_exitcode(status)), flush=True)
        continue
    pid = os.fork()
    if pid == 0:
        os.environ.update(asked["env"])
        for stream in (1, 2):
            os.dup2(os.open(asked["log"] + ".out" * (stream == 1), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        try:
            code = cli.main(asked["arguments"])
        except BaseException:
            import traceback
            traceback.print_exc()
            code = 70
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)
    print(json.dumps(pid), flush=True)
"""


@dataclass(frozen=True)
class Said:
    """What a command line answered: exit code (negative: the signal that ended it), stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        return dict(json.loads(self.out))


class Commands:
    """Runs `tamis` command lines as a client of one hub."""

    def __init__(self, hub: LoopbackHub, home: Path, **env: str) -> None:
        self.hub, self.home = hub, home
        self._logs: dict[int, Path] = {}
        home.mkdir(parents=True, exist_ok=True)
        base = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
        base |= {**hub.environment(), "HF_HOME": str(home), **env}
        self._parent = subprocess.Popen(
            [sys.executable, "-c", _PARENT], env=base, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._parent.communicate()

    def start(self, *arguments: object, token: str | None = None, **env: str) -> int:
        """Begins a command line, with more in its environment if asked; its process."""
        key = self.hub.write_token if token is None else token
        log = self.home / f"log-{len(self._logs)}"
        asked = {"arguments": [str(one) for one in arguments], "log": str(log), "env": {"HF_TOKEN": key, **env}}
        process = self._ask(asked)
        self._logs[process] = log
        return process

    def wait(self, process: int) -> Said:
        """Waits for a command line that was begun; no token may stand in what it said."""
        code, log = self._ask({"wait": process}), self._logs[process]
        out, err = log.with_suffix(".out").read_text(), log.read_text()
        for key in (self.hub.write_token, self.hub.read_token, self.hub.stranger_token):
            assert key not in out + err
        return Said(code, out, err)

    def run(self, *arguments: object, token: str | None = None) -> Said:
        """Runs one to its end."""
        return self.wait(self.start(*arguments, token=token))

    def done(self, *arguments: object) -> dict[str, Any]:
        """Runs one that has to succeed; what it reported."""
        said = self.run(*arguments, "--format", "json")
        assert said.code == 0, said.err
        return said.report

    def refused(self, code: int, *arguments: object, token: str | None = None) -> str:
        """Runs one that has to fail with this code, in one sentence; the sentence."""
        said = self.run(*arguments, token=token)
        assert said.code == code, (said.code, said.out, said.err)
        assert said.err.startswith("tamis: ") and said.err.count("\n") == 1 and said.out == "", said.err
        return said.err

    def killed_at(self, *arguments: object) -> None:
        """Begins one whose hub hangs at some call, and kills it there."""
        process = self.start(*arguments)
        deadline = time.monotonic() + 60
        while not any(one["status"] is None for one in self.hub.requests()):
            assert time.monotonic() < deadline, "no call hangs"
            time.sleep(0.02)
        os.kill(process, 9)
        assert self.wait(process).code == -9

    def _ask(self, asked: dict[str, Any]) -> int:
        assert self._parent.stdin and self._parent.stdout
        self._parent.stdin.write(json.dumps(asked) + "\n")
        self._parent.stdin.flush()
        return int(json.loads(self._parent.stdout.readline()))
