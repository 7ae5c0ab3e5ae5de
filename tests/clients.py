"""The real clients, in a process of their own: they read address and token when they are imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from tamis.hub.loopback.process import LoopbackHub

OLD_HUB = Path(sys.prefix) / "hub-1"
"""Where `make setup` puts huggingface_hub 1 and what it needs."""


def run_client(
    hub: LoopbackHub, code: str, home: Path, *, token: str | None = None, check: bool = True, **env: str
) -> subprocess.CompletedProcess[str]:
    """A finished process whose clients talked to the hub.

    Args:
        hub: The started hub.
        code: What the process runs.
        home: `HF_HOME`: the clients' cache, which is also their memory of tokens.
        token: The token; the owner's that may write, if None, and none at all if it is empty.
        check: Fails where the process fails, and shows what it said.
        **env: More of its environment.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment |= hub.environment(hub.write_token if token is None else token or None)
    environment |= {"HF_HOME": str(home), "HF_HUB_DISABLE_PROGRESS_BARS": "1", **env}
    done = subprocess.run(
        [sys.executable, "-c", dedent(code)],
        env=environment,
        cwd=home.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return done
