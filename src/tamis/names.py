"""Names that other people gave, made fit to be shown: of data sets, models, sources, rows."""

from __future__ import annotations

import os
import re
from pathlib import Path

_FILES = (".jsonl", ".json", ".csv", ".parquet")
# What has a meaning in Markdown; `_` has none inside a word.
_SPECIAL = re.compile(r"(?<![^\W_])_|_(?![^\W_])|[!#$&*:<>@\[\\\]^`|~]|(?<=www)\.", re.IGNORECASE)


def printable(text: str | None) -> str:
    """The text with what cannot be printed replaced: control characters and those that turn the line round."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text or "") or "(no name)"


def is_local(name: str) -> bool:
    """Whether the name is a path on this machine, and not a name on the Hub."""
    path = Path(name)
    as_path = path.suffix in _FILES or name.startswith((".", "/", "~")) or name.count("/") > 1
    return as_path or path.exists()


def shown(name: str) -> str:
    """A name on the Hub, or a path's last part: the folders before it are nobody's business."""
    return printable(Path(os.path.abspath(name)).name if is_local(name) else name)  # noqa: PTH100 (`..` is no name)


def in_markdown(text: str | None) -> str:
    """The text as one line that Markdown shows as it is, in a table too: no link, no emphasis, no HTML."""
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", printable(text))
