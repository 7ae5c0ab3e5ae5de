"""Where text may go: this machine, what is allowed, and nothing that looks like either."""

from __future__ import annotations

import pytest

from tamis.errors import UsageError
from tamis.pii.detect.remote import check, is_local


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.8.9.1", "::1", "[::1]"])
def test_this_machine_is_local(host: str) -> None:
    assert is_local(host)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost.example.com/v1",
        "http://127.0.0.1.nip.io/v1",
        "http://localhost@evil.example.com/v1",
        "http://10.0.0.4:8000/v1",
        "http://0.0.0.0:8000/v1",
        "https://api.example.com.evil.org/v1",
    ],
)
def test_what_only_looks_local_or_allowed_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="--allow_remote"):
        check(url, ["api.example.com"])


@pytest.mark.parametrize("url", ["ftp://localhost/v1", "http:///v1", "localhost:8000", "http://[::1/v1"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="not a URL with a host"):
        check(url, [])


def test_a_proxy_that_would_carry_local_text_away_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://proxy.example.com:3128")
    with pytest.raises(UsageError, match="NO_PROXY=localhost"):
        check("http://localhost:8000/v1", [])
    monkeypatch.setenv("no_proxy", "localhost")
    check("http://localhost:8000/v1", [])
    check("https://API.example.com/v1", ["api.example.com"])
