"""What every test stands on: one thread, no Hub but the loopback one, a cache of its own."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tamis.hub.loopback.process import LoopbackHub

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_DATASETS_CACHE"] = tempfile.mkdtemp(prefix="tamis-tests-")
atexit.register(shutil.rmtree, os.environ["HF_DATASETS_CACHE"], ignore_errors=True)
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "gradients"))


@pytest.fixture(scope="session")
def hub_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackHub]:
    """One server for all tests, each of which has repositories of its own names."""
    with LoopbackHub(tmp_path_factory.mktemp("hub")) as server:
        yield server


@pytest.fixture
def hub(hub_server: LoopbackHub) -> LoopbackHub:
    """The server without faults, with an empty log and the Hub's own sizes of pages and parts."""
    hub_server.clear_faults()
    hub_server.configure()
    hub_server.clear_requests()
    return hub_server
