"""Clients of the session's loopback Hub."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from commands import Commands

from tamis.hub.loopback.process import LoopbackHub


@pytest.fixture(scope="session")
def command_parent(hub_server: LoopbackHub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    with Commands(hub_server, tmp_path_factory.mktemp("home")) as commands:
        yield commands


@pytest.fixture
def commands(hub: LoopbackHub, command_parent: Commands) -> Commands:
    """Command lines against the hub, which has no faults and an empty log."""
    return command_parent
