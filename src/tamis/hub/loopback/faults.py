"""What goes wrong on request: rules that make matching calls fail, stop, wait, or meet somebody else's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from tamis.hub.loopback.refusal import Refusal


@dataclass(frozen=True)
class Fault:
    """A rule, and what it does to the calls that it matches; several things may be asked for at once.

    Args:
        path: A regular expression, searched for in the decoded path with its query.
        method: The HTTP method; any, if None.
        after: How many matching calls go through first.
        times: How many calls it meets then; all, if None.
        delay: Seconds that the call waits before anything happens.
        hang: The call never gets an answer.
        status: The answer, before anything is done.
        headers: Headers of that answer, such as `Retry-After` or `RateLimit`.
        lose: `request` cuts the connection before anything is done; `reply` does what was asked, and then cuts it.
        cut_after: Cuts the connection after that many bytes of the answer's body.
        race: Somebody commits this file to `main` just before the call is answered (a commit, or a merge).
        parent_required: Refuses a commit that names no parent.
    """

    path: str
    method: str | None = None
    after: int = 0
    times: int | None = 1
    delay: float = 0
    hang: bool = False
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    lose: str | None = None
    cut_after: int | None = None
    race: str | None = None
    parent_required: bool = False


def fault_from(given: Mapping[str, Any]) -> Fault:
    """The rule that a JSON object says.

    Raises:
        Refusal: It is not one.
    """
    names = {one.name for one in fields(Fault)}
    needed = {one.name for one in fields(Fault) if one.default is MISSING and one.default_factory is MISSING}
    if not needed <= {*given} <= names:
        raise Refusal(400, f"a fault has a path, and may have {', '.join(sorted(names - needed))}")
    if given.get("lose") not in (None, "request", "reply"):
        raise Refusal(400, "lose is request or reply")
    try:
        re.compile(given["path"])
    except re.error as error:
        raise Refusal(400, f"{given['path']} is no regular expression: {error}") from error
    return Fault(**given)


class Faults:
    """The rules that are set, and how often each was met."""

    def __init__(self) -> None:
        self._rules: list[tuple[Fault, list[int]]] = []

    def add(self, fault: Fault) -> None:
        """Sets one more rule."""
        self._rules.append((fault, [0]))

    def clear(self) -> None:
        """Takes all rules back."""
        self._rules.clear()

    def meet(self, method: str, path: str) -> Fault | None:
        """The first rule that this call falls under; every rule that matches counts it."""
        met = None
        for fault, seen in self._rules:
            if fault.method not in (None, method) or not re.search(fault.path, path):
                continue
            seen[0] += 1
            late = fault.times is not None and seen[0] > fault.after + fault.times
            if met is None and seen[0] > fault.after and not late:
                met = fault
        return met
