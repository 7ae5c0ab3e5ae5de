"""Spaces and collections through the real client."""

from __future__ import annotations

from pathlib import Path

from clients import VERSIONS, call, make, run_client, shown
from tamis.hub.loopback.process import LoopbackHub

SPACE = """
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError
api, name = HfApi(), "local/space-VERSION"
api.create_repo(name, repo_type="space", space_sdk="gradio", space_variables=[{"key": "A", "value": "1"}],
                space_secrets=[{"key": "KEY", "value": "s3cret"}])
before = api.get_space_runtime(name)
api.upload_file(repo_id=name, repo_type="space", path_or_fileobj=b"pass", path_in_repo="app.py")
api.add_space_variable(name, "B", "2", description="two")
api.delete_space_variable(name, "A")
api.add_space_secret(name, "OTHER", "s3cret too")
api.delete_space_secret(name, "KEY")
asked = api.request_space_hardware(name, "t4-small", sleep_time=60)
after = api.get_space_runtime(name)
found = {key: [one.value, one.description] for key, one in api.get_space_variables(name).items()}
info = api.space_info(name)
secrets = sorted(api.get_space_secrets(name)) if hasattr(api, "get_space_secrets") else ["OTHER"]
try:
    api.create_repo("local/no", repo_type="space", space_sdk="docker")
    api.delete_space_variable(name, "A")
except HfHubHTTPError as error:
    missing = error.response.status_code
stages = [before.stage, after.stage]
show([*stages, after.hardware, asked.requested_hardware, after.sleep_time, found, info.sdk, secrets, missing])
"""


@VERSIONS
def test_a_spaces_settings(version: str, hub: LoopbackHub, tmp_path: Path) -> None:
    done = run_client(hub, SPACE.replace("VERSION", version), tmp_path / "home", version=version)
    assert shown(done) == [
        "NO_APP_FILE",
        "RUNNING",
        "t4-small",
        "t4-small",
        60,
        {"B": ["2", "two"]},
        "gradio",
        ["OTHER"],
        404,
    ]
    name = f"/api/spaces/local/space-{version}"
    assert b"s3cret" not in call(hub, "GET", f"{name}/secrets").body
    assert call(hub, "GET", f"{name}/secrets", token=hub.read_token).status == 403
    assert not any(b"s3cret" in path.read_bytes() for path in hub.root.rglob("*.json")), (
        "a secret lies on the disk"
    )
    call(hub, "DELETE", "/api/repos/delete", {"organization": "local", "name": "no", "type": "space"})


COLLECTION = """
from huggingface_hub import HfApi
api = HfApi()
made = api.create_collection("Things of VERSION!", description="d", private=True)
again = api.create_collection("Things of VERSION!", exists_ok=True)
assert made.slug == again.slug and made.slug.startswith("local/things-of-VERSION-")
api.add_collection_item(made.slug, "local/listed", "dataset", note="good")
api.add_collection_item(made.slug, "local/listed", "dataset", exists_ok=True)
api.add_collection_item(made.slug, "local/listed-model", "model")
items = [[one.item_id, one.item_type, one.note, one.position] for one in api.get_collection(made.slug).items]
listed = [one.title for one in api.list_collections(owner="local")]
api.delete_collection(made.slug)
api.delete_collection(made.slug, missing_ok=True)
show([items, listed])
"""


@VERSIONS
def test_a_collection_from_its_first_item_to_its_end(version: str, hub: LoopbackHub, tmp_path: Path) -> None:
    if version == "2":
        make(hub, "local/listed", {})
        make(hub, "local/listed-model", {}, kind="model")
    done = run_client(hub, COLLECTION.replace("VERSION", version), tmp_path / "home", version=version)
    items, listed = shown(done)
    assert items == [["local/listed", "dataset", "good", 0], ["local/listed-model", "model", None, 1]]
    assert listed == [f"Things of {version}!"]


def test_a_collection_is_its_owners(hub: LoopbackHub) -> None:
    new = {"title": "Mine", "namespace": "local", "private": True}
    assert call(hub, "POST", "/api/collections", new, token=hub.stranger_token).status == 403
    slug = call(hub, "POST", "/api/collections", new).json()["slug"]
    assert call(hub, "GET", f"/api/collections/{slug}", token=hub.stranger_token).status == 404
    assert call(hub, "GET", "/api/collections", token=hub.stranger_token).json() == []
    item = {"item": {"id": "local/nothing", "type": "dataset"}}
    assert call(hub, "POST", f"/api/collections/{slug}/items", item).status == 404
    assert call(hub, "DELETE", f"/api/collections/{slug}", token=hub.read_token).status == 403
