"""Where text may be sent: to this machine, and to hosts that the person names."""

from __future__ import annotations

import ipaddress
import urllib.request
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

from tamis.errors import UsageError

_ALLOWED: ContextVar[frozenset[str] | None] = ContextVar("allowed", default=None)


def host_of(url: str) -> str:
    """The host that a URL names, without its port.

    Raises:
        UsageError: It names none.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError as error:
        raise UsageError("--llm: not a URL with a host, such as http://localhost:8000/v1#model") from error
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError("--llm: not a URL with a host, such as http://localhost:8000/v1#model")
    return host.lower()


def is_local(host: str) -> bool:
    """Whether a host is this machine: `localhost`, or a loopback address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check(url: str, allowed: Collection[str]) -> None:
    """Refuses a URL whose host is neither this machine nor allowed, or that a proxy would carry away from here.

    Raises:
        UsageError: It may not be sent to.
    """
    host = host_of(url)
    if not is_local(host):
        if host not in {name.lower() for name in allowed}:
            raise UsageError(f"{host}: text would leave this machine; allow it with --allow_remote {host}")
        return
    # An https proxy only sees the host's name; a plain one sees the text.
    proxies = urllib.request.getproxies()
    carried = urlsplit(url).scheme == "http" and (proxies.get("http") or proxies.get("all"))
    if carried and not urllib.request.proxy_bypass(host):
        raise UsageError(f"{host}: HTTP_PROXY would carry the text to another machine; set NO_PROXY={host}")


@contextmanager
def only_to(hosts: Collection[str]) -> Iterator[None]:
    """Lets huggingface_hub's client send bodies to this machine and these hosts only, through redirects too.

    Raises:
        UsageError: At the request that would go elsewhere, before anything of it is sent.
    """
    from huggingface_hub.utils import get_session

    session = get_session()
    hooks = session.event_hooks
    if _refuse not in hooks["request"]:
        session.event_hooks = {**hooks, "request": [*hooks["request"], _refuse]}
    before = _ALLOWED.set(frozenset(host.lower() for host in hosts))
    try:
        yield
    finally:
        _ALLOWED.reset(before)


def _refuse(request: Any) -> None:
    """A hook that httpx calls before each request, those that follow a redirect included."""
    allowed = _ALLOWED.get()
    if allowed is not None and request.method not in ("GET", "HEAD"):
        check(str(request.url), allowed)
