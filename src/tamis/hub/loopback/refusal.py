"""An answer other than yes, as the Hub words it: the clients tell their errors apart by its headers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Refusal(Exception):  # noqa: N818  an answer, not a fault
    """What ends a call: a status, a sentence, and where the clients look for one, an error code.

    Args:
        status: The HTTP status.
        message: The sentence; it goes into the body and into `X-Error-Message`.
        code: `RepoNotFound`, `RevisionNotFound`, `EntryNotFound` or `GatedRepo`.
        headers: More headers.
        body: More keys of the JSON body.
    """

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        one_line = " ".join(message.split()).encode("latin-1", "replace").decode("latin-1")
        self.headers = {"X-Error-Message": one_line, **({"X-Error-Code": code} if code else {}), **(headers or {})}
        self.body = {"error": message, **(body or {})}
