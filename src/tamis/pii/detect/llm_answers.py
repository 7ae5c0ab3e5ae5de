"""What a chat model says, read strictly, and where its pieces stand in the text that it was shown."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tamis.pii.labels import FROM_PRESIDIO, LABELS

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "entities": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "message": {"type": "integer"},
                    "text": {"type": "string"},
                    "label": {"type": "string", "enum": list(LABELS)},
                },
                "required": ["message", "text", "label"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["entities"],
    "additionalProperties": False,
}
"""The form of an answer, as a JSON schema."""

_OTHER_NAMES = {
    "ADDRESS": "LOCATION",
    "BIRTHDAY": "DATE_OF_BIRTH",
    "DATE": "DATE_OF_BIRTH",
    "DOB": "DATE_OF_BIRTH",
    "EMAIL": "EMAIL_ADDRESS",
    "ID": "ID_NUMBER",
    "IP": "IP_ADDRESS",
    "NAME": "PERSON",
    "PHONE": "PHONE_NUMBER",
    "SSN": "US_SSN",
}


@dataclass(frozen=True)
class Piece:
    """A piece of a message, as the model gave it.

    Attributes:
        message: The message's number in the prompt.
        text: The piece, which may stand nowhere.
        label: One of `labels.LABELS`; None where the model's own name for it is not known.
    """

    message: int
    text: str
    label: str | None


class UnreadableError(ValueError):
    """An answer does not have the form that was asked for. It is not the same as one that names nothing."""


def read(answer: str) -> list[Piece]:
    """The pieces of an answer: of the first JSON object in it that has the form asked for.

    What stands around it is passed over: a model's thoughts, a fence, a sentence.

    Raises:
        UnreadableError: There is no such object, or one of its entries is not whole.
    """
    text = answer.rpartition("</think>")[2]
    decoder = json.JSONDecoder()
    for start in (found.start() for found in re.finditer(r"[{\[]", text)):
        try:
            value, _ = decoder.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError):
            continue
        if isinstance(value, dict) and "entities" in value:
            value = value["entities"]
        if isinstance(value, list):
            return [_piece(entry) for entry in value]
    raise UnreadableError


def _piece(entry: Any) -> Piece:
    if not isinstance(entry, dict):
        raise UnreadableError
    number, text, label = entry.get("message"), entry.get("text"), entry.get("label")
    if isinstance(number, str) and number.strip().isdecimal():
        number = int(number)
    if not isinstance(number, int) or isinstance(number, bool) or not isinstance(text, str):
        raise UnreadableError
    if not isinstance(label, str):
        raise UnreadableError
    name = re.sub(r"[\s-]+", "_", label.strip().upper())
    return Piece(number, text, FROM_PRESIDIO.get(name) or _OTHER_NAMES.get(name))


def locate(text: str, content: str) -> list[tuple[int, int]]:
    """Where a piece stands in a message, every time: start and end in code points; nothing where it does not.

    It never stands inside a word. White space and apostrophes of any kind are alike; where it is not there as it
    is written, case does not count.
    """
    words = text.split()
    if not words:
        return []
    # A name that a model finds in a word is no name: "Jan" in "January".
    before = r"(?<![^\W_])" if words[0][0].isalnum() else ""
    after = r"(?![^\W_])" if words[-1][-1].isalnum() else ""
    body = r"\s+".join(re.sub("['’]", "['’]", re.escape(word)) for word in words)
    for flags in (0, re.IGNORECASE):
        found = [match.span() for match in re.finditer(before + body + after, content, flags)]
        if found:
            return found
    return []
