"""Calls to the Hub that are repeated where that helps, and fail in one sentence where it does not."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tamis.errors import UsageError, WorkError, missing_extra

T = TypeVar("T")
_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_TRIES = 6
_LONGEST = 300.0  # a window of the Hub's rate limits
_SILENCE = 120.0  # a commit may take the Hub a minute


class ConflictError(WorkError):
    """The repository changed in between: what was prepared has to be prepared anew."""


class NotThereError(UsageError):
    """There is no such repository, or the token may not see it."""


def api() -> Any:
    """A client with the token of the standard places (`HF_TOKEN`, `hf auth login`); it does not wait for ever.

    Raises:
        UsageError: An extra is missing, or `HF_HUB_OFFLINE` is set.
    """
    try:
        from huggingface_hub import HfApi, constants
        from huggingface_hub.utils import disable_progress_bars, get_session, httpx
    except ImportError as error:
        raise missing_extra("attribution", error) from error
    if constants.HF_HUB_OFFLINE:
        raise UsageError("HF_HUB_OFFLINE is set, so the Hub cannot be asked; unset it")
    if not sys.stderr.isatty():
        disable_progress_bars()
    get_session().timeout = httpx.Timeout(_silence())  # the client's own default is none
    return HfApi()


def about(repo_id: str, repo_type: str, revision: str | None = None, what: str | None = None) -> Any:
    """What the Hub says of a repository; its `sha` is the commit that the revision is now.

    Raises:
        UsageError: There is no such repository or revision, or no right to see it (`NotThereError`).
        WorkError: The Hub cannot be reached.
    """
    where = {"repo_type": repo_type, "revision": revision}
    # Of all calls only this one would wait for ever if it is not told otherwise.
    return asked(what or repo_id, api().repo_info, repo_id, **where, timeout=_silence())


def asked(what: str, call: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """What the call gives; tried again, for a bounded time, where the Hub is busy or the line is cut.

    Waits as long as the answer's `RateLimit` or `Retry-After` says, or longer from try to try.

    Args:
        what: What is asked for, for the error's sentence.
        call: A method of the client.
        arguments: Its arguments.
        options: Its options.

    Raises:
        ConflictError: The Hub answers 409 or 412.
        UsageError: The token lacks a right, or there is no such repository or revision.
        WorkError: The Hub cannot be reached, or refuses for any other reason.
    """
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled
    from huggingface_hub.utils import httpx

    for attempt in range(1, _TRIES + 1):
        try:
            return call(*arguments, **options)
        except OfflineModeIsEnabled as error:
            raise UsageError(f"{what}: HF_HUB_OFFLINE is set") from error
        except HfHubHTTPError as error:
            status = error.response.status_code
            wait = _told_to_wait(error.response.headers)
            if status in (409, 412):
                raise ConflictError(f"{what}: {_reason(error)}") from error
            if status not in _AGAIN or attempt == _TRIES or (wait or 0) > _LONGEST:
                raise refusal(what, error) from error
        except RuntimeError as error:  # an upload that failed for good
            raise WorkError(f"{what}: {' '.join(str(error.__cause__ or error).split())}") from error
        except httpx.HTTPError as error:
            wait = None
            if attempt == _TRIES:
                raise WorkError(f"{what}: the Hub cannot be reached ({type(error).__name__})") from error
        time.sleep(min(2.0 ** (attempt - 2), 8.0) * random.uniform(0.5, 1.0) if wait is None else wait + 0.1)
    raise AssertionError("the last try raises")


def refusal(what: str, error: Any) -> UsageError | WorkError:
    """The sentence that says why the Hub refused."""
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    status = error.response.status_code
    if isinstance(error, GatedRepoError):
        return UsageError(f"{what}: gated, and the token's account has not been let in; ask on its page")
    if isinstance(error, RevisionNotFoundError):
        return UsageError(f"{what}: there is no such revision")
    if isinstance(error, EntryNotFoundError):
        return UsageError(f"{what}: there is no such file")
    if status == 403:
        return UsageError(f"{what}: the token lacks the right to write here; give one with write access")
    if isinstance(error, RepositoryNotFoundError) or status == 404:
        return NotThereError(f"{what}: there is no such repository, or the token may not see it")
    if status == 401:
        return UsageError(f"{what}: no valid token; set HF_TOKEN, or run `hf auth login`")
    if status == 402:
        return WorkError(f"{what}: the Hub wants a paid plan for this (402)")
    return WorkError(f"{what}: the Hub refused ({_reason(error)})")


def _silence() -> float:
    """The seconds without a byte after which a line counts as cut: `HF_HUB_DOWNLOAD_TIMEOUT`, if that is set."""
    return float(os.environ.get("HF_HUB_DOWNLOAD_TIMEOUT") or _SILENCE)


def _reason(error: Any) -> str:
    words = " ".join(str(error.server_message or "").split())
    return f"{error.response.status_code}{f', {words}' if words else ''}"


def _told_to_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that the answer says to wait, if it does."""
    from huggingface_hub.utils import parse_ratelimit_headers

    limit = parse_ratelimit_headers(headers)
    if limit is not None and limit.remaining == 0:
        return float(limit.reset_in_seconds)
    after = headers.get("retry-after", "")
    return float(after) if after.isdecimal() else None
