"""What stands in the place of a span: a tag, a mask, a keyed hash, ciphertext, a surrogate, or its own text."""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from tamis.errors import UsageError, missing_extra
from tamis.pii.keyed import Draw
from tamis.pii.labels import FROM_PRESIDIO, LABELS, TO_PRESIDIO
from tamis.pii.sessions import Session
from tamis.pii.spans import Span
from tamis.pii.surrogates import Surrogates

NEED_KEY = ("hash", "encrypt")
OTHER = "PII"
"""The tag of a label that is not known here."""
_MASK = "\N{FULL BLOCK}"  # `*` and `_` have a meaning in maths
_NAMES = frozenset({*LABELS, *FROM_PRESIDIO, *TO_PRESIDIO.values(), "NRP", OTHER})
TAG = re.compile(
    rf"<({'|'.join(sorted(_NAMES, key=len, reverse=True))})(?:_\d+)?(?::([0-9a-f]{{16}}|[A-Za-z0-9_-]{{39,}}))?>"
)
"""A tag that stands for a value, with its hash or ciphertext behind a colon: nothing as short as a name."""
_NONCE = 12

Offset = tuple[int, int, int, int]
"""Start and end of a replaced piece in the old text, then in the new one."""


@dataclass(frozen=True)
class Operator:
    """Says what stands in the place of each span.

    Attributes:
        name: One of `recipe.OPERATORS`.
        key: The secret key; empty for operators that need none.
        across_sessions: Surrogates are the same in all sessions.
    """

    name: str
    key: bytes = b""
    across_sessions: bool = False

    def __repr__(self) -> str:
        return f"Operator({self.name!r})"  # the key stands in no log

    def replacements(self, session: Session, spans: Sequence[Sequence[Span]]) -> list[list[str]]:
        """The new text of each span of each message."""
        if self.name == "surrogate":
            return self._surrogates(session, spans)
        return [
            [self._one(session, i, span, session.messages[i].content[span.start : span.end]) for span in found]
            for i, found in enumerate(spans)
        ]

    def _one(self, session: Session, i: int, span: Span, text: str) -> str:
        label = span.label if span.label in _NAMES else OTHER
        if self.name == "tag":
            return f"<{label}>"
        if self.name == "mask":
            return _MASK * len(text)
        if self.name == "hash":
            digest = Draw(self.key, "hash").digest(label, " ".join(text.casefold().split()))
            return f"<{label}:{digest.hex()[:16]}>"
        if self.name == "encrypt":
            # A nonce that hangs on place and text repeats only where both do: the bytes are the same in every
            # process, and equal names in two places look different.
            place = (session.session_id, session.messages[i].sequence_id, span.start, text)
            nonce = Draw(self.key, "nonce").digest(*place)[:_NONCE]
            secret = _cipher(self.key).encrypt(nonce, text.encode("utf-8", "surrogatepass"), label.encode())
            return f"<{label}:{base64.urlsafe_b64encode(nonce + secret).decode().rstrip('=')}>"
        return text

    def _surrogates(self, session: Session, spans: Sequence[Sequence[Span]]) -> list[list[str]]:
        texts = [
            [(span.label, message.content[span.start : span.end]) for span in found]
            for message, found in zip(session, spans, strict=True)
        ]
        if not any(texts):
            return [[] for _ in texts]
        invented = Surrogates(self.key, self.across_sessions).session(
            session.session_id, [one for found in texts for one in found], [m.content for m in session]
        )
        return [[invented.replace(label, text) for label, text in found] for found in texts]


def applied(content: str, spans: Sequence[Span], texts: Sequence[str]) -> tuple[str, list[Offset]]:
    """The text with each span replaced, and where each stands now; all between them is the same, byte for byte.

    Args:
        content: The text.
        spans: Its spans, in order, none overlapping another.
        texts: The new text of each.
    """
    parts: list[str] = []
    offsets: list[Offset] = []
    done = length = 0
    for span, text in zip(spans, texts, strict=True):
        parts += [content[done : span.start], text]
        start = length + span.start - done
        offsets.append((span.start, span.end, start, start + len(text)))
        done, length = span.end, start + len(text)
    return "".join((*parts, content[done:])), offsets


def moved(offsets: Sequence[Offset], start: int, end: int) -> tuple[int, int]:
    """Where a piece of the old text stands in the new one; what reaches into a replaced piece takes all of it."""
    return _moved(offsets, start, False), _moved(offsets, end, True)


def _moved(offsets: Sequence[Offset], offset: int, is_end: bool) -> int:
    i = bisect_right([one[0] for one in offsets], offset - is_end) - 1
    if i < 0:
        return offset
    _, old_end, new_start, new_end = offsets[i]
    if offset < old_end or (is_end and offset == old_end):
        return new_end if is_end else new_start
    return new_end + offset - old_end


def inverse(offsets: Sequence[Offset]) -> list[Offset]:
    """The offsets from the new text to the old one."""
    return [(new_start, new_end, start, end) for start, end, new_start, new_end in offsets]


def outside_tags(content: str, spans: Sequence[Span]) -> list[Span]:
    """The spans without what of them lies in a tag: a tag is nobody's."""
    tags = [found.span() for found in TAG.finditer(content)]
    if not tags:
        return list(spans)
    return [piece for span in spans for piece in _pieces(content, span, tags)]


def _pieces(content: str, span: Span, tags: Sequence[tuple[int, int]]) -> Iterator[Span]:
    cuts = [tag for tag in tags if tag[0] < span.end and tag[1] > span.start]
    if not cuts:
        yield span
        return
    for start, end in zip(
        [span.start, *(tag[1] for tag in cuts)], [*(tag[0] for tag in cuts), span.end], strict=True
    ):
        piece = content[start:end]
        start, end = start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
        if any(c.isalnum() for c in content[start:end]):
            yield replace(span, start=start, end=end)


def decrypted(tag: re.Match[str], key: bytes) -> str | None:
    """The text that a tag was made of; None where it was not made with this key."""
    from cryptography.exceptions import InvalidTag

    if not tag[2]:
        return None
    try:
        secret = base64.urlsafe_b64decode(tag[2] + "=" * (-len(tag[2]) % 4))
        text = _cipher(key).decrypt(secret[:_NONCE], secret[_NONCE:], tag[1].encode())
    except (InvalidTag, ValueError):
        return None
    return str(text, "utf-8", "surrogatepass")


@cache
def _cipher(key: bytes):  # type: ignore[no-untyped-def]  # cryptography is imported where it is needed
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise missing_extra("pii", error) from error
    return AESGCM(Draw(key, "encrypt").digest())


def needs_key(name: str, key: bytes | None) -> bytes:
    """The key of an operator.

    Raises:
        UsageError: There is none, and the operator means nothing without it.
    """
    if key is None and name in NEED_KEY:
        raise UsageError(f"--operator {name}: needs --key_file; `openssl rand -hex 32 > FILE` makes one")
    return key or b""
