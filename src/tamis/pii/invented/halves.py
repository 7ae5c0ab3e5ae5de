"""What is for training and what is held out: wording, names and problems are divided once, by their own text."""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

HALVES = ("all", "train", "review", "held_out")


def in_half(text: str, half: str) -> bool:
    """Whether a text belongs to `train` (about 7 of 10), `review` (1), `held_out` (the rest), or to `all`.

    `review` is for what learns to judge a detector that was trained on `train`: it knows that wording too well.
    """
    place = crc32(text.encode()) % 10
    return half in ("all", "held_out" if place in (0, 5) else "review" if place == 1 else "train")


def only(texts: Iterable[str], half: str) -> tuple[str, ...]:
    """The texts of a half, each once, in order; all of them where the half would have none."""
    listed = tuple(dict.fromkeys(texts))
    return tuple(text for text in listed if in_half(text, half)) or listed
