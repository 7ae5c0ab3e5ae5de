"""The third stage of an audit: what the corpus with surrogates holds in place of every item."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace

from tamis.pii.assess import DETECTOR, FALSE, FICTIONAL, NUMBER, SPAN, TERM
from tamis.pii.labels import LABELS
from tamis.pii.provider_tags import forms
from tamis.pii.review import Reviewed
from tamis.pii.sessions import Session
from tamis.pii.spans import Span
from tamis.pii.surrogates import Surrogates

_CONSONANTS, _VOWELS = "bdfgklmnprstv", "aeiou"

Piece = tuple[Span, str]
"""What is replaced, and what by."""


def stand_ins(session: Session, reviewed: Sequence[Reviewed], surrogates: Surrogates) -> list[list[Piece]]:
    """The pieces of each message that are replaced, in order.

    What is personal gets a surrogate, of the original that is there or that the reviewer gave, else of one that
    only has its label's shape. What is not, and that nobody knows, is called unknown: nothing is invented.

    Args:
        session: The session.
        reviewed: Its items.
        surrogates: Makes the surrogates.
    """
    by_message: dict[int, list[Reviewed]] = {}
    for one in reviewed:
        by_message.setdefault(one.item.sequence_id, []).append(one)
    values: dict[str, tuple[str, str]] = {}
    for message in session:
        for one in by_message.get(message.sequence_id, ()):
            if value := _value(one, message.content):
                values[one.item.item] = value
    made = surrogates.session(session.session_id, values.values(), [message.content for message in session])
    pieces: list[list[Piece]] = []
    for message in session:
        found: list[Piece] = []
        for one in by_message.get(message.sequence_id, ()):
            value = values.get(one.item.item)
            text = made.replace(*value) if value else _known(one)
            if text is None:
                continue
            if found and one.item.start < found[-1][0].end:  # two detectors saw more and less of one value
                span, text = found.pop()
                found.append((replace(span, end=max(span.end, one.item.end)), text))
            else:
                found.append((Span(one.item.start, one.item.end, one.item.label), text))
        pieces.append(found)
    return pieces


def _label(one: Reviewed) -> str:
    return one.item.inferred if one.item.inferred in LABELS else one.item.label


def _value(one: Reviewed, content: str) -> tuple[str, str] | None:
    """Label and text of what gets a surrogate; None where nothing does."""
    item = one.item
    if one.outcome == FALSE:
        is_fictional = item.inferred == FICTIONAL and item.origin not in (SPAN, DETECTOR) and not one.original
        return ("PERSON", _shaped("PERSON", item.whose, content)) if is_fictional else None
    label = _label(one)
    if item.origin in (SPAN, DETECTOR):
        return label, content[item.start : item.end]
    if label not in LABELS:
        return None  # nobody knows what kind of thing it is: the tag stays
    return label, one.original or _shaped(label, item.whose, content)


def _known(one: Reviewed) -> str | None:
    """What stands for something that is not personal; None where the text stays as it is."""
    item = one.item
    if one.outcome != FALSE or item.origin in (SPAN, DETECTOR):
        return None
    if one.original:
        return one.original
    is_number = item.inferred == NUMBER or (item.inferred != TERM and item.label in forms()["digit_labels"])
    return str(forms()["placeholders"][NUMBER if is_number else TERM])


def _shaped(label: str, whose: str, content: str) -> str:
    """A text of the label's shape, the same for the same value of a session; it only says how one looks."""
    bits = int.from_bytes(hashlib.sha256(f"{label}\0{whose}".encode("utf-8", "surrogatepass")).digest())

    def drawn(letters: str) -> str:
        nonlocal bits
        bits, i = divmod(bits, len(letters))
        return letters[i]

    def word(_: re.Match[str]) -> str:
        return "".join(drawn(_CONSONANTS) + drawn(_VOWELS) for _ in range(4)).capitalize()

    text = re.sub("W", word, str(forms()["shapes"][label]))
    text = re.sub("#", lambda _: drawn("123456789"), text)
    around = re.sub(r"[<\[{][^<>\[\]{}]*[>\]}]", "", content)
    return text.lower() if around.islower() and label in forms()["name_labels"] else text
