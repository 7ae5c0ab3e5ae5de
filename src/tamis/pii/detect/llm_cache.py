"""Answers that a person lets be kept: they hold personal data, so the file is theirs alone, and named by them."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from tamis.errors import UsageError, WorkError


class AnswerCache:
    """A file of answers by the content of what was asked.

    Answers are added to its end, so that a run that is killed loses none, and several may write to it.

    Args:
        path: The file; made with mode 0600 where it is not there.

    Raises:
        UsageError: It cannot be used, is something else, or others may read it.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        try:
            descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise UsageError(f"--llm_cache {path}: cannot be used: {error.strerror}") from error
        with os.fdopen(descriptor, "rb") as stream:
            if stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o077:
                raise UsageError(f"--llm_cache {path}: others may read it; chmod 600 it first")
            whole = stream.read()
        self._answers: dict[str, str] = {}
        *lines, torn = whole.split(b"\n")
        if torn and not torn.startswith(b'{"key"'):
            raise UsageError(f"--llm_cache {path}: line {len(lines) + 1} is no answer that was kept")
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line) if line else {}
                self._answers |= {entry["key"]: entry["answer"]} if entry else {}
            except (ValueError, TypeError, KeyError):
                raise UsageError(f"--llm_cache {path}: line {number} is no answer that was kept") from None
        if torn:  # a run was killed while it wrote
            os.truncate(self._path, len(whole) - len(torn))

    def get(self, key: str) -> str | None:
        """The answer that was kept, if there is one."""
        return self._answers.get(key)

    def put(self, key: str, answer: str) -> None:
        """Keeps an answer.

        Raises:
            WorkError: It cannot be written.
        """
        self._answers[key] = answer
        line = json.dumps({"key": key, "answer": answer}).encode() + b"\n"
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise WorkError(f"--llm_cache {self._path}: cannot be written: {error.strerror}") from error


def key(identity: str, parts: Sequence[str]) -> str:
    """The digest that names an answer: of the model and of all that it was asked."""
    text = json.dumps([identity, *parts], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
