"""What only Spaces have: variables, secrets, hardware, and a runtime, though nothing runs here."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

from tamis.hub.loopback.call import Call, Route
from tamis.hub.loopback.refusal import Refusal
from tamis.hub.loopback.store import Repo, now

_APPS = {"gradio": "app.py", "docker": "Dockerfile", "static": "index.html"}


def settings(call: Call, name: str, what: str) -> Response:
    """The variables, or the secrets without their values."""
    repo = call.repo("spaces", name, write=what == "secrets")
    return JSONResponse(repo.state[what])


def set_setting(call: Call, name: str, what: str) -> Response:
    """Sets one variable or secret."""
    repo, fields = call.repo("spaces", name, write=True), call.json()
    if not fields.get("key") or "value" not in fields:
        raise Refusal(400, "a key and a value are needed")
    with repo.changed() as state:
        state[what][fields["key"]] = kept(fields, what)
    return JSONResponse(repo.state[what])


def kept(fields: dict[str, Any], what: str) -> dict[str, Any]:
    """What is written down of a variable or a secret: as nothing runs here, never a secret's value."""
    hidden = ("value",) if what == "secrets" else ()
    return {**{key: value for key, value in fields.items() if key not in hidden}, "updatedAt": now()}


def delete_setting(call: Call, name: str, what: str) -> Response:
    """Takes one variable or secret away."""
    repo, key = call.repo("spaces", name, write=True), call.json().get("key")
    with repo.changed() as state:
        if state[what].pop(key, None) is None:
            raise Refusal(404, f"there is no {key} among the {what}")
    return JSONResponse(repo.state[what])


def runtime(call: Call, name: str) -> Response:
    """The stage and the hardware: what was asked for counts as running once there is an app."""
    return JSONResponse(_runtime(call.repo("spaces", name)))


def _runtime(repo: Repo) -> dict[str, Any]:
    files = repo.read_commit(repo.resolve("main")).files
    stage = "RUNNING" if _APPS[repo.state["sdk"]] in files else "NO_APP_FILE"
    hardware = {
        "current": repo.state["hardware"] if stage == "RUNNING" else None,
        "requested": repo.state["hardware"],
    }
    more = {"storage": None, "gcTimeout": repo.state["sleep"], "replicas": {"current": 1, "requested": 1}}
    return {"stage": stage, "hardware": hardware, **more}


def set_hardware(call: Call, name: str) -> Response:
    """Asks for other hardware."""
    repo, fields = call.repo("spaces", name, write=True), call.json()
    with repo.changed() as state:
        state["hardware"] = str(fields.get("flavor"))
        state["sleep"] = fields.get("sleepTimeSeconds", state["sleep"])
    return JSONResponse(_runtime(repo))


ROUTES = [
    Route("GET", "/api/spaces/{R}/runtime", runtime),
    Route("POST", "/api/spaces/{R}/hardware", set_hardware),
    Route("GET", "/api/spaces/{R}/{S}", settings),
    Route("POST", "/api/spaces/{R}/{S}", set_setting),
    Route("DELETE", "/api/spaces/{R}/{S}", delete_setting),
]
