"""The two ways a command ends badly: the call was wrong (exit 2), or the work failed (exit 1)."""

from __future__ import annotations


class UsageError(ValueError):
    """What was asked for cannot be done as asked; the message is one sentence that names the file, row or flag."""


class WorkError(RuntimeError):
    """The call was right and the work failed; the message is one sentence that says what stopped it."""


def missing_extra(extra: str, error: ImportError) -> UsageError:
    """A `UsageError` that names the package that is missing and the line that installs it."""
    return UsageError(f"{error.name or error} is not installed: pip install 'tamis[{extra}]'")
