"""Faults that are asked for: met by the calls that they name and no others, and seen by real clients as faults."""

from __future__ import annotations

import http.client
import socket
import time
from pathlib import Path

import pytest

from clients import call, commit, make, run_client, shown
from tamis.hub.loopback.faults import Fault
from tamis.hub.loopback.process import LoopbackHub

WHERE = "datasets/local/faults"


@pytest.fixture(scope="module", autouse=True)
def repo(hub_server: LoopbackHub) -> None:
    make(hub_server, "local/faults", {"a.txt": b"0123456789"})


def states(
    hub: LoopbackHub, times: int, method: str = "GET", path: str = f"/{WHERE}/resolve/main/a.txt"
) -> list[int]:
    return [call(hub, method, path).status for _ in range(times)]


@pytest.mark.parametrize(
    ("fault", "met"),
    [
        (Fault("a.txt", status=503), [503, 200, 200, 200]),
        (Fault("a.txt", status=503, after=1, times=2), [200, 503, 503, 200]),
        (Fault("a.txt", status=503, times=None), [503, 503, 503, 503]),
        (Fault("a.txt", "POST", status=503), [200, 200, 200, 200]),
        (Fault(r"/main/b\.txt$", status=503), [200, 200, 200, 200]),
    ],
)
def test_a_fault_meets_the_calls_that_it_names(fault: Fault, met: list[int], hub: LoopbackHub) -> None:
    hub.add_fault(fault)
    assert states(hub, 4) == met
    hub.clear_faults()
    assert states(hub, 1) == [200]


def test_two_faults_take_turns(hub: LoopbackHub) -> None:
    hub.add_fault(Fault("a.txt", status=503))
    hub.add_fault(Fault("a.txt", status=429, after=1, headers={"Retry-After": "0"}))
    assert states(hub, 3) == [503, 429, 200]


def test_an_answer_that_is_asked_for_has_its_headers_and_does_nothing(hub: LoopbackHub) -> None:
    hub.add_fault(Fault("/commit/", "POST", status=429, headers={"RateLimit": '"api";r=0;t=5'}))
    before = call(hub, "GET", f"/api/{WHERE}").json()["sha"]
    answer = commit(hub, WHERE, {"b.txt": b"x"})
    assert answer.status == 429 and answer.headers["ratelimit"] == '"api";r=0;t=5'
    assert call(hub, "GET", f"/api/{WHERE}").json()["sha"] == before


def test_a_lost_request_does_nothing_and_a_lost_reply_has_done_it(hub: LoopbackHub) -> None:
    shas = [call(hub, "GET", f"/api/{WHERE}").json()["sha"]]
    for lose in ("request", "reply"):
        hub.add_fault(Fault("/commit/", "POST", lose=lose))
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            commit(hub, WHERE, {f"{lose}.txt": b"x"})
        shas.append(call(hub, "GET", f"/api/{WHERE}").json()["sha"])
    assert shas[0] == shas[1] != shas[2]


@pytest.mark.parametrize("kept", [0, 4])
def test_a_body_stops_where_it_was_cut(kept: int, hub: LoopbackHub) -> None:
    hub.add_fault(Fault("a.txt", cut_after=kept))
    with pytest.raises(http.client.IncompleteRead) as cut:
        call(hub, "GET", f"/{WHERE}/resolve/main/a.txt")
    assert cut.value.partial == b"0123456789"[:kept]
    assert hub.requests()[-1]["sent"] == kept
    assert call(hub, "GET", f"/{WHERE}/resolve/main/a.txt").body == b"0123456789"


def test_a_body_that_ends_before_the_cut_is_whole(hub: LoopbackHub) -> None:
    hub.add_fault(Fault("a.txt", cut_after=10))
    assert call(hub, "GET", f"/{WHERE}/resolve/main/a.txt").body == b"0123456789"


def test_a_call_that_hangs_holds_up_no_other(hub: LoopbackHub) -> None:
    hub.add_fault(Fault("a.txt", hang=True))
    connection = http.client.HTTPConnection(hub.endpoint.removeprefix("http://"), timeout=0.3)
    connection.request("GET", f"/{WHERE}/resolve/main/a.txt")
    assert states(hub, 1) == [200]
    with pytest.raises(socket.timeout):
        connection.getresponse()
    connection.close()
    assert [one["status"] for one in hub.requests()[:2]] == [None, 200]


def test_a_delay_comes_before_the_work(hub: LoopbackHub) -> None:
    hub.add_fault(Fault("a.txt", delay=0.2))
    began = time.monotonic()
    assert states(hub, 1) == [200] and time.monotonic() - began >= 0.2


@pytest.mark.parametrize(("parent", "status"), [(True, 412), (False, 409)])
def test_somebody_commits_first(parent: bool, status: int, hub: LoopbackHub) -> None:
    head = call(hub, "GET", f"/api/{WHERE}").json()["sha"]
    hub.add_fault(Fault("/commit/", race=f"theirs-{status}.txt"))
    more = {"parentCommit": head} if parent else {}
    assert commit(hub, WHERE, {"mine.txt": b"x"}, **more).status == status
    assert call(hub, "GET", f"/{WHERE}/resolve/main/theirs-{status}.txt").status == 200
    assert call(hub, "GET", f"/{WHERE}/resolve/main/mine.txt").status == 404
    assert commit(hub, WHERE, {f"mine-{status}.txt": b"x"}).status == 200


def test_somebody_commits_the_same_file_before_a_merge(hub: LoopbackHub) -> None:
    make(hub, "local/race", {"a.txt": b"a"})
    for path, status in (("b.txt", 200), ("a.txt", 409)):
        number = commit(hub, "datasets/local/race", {"a.txt": path.encode()}, "?create_pr=1").json()
        number = number["pullRequestUrl"].rpartition("/")[2]
        hub.add_fault(Fault("/merge$", race=path))
        assert call(hub, "POST", f"/api/datasets/local/race/discussions/{number}/merge").status == status


def test_a_commit_without_a_parent_is_refused_on_request(hub: LoopbackHub) -> None:
    hub.add_fault(Fault("/commit/", parent_required=True, times=None))
    head = call(hub, "GET", f"/api/{WHERE}").json()["sha"]
    assert commit(hub, WHERE, {"p.txt": b"x"}).status == 400
    assert commit(hub, WHERE, {"p.txt": b"x"}, parentCommit=head).status == 200


CLIENT = """
import os
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError
api = HfApi()
path = api.hf_hub_download("local/faults", "large.bin", repo_type="dataset")
content = open(path, "rb").read()
try:
    api.upload_file(path_or_fileobj=b"1", path_in_repo="x", repo_id="local/faults", repo_type="dataset")
    status = 200
except HfHubHTTPError as error:
    status = error.response.status_code
show([len(content), status])
"""


def test_a_client_goes_on_with_a_download_where_it_was_cut(hub: LoopbackHub, tmp_path: Path) -> None:
    """It keeps whole chunks of 10 MiB. A commit that met a 503 it does not try again: publishing has to."""
    chunk, size = 10 << 20, 11 << 20
    commit(hub, WHERE, {"large.bin": b"x" * size})
    hub.clear_requests()
    hub.add_fault(Fault("large.bin", "GET", cut_after=chunk + 1000))
    hub.add_fault(Fault("/commit/", "POST", status=503))
    assert shown(run_client(hub, CLIENT, tmp_path / "home")) == [size, 503]
    gets = [one for one in hub.requests() if one["method"] == "GET" and "large.bin" in one["path"]]
    assert [(one["status"], one["sent"]) for one in gets] == [(200, chunk + 1000), (206, size - chunk)]
    assert gets[1]["range"].startswith(f"bytes={chunk}-")
