"""Files that hold text of people: lines of JSON for their owner alone, marked so that none is published."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis.errors import UsageError
from tamis.pii.sessions import Annotated
from tamis.provenance import whole

_KEY, _MARK = "private", "tamis: holds text of people, never upload"  # `hub.bundle` looks for it in every file
OWNER_ONLY = 0o600


def write_private(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Writes the lines, each with the mark, whole or not at all, with mode 0600 from the first byte on."""
    with whole(path, OWNER_ONLY) as stream:
        for fields in lines:
            stream.write(json.dumps({_KEY: _MARK, **fields}, ensure_ascii=True).encode() + b"\n")


def read_private(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each line that is not empty, with its place for a sentence about it.

    Raises:
        UsageError: The file cannot be read, or a line is no object; the sentence repeats nothing of it.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8: {error.reason} at byte {error.start}") from None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except ValueError as error:
            reason = getattr(error, "msg", "")
            raise UsageError(f"{path}: line {number}: is not JSON: {reason}") from None
        if not isinstance(fields, dict):
            raise UsageError(f"{path}: line {number}: is not an object with keys and values")
        yield f"{path}: line {number}", {key: value for key, value in fields.items() if key != _KEY}


@dataclass(frozen=True)
class Corpus:
    """What names a corpus.

    Attributes:
        sha256: The digest.
        of: What it is the digest of.
        sessions: How many there are.
        messages: How many there are.
    """

    sha256: str
    of: str
    sessions: int
    messages: int


def fingerprint(name: str, sessions: Iterable[Annotated]) -> Corpus:
    """The digest of a corpus: of a file's bytes, as `sha256sum` gives it, or of the messages of anything else."""
    total, counted, messages = hashlib.sha256(), 0, 0
    for annotated in sessions:
        counted += 1
        messages += len(annotated.session)
        for message in annotated.session:
            told = [annotated.session.session_id, message.sequence_id, message.role, message.content]
            total.update(json.dumps(told).encode() + b"\n")
    path = Path(name)
    if path.is_file():
        with path.open("rb") as stream:
            return Corpus(hashlib.file_digest(stream, "sha256").hexdigest(), "the file", counted, messages)
    return Corpus(total.hexdigest(), "its messages, as JSON lines", counted, messages)
