"""Routes that the Hub does not have, for the owner's write token: faults, the log of calls, settings."""

from __future__ import annotations

from dataclasses import asdict

from starlette.responses import JSONResponse, Response

from tamis.hub.loopback.access import OWNER, check_namespace
from tamis.hub.loopback.call import Call, Route, done
from tamis.hub.loopback.faults import fault_from
from tamis.hub.loopback.refusal import Refusal


def add_fault(call: Call) -> Response:
    """Sets a rule; the body is a `Fault`."""
    check_namespace(call.account, OWNER)
    fault = fault_from(call.json())
    call.hub.faults.add(fault)
    return done(asdict(fault))


def clear_faults(call: Call) -> Response:
    """Takes all rules back."""
    check_namespace(call.account, OWNER)
    call.hub.faults.clear()
    return done()


def requests(call: Call) -> Response:
    """The calls since the log was cleared, oldest first; no tokens, and no bodies."""
    check_namespace(call.account, OWNER)
    return JSONResponse([*call.hub.log])


def clear_requests(call: Call) -> Response:
    """Empties the log."""
    check_namespace(call.account, OWNER)
    call.hub.log.clear()
    return done()


def set_settings(call: Call) -> Response:
    """Sets `page_size` and `part_size`; null gives the default back."""
    check_namespace(call.account, OWNER)
    given = call.json()
    for name, value in given.items():
        if name not in ("page_size", "part_size") or not (value is None or (type(value) is int and value > 0)):
            raise Refusal(400, "the settings are page_size and part_size, whole numbers above 0 or null")
        setattr(call.hub, name, getattr(type(call.hub), name) if value is None else value)
    return done(given)


ROUTES = [
    Route("POST", "/_loopback/faults", add_fault),
    Route("DELETE", "/_loopback/faults", clear_faults),
    Route("GET", "/_loopback/requests", requests),
    Route("DELETE", "/_loopback/requests", clear_requests),
    Route("PUT", "/_loopback/settings", set_settings),
]
