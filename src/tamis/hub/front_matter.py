"""A card's two halves: the YAML between its `---` lines, and the text after them."""

from __future__ import annotations

from typing import Any

import yaml

_LINE = "---\n"


def split(card: str) -> tuple[dict[str, Any], str]:
    """The front matter and the body.

    Raises:
        ValueError: The card has none, or one that is not a YAML mapping.
    """
    text = card.replace("\r\n", "\n").removeprefix("\ufeff")
    if not text.startswith(_LINE) or f"\n{_LINE}" not in text:
        raise ValueError("it has no front matter between two lines of ---")
    top, _, body = text[len(_LINE) :].partition(f"\n{_LINE}")
    try:
        found = yaml.safe_load(top)
    except yaml.YAMLError as error:
        raise ValueError(f"its front matter is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(found, dict):
        raise ValueError("its front matter is not a mapping")
    return found, body


def join(metadata: dict[str, Any], body: str) -> str:
    """The card."""
    return f"{_LINE}{yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True)}{_LINE}{body}"
