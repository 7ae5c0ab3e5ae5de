"""A card's two halves: the YAML between its `---` lines, and the text after them."""

from __future__ import annotations

from typing import Any

import yaml

from tamis.provenance import Dumper

CARD = "README.md"
HERE = "path/to/this/folder"
"""What stands in a card's lines of code for the place of its own folder or repository."""

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
    return f"{_LINE}{dumped(metadata)}{_LINE}{body}"


def dumped(fields: Any) -> str:
    """The YAML of a card's front matter: in the order given, each text on one line, nothing by reference."""
    return yaml.dump(fields, Dumper=_OneLine, sort_keys=False, allow_unicode=True, width=float("inf"))


class _OneLine(Dumper):
    """Each text on one line, whatever is in it: readers of cards look for a line of `---`."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        """No `*id001` in the place of what stood before."""
        return True


_OneLine.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style=None if text.isprintable() else '"'
    ),
)
