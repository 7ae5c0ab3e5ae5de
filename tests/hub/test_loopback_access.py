"""Who may see and change what, by token; and the names of repositories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clients import VERSIONS, Answer, call, commit, make, run_client, shown
from tamis.hub.loopback.process import LoopbackHub

WHO = ("write", "read", "stranger", "nobody", "unknown")


def token(hub: LoopbackHub, who: str) -> str:
    return {"nobody": "", "unknown": "hf_unknown"}.get(who) or getattr(hub, f"{who}_token", "")


def said(answer: Answer) -> tuple[int, str | None]:
    return answer.status, answer.headers.get("x-error-code")


MISSING, HIDDEN = (404, "RepoNotFound"), (401, "RepoNotFound")
BAD_TOKEN, OK = (401, None), (200, None)


@pytest.fixture(scope="module")
def repos(hub_server: LoopbackHub) -> LoopbackHub:
    """Four data sets: public, private, gated, and gated with the stranger let in."""
    for name in ("public", "private", "gated", "granted"):
        make(
            hub_server, f"access/{name}", {"a.txt": b"a"}, visibility="private" if name == "private" else "public"
        )
    for name in ("gated", "granted"):
        assert call(hub_server, "PUT", f"/api/datasets/access/{name}/settings", {"gated": "manual"}).status == 200
    call(hub_server, "POST", "/api/datasets/access/granted/user-access-request/grant", {"user": "stranger"})
    return hub_server


@pytest.mark.parametrize(
    ("name", "who", "about", "content", "write"),
    [
        ("public", "write", OK, OK, OK),
        ("public", "read", OK, OK, (403, None)),
        ("public", "stranger", OK, OK, (403, None)),
        ("public", "nobody", OK, OK, (401, None)),
        ("public", "unknown", BAD_TOKEN, BAD_TOKEN, BAD_TOKEN),
        ("private", "write", OK, OK, OK),
        ("private", "read", OK, OK, (403, None)),
        ("private", "stranger", MISSING, MISSING, MISSING),
        ("private", "nobody", HIDDEN, HIDDEN, HIDDEN),
        ("private", "unknown", BAD_TOKEN, BAD_TOKEN, BAD_TOKEN),
        ("gated", "write", OK, OK, OK),
        ("gated", "read", OK, OK, (403, None)),
        ("gated", "stranger", OK, (403, "GatedRepo"), (403, None)),
        ("gated", "nobody", OK, (401, "GatedRepo"), (401, None)),
        ("granted", "stranger", OK, OK, (403, None)),
        ("absent", "write", MISSING, MISSING, MISSING),
        ("absent", "nobody", HIDDEN, HIDDEN, HIDDEN),
    ],
)
def test_what_each_token_opens(
    name: str,
    who: str,
    about: tuple[int, str],
    content: tuple[int, str],
    write: tuple[int, str],
    repos: LoopbackHub,
    hub: LoopbackHub,
) -> None:
    key, where = token(hub, who), f"datasets/access/{name}"
    assert said(call(hub, "GET", f"/api/{where}", token=key)) == about
    for path in (f"/{where}/resolve/main/a.txt", f"/api/{where}/tree/main", f"/api/{where}/auth-check"):
        assert said(call(hub, "GET", path, token=key)) == content, path
    assert said(call(hub, "POST", f"/api/{where}/paths-info/main", b"paths=a.txt", token=key)) == content
    assert said(call(hub, "GET", f"/api/{where}/auth-check/write", token=key)) == write
    assert said(commit(hub, where, {"a.txt": who.encode()}, token=key)) == write
    batch = {"objects": [{"oid": "0" * 64, "size": 1}]}
    if who in ("read", "nobody", "unknown") and name != "absent":
        assert call(hub, "POST", f"/{where}.git/info/lfs/objects/batch", batch, token=key).status in (401, 403)
    listed = (
        {one["id"] for one in call(hub, "GET", "/api/datasets?author=access", token=key).json()}
        if about != BAD_TOKEN
        else set()
    )
    assert (f"access/{name}" in listed) == (about == OK)


@pytest.mark.parametrize("name", ["", "a/b", "../x", "a b", "é", ".git"])
def test_a_name_that_no_address_could_hold_is_refused(name: str, hub: LoopbackHub) -> None:
    assert call(hub, "POST", "/api/repos/create", {"organization": "local", "name": name}).status == 400
    move = {"fromRepo": "access/public", "toRepo": f"local/{name}", "type": "dataset"}
    assert call(hub, "POST", "/api/repos/move", move).status == 400


def test_a_stranger_may_propose_and_only_the_owner_merges(hub: LoopbackHub) -> None:
    make(hub, "local/proposals", {"a": b"1"})
    where, key = "datasets/local/proposals", hub.stranger_token
    assert commit(hub, where, {"a": b"2"}, "?create_pr=1", token=key).status == 200
    assert commit(hub, where, {"a": b"3"}, revision="refs%2Fpr%2F1", token=key).status == 200
    assert call(hub, "POST", f"/api/{where}/discussions/1/merge", token=key).status == 403
    mine = call(hub, "POST", f"/api/{where}/discussions", {"title": "mine", "pullRequest": True}).json()
    assert mine["num"] == 2
    assert commit(hub, where, {"a": b"4"}, revision="refs%2Fpr%2F2", token=key).status == 403
    assert call(hub, "POST", f"/api/{where}/discussions/2/status", {"status": "closed"}, token=key).status == 403
    assert commit(hub, where, {"a": b"2"}, "?create_pr=1", token=hub.read_token).status == 403
    assert call(hub, "POST", f"/api/{where}/discussions/1/merge").status == 200
    assert call(hub, "GET", f"/{where}/resolve/main/a").body == b"3"


def test_namespaces_are_somebodys(hub: LoopbackHub) -> None:
    new = {"type": "model", "name": "x"}
    assert call(hub, "POST", "/api/repos/create", {**new, "organization": "stranger"}).status == 403
    assert (
        call(hub, "POST", "/api/repos/create", {**new, "organization": None}, token=hub.read_token).status == 403
    )
    assert call(hub, "POST", "/api/repos/create", new, token="").status == 401
    made = call(hub, "POST", "/api/repos/create", new, token=hub.stranger_token)
    assert made.json()["name"] == "stranger/x"
    again = call(hub, "POST", "/api/repos/create", new, token=hub.stranger_token)
    assert again.status == 409 and again.json()["url"] == made.json()["url"] == f"{hub.endpoint}/stranger/x"
    move = {"fromRepo": "stranger/x", "toRepo": "local/x", "type": "model"}
    assert call(hub, "POST", "/api/repos/move", move).status == 403
    assert call(hub, "DELETE", "/api/repos/delete", {**new, "organization": "stranger"}).status == 403
    me = call(hub, "GET", "/api/whoami-v2", token=hub.read_token).json()
    assert me["name"] == "local" and me["auth"]["accessToken"]["role"] == "read"
    assert "stranger" not in [one["name"] for one in me["orgs"]]


RENAMED = """
from huggingface_hub import HfApi
api, old, new = HfApi(), "local/old-VERSION", "local/new-VERSION"
api.create_repo(old, repo_type="dataset")
api.upload_file(path_or_fileobj=b"x" * 9, path_in_repo="a/b.bin", repo_id=old, repo_type="dataset")
api.move_repo(old, new, repo_type="dataset")
open("by-old-name", "wb").write(open(api.hf_hub_download(old, "a/b.bin", repo_type="dataset"), "rb").read())
api.upload_file(path_or_fileobj=b"y" * 9, path_in_repo="c.bin", repo_id=old, repo_type="dataset")
ids = [api.repo_info(old, repo_type="dataset").id, api.list_repo_files(old, repo_type="dataset", revision="main")]
api.move_repo(new, "local/newest-VERSION", repo_type="dataset")
ids += [api.repo_info(old, repo_type="dataset").id, api.repo_info(new, repo_type="dataset").id]
api.create_repo(old, repo_type="dataset")
show([*ids, api.repo_info(old, repo_type="dataset").id])
"""


@VERSIONS
def test_an_old_name_leads_to_the_new_one(version: str, hub: LoopbackHub, tmp_path: Path) -> None:
    done = run_client(hub, RENAMED.replace("VERSION", version), tmp_path / "home", version=version)
    old, new, newest = (f"local/{name}-{version}" for name in ("old", "new", "newest"))
    assert shown(done) == [new, [".gitattributes", "a/b.bin", "c.bin"], newest, newest, old]
    assert (tmp_path / "by-old-name").read_bytes() == b"x" * 9
    call(hub, "PUT", f"/api/datasets/{newest}/settings", {"visibility": "private"})
    hidden = call(hub, "GET", f"/api/datasets/{new}", token=hub.stranger_token)
    assert said(hidden) == MISSING and "location" not in hidden.headers, "a name would be given away"
    shown_to = call(hub, "GET", f"/datasets/{new}/resolve/main/c.bin?download=true")
    assert shown_to.status == 307
    assert shown_to.headers["location"] == f"/datasets/{newest}/resolve/main/c.bin?download=true"


def test_no_token_is_logged_or_lies_open(hub: LoopbackHub, tmp_path: Path) -> None:
    make(hub, "local/secrets", {})
    code = """
    from huggingface_hub import HfApi
    z = dict(path_or_fileobj=b"z" * 99, path_in_repo="z.bin")
    HfApi().upload_file(**z, repo_id="local/secrets", repo_type="dataset")
    """
    run_client(hub, code, tmp_path / "home")
    log = json.dumps(hub.requests())
    assert "/_lfs/" in log and "signature" not in log
    assert not any(one in log for one in (hub.write_token, hub.read_token, hub.stranger_token))
    assert (hub.root / "tokens.json").stat().st_mode & 0o777 == 0o600
    assert hub.root.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("method", "what"),
    [("GET", "requests"), ("DELETE", "requests"), ("POST", "faults"), ("DELETE", "faults"), ("PUT", "settings")],
)
def test_only_the_owners_write_token_opens_the_controls(method: str, what: str, hub: LoopbackHub) -> None:
    for who in WHO[1:]:
        assert call(hub, method, f"/_loopback/{what}", token=token(hub, who)).status in (401, 403)


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("faults", {"method": "GET"}),
        ("faults", {"path": "x", "odd": 1}),
        ("faults", {"path": "("}),
        ("faults", {"path": "x", "lose": "everything"}),
        ("settings", {"page_size": 0}),
        ("settings", {"page_size": True}),
        ("settings", {"store": 1}),
    ],
    ids=str,
)
def test_controls_that_make_no_sense_are_refused(what: str, body: dict[str, object], hub: LoopbackHub) -> None:
    assert call(hub, "PUT" if what == "settings" else "POST", f"/_loopback/{what}", body).status == 400
