"""What is drawn under a secret key: the same for the same question, and nothing to anybody without the key."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tamis.errors import UsageError

_LEAST = 16
T = TypeVar("T")


@dataclass(frozen=True)
class Draw:
    """Numbers under a key.

    Attributes:
        key: The secret key.
        scope: What the numbers are for: another scope, other numbers.
    """

    key: bytes
    scope: str

    def __repr__(self) -> str:
        return f"Draw({self.scope!r})"  # the key stands in no log

    def digest(self, *what: object) -> bytes:
        """32 bytes that name what is asked."""
        text = "\0".join((self.scope, *map(str, what)))
        return hmac.digest(self.key, text.encode("utf-8", "surrogatepass"), hashlib.sha256)

    def below(self, bound: int, *what: object) -> int:
        """A whole number from 0 up to the bound."""
        return int.from_bytes(self.digest(*what)[:8]) % bound

    def of(self, items: Sequence[T], *what: object) -> T:
        """One of the items."""
        return items[self.below(len(items), *what)]


def read_key(path: str | None) -> bytes | None:
    """The secret key in a file: all its bytes, without white space at the ends.

    Raises:
        UsageError: The file cannot be read, or is too short to be a secret.
    """
    if path is None:
        return None
    try:
        key = Path(path).read_bytes().strip()
    except OSError as error:
        raise UsageError(f"--key_file {path}: cannot be read: {error.strerror}") from error
    if len(key) < _LEAST:
        raise UsageError(
            f"--key_file {path}: holds {len(key)} bytes, and a key has at least {_LEAST}: "
            "`openssl rand -hex 32` makes one"
        )
    return key


def new_key() -> bytes:
    """A key that nobody knows."""
    return secrets.token_bytes(32)
