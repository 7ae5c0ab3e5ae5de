"""What is for training and what is held out: wording, names and problems are divided once, by their own text."""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

HALVES = ("all", "train", "held_out")


def in_half(text: str, half: str) -> bool:
    """Whether a text belongs to `train` (about four of five), to `held_out` (the rest), or to `all`."""
    return half == "all" or (crc32(text.encode()) % 5 == 0) == (half == "held_out")


def only(texts: Iterable[str], half: str) -> tuple[str, ...]:
    """The texts of a half, each once, in order; all of them where the half would have none."""
    listed = tuple(dict.fromkeys(texts))
    return tuple(text for text in listed if in_half(text, half)) or listed
