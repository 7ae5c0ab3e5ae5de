"""How somebody writes or speaks: letters, slips, fillers, signs and emoji, with what is personal kept in sight."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tamis.pii.invented.notation import written
from tamis.pii.invented.pieces import MATHS, Piece

_NEAR = {
    "a": "sq",
    "e": "wr",
    "i": "uo",
    "o": "ip",
    "n": "bm",
    "t": "ry",
    "s": "ad",
    "r": "et",
    "l": "k",
    "h": "gj",
    "d": "sf",
    "m": "n",
    "u": "yi",
    "c": "xv",
}
_SHORT = {"you": "u", "are": "r", "your": "ur", "please": "pls", "thanks": "thx", "because": "bc", "people": "ppl", "okay": "k", "to": "2", "for": "4", "about": "abt", "tomorrow": "tmrw", "don't": "dont", "I'm": "im", "what": "wut",
          "with": "w", "without": "w/o", "right": "rite", "probably": "prolly", "going to": "gonna", "want to": "wanna", "I": "i", "the": "da", "and": "n", "before": "b4", "message": "msg", "really": "rly", "though": "tho"}  # fmt: skip
_CHILD = {"because": "becuz", "friend": "frend", "school": "skool", "said": "sed", "they": "thay", "right": "rite", "answer": "anser", "minutes": "minits", "teacher": "techer", "birthday": "brithday", "tomorrow": "tomorow", "what": "wat",
          "number": "numbr", "problem": "problum", "want": "wont", "know": "no", "does": "dose", "little": "litle"}  # fmt: skip
_FILLERS = (
    "um",
    "uh",
    "like",
    "you know",
    "so",
    "I mean",
    "er",
    "hmm",
    "okay so",
    "well",
    "uh-huh",
    "let's see",
    "and um",
    "kind of",
    "right",
)
_EMOJI = "😀 😂 😭 😅 🙏 👍 🔥 💀 🥲 😩 🤔 🎉 ❤️ 😊 ✨ 🙈 👋 🙌 😎 🤯 📚 ✏️ 💯 👩‍🏫 🧠 🤓 😴 🥳 👏🏽 🫠 🙃 🍕 ⚽ 🐱".split()
_KEEP_CASE = ("URL", "EMAIL_ADDRESS", "USERNAME")

Change = Callable[[list[Piece], Random], list[Piece]]


@dataclass(frozen=True)
class Voice:
    """A way to write or speak.

    Attributes:
        name: What it is called.
        notation: How maths is written, one of these.
        changes: What is done to a line, in order.
        language: The second language of somebody who switches: lines of that language come too.
        spoken: Whether it is a transcript of speech.
    """

    name: str
    notation: tuple[str, ...]
    changes: tuple[Change, ...] = ()
    language: str = ""
    spoken: bool = False

    def say(self, pieces: list[Piece], rng: Random) -> list[Piece]:
        """The pieces as this voice has them."""
        notation = rng.choice(self.notation)
        pieces = [
            (written(text, notation, rng), label) if label == MATHS else (text, label) for text, label in pieces
        ]
        for change in self.changes:
            pieces = change(pieces, rng)
        return pieces


def _each(change: Callable[[str], str], pieces: list[Piece], labels: tuple[str | None, ...]) -> list[Piece]:
    return [(change(text), label) if label in labels else (text, label) for text, label in pieces]


def lower(pieces: list[Piece], rng: Random) -> list[Piece]:
    """All in lower case, but for what is copied."""
    keep = _KEEP_CASE if rng.random() < 0.5 else ()
    return [(text if label in keep or label == MATHS else text.lower(), label) for text, label in pieces]


def mostly_lower(pieces: list[Piece], rng: Random) -> list[Piece]:
    """In lower case; a name keeps its capital at times."""
    return [
        (text if label == MATHS or (label and rng.random() < 0.45) else text.lower(), label)
        for text, label in pieces
    ]


def capitals(pieces: list[Piece], rng: Random) -> list[Piece]:
    """All in capitals."""
    keep = _KEEP_CASE if rng.random() < 0.6 else ()
    return [(text if label in keep or "\\" in text else text.upper(), label) for text, label in pieces]


def some_capitals(pieces: list[Piece], rng: Random) -> list[Piece]:
    """Some messages in capitals."""
    return capitals(pieces, rng) if rng.random() < 0.25 else pieces


def no_stops(pieces: list[Piece], rng: Random) -> list[Piece]:
    """Without commas, stops and apostrophes."""
    return _each(lambda text: re.sub(r"[,;!?]|\.(?=\s|$)|(?<=\w)['’](?=\w)", "", text), pieces, (None,))


def some_stops(pieces: list[Piece], rng: Random) -> list[Piece]:
    """Without the last stop, and at times without apostrophes."""
    if pieces and pieces[-1][1] is None and rng.random() < 0.7:
        pieces = [*pieces[:-1], (pieces[-1][0].rstrip("."), None)]
    return (
        _each(lambda text: re.sub(r"(?<=\w)['’](?=\w)", "", text), pieces, (None,))
        if rng.random() < 0.4
        else pieces
    )


def _swap(words: dict[str, str], share: float) -> Change:
    pattern = re.compile(rf"(?<![\w'])({'|'.join(map(re.escape, words))})(?![\w'])")

    def change(pieces: list[Piece], rng: Random) -> list[Piece]:
        return _each(
            lambda text: pattern.sub(lambda found: words[found[1]] if rng.random() < share else found[0], text),
            pieces,
            (None,),
        )

    return change


def slips(pieces: list[Piece], rng: Random) -> list[Piece]:
    """With slips of the fingers."""

    def slip(found: re.Match[str]) -> str:
        word = found[0]
        if rng.random() > 0.07:
            return word
        k = rng.randrange(1, len(word) - 1)
        near = rng.choice(_NEAR.get(word[k].lower(), word[k]))
        return rng.choice(
            (
                word[:k] + word[k + 1 :],
                word[:k] + word[k + 1] + word[k] + word[k + 2 :],
                word[:k] + word[k] + word[k:],
                word[:k] + near + word[k + 1 :],
            )
        )

    return _each(lambda text: re.sub(r"[A-Za-z]{4,}", slip, text), pieces, (None,))


def emoji(pieces: list[Piece], rng: Random) -> list[Piece]:
    """With emoji at the end, at the front, or beside a name."""
    if rng.random() > 0.45:
        return pieces
    sign = rng.choice(_EMOJI) * rng.choice((1, 1, 1, 2, 3))
    k = rng.choice((len(pieces), len(pieces), 0, rng.randrange(len(pieces) + 1)))
    return [
        *pieces[:k],
        (sign if k and rng.random() < 0.5 and not pieces[k - 1][0].endswith(" ") else f" {sign} ", None),
        *pieces[k:],
    ]


def stretched(pieces: list[Piece], rng: Random) -> list[Piece]:
    """With drawn-out words and marks."""

    def longer(text: str) -> str:
        text = re.sub(
            r"\b(so|no|hey|yes|please|what|omg|yay|okay|hi)\b",
            lambda found: found[0] + found[0][-1] * rng.randrange(1, 5) if rng.random() < 0.25 else found[0],
            text,
        )
        return re.sub(r"([!?])(?=\s|$)", lambda found: found[0] * rng.choice((1, 1, 2, 3)), text)

    return _each(longer, pieces, (None,))


def fillers(pieces: list[Piece], rng: Random) -> list[Piece]:
    """With the sounds of somebody who thinks aloud."""
    mark = rng.choice((", ", ", ", "... ", " "))

    def fill(text: str) -> str:
        return re.sub(
            r"(?<=[a-z]) (?=[a-z])",
            lambda found: (
                f"{mark.rstrip() if mark != ' ' else ''} {rng.choice(_FILLERS)}{mark}"
                if rng.random() < 0.08
                else " "
            ),
            text,
        )

    pieces = _each(fill, pieces, (None,))
    return [(f"{rng.choice(_FILLERS).capitalize()}{mark}", None), *pieces] if rng.random() < 0.3 else pieces


def marks(pieces: list[Piece], rng: Random) -> list[Piece]:
    """With what a transcriber puts between brackets."""
    mark = rng.choice(
        ("[inaudible]", "[crosstalk]", "(laughs)", "[pause]", "--", "(unclear)", "[00:12:45]", "[typing]")
    )
    return [*pieces, (f" {mark}", None)] if rng.random() < 0.08 else pieces


def cut_off(pieces: list[Piece], rng: Random) -> list[Piece]:
    """With words begun twice."""
    return _each(
        lambda text: re.sub(
            r"\b(I|we|the|it|my|so|what|that)\b(?= )",
            lambda found: (
                f"{found[0]}{rng.choice((', ', '- ', ' '))}{found[0]}" if rng.random() < 0.05 else found[0]
            ),
            text,
        ),
        pieces,
        (None,),
    )


_TYPED = ("plain", "tight", "times")
STUDENTS: tuple[tuple[Voice, float], ...] = (
    (Voice("plain", ("plain", "tight", "signs")), 3),
    (Voice("lower", _TYPED, (lower, some_stops)), 4),
    (Voice("chatty", _TYPED, (_swap(_SHORT, 0.5), mostly_lower, stretched, emoji)), 4),
    (Voice("capitals", ("plain", "tight"), (capitals,)), 2),
    (Voice("some capitals", _TYPED, (some_capitals, stretched, emoji)), 1),
    (Voice("terse", ("tight",), (lower, no_stops)), 2),
    (Voice("typos", _TYPED, (slips, some_stops)), 2),
    (Voice("young", _TYPED, (_swap(_CHILD, 0.5), slips, mostly_lower, no_stops)), 1.5),
    (Voice("formal", ("plain", "signs")), 1.5),
    (Voice("spoken", ("said", "said", "plain"), (fillers, cut_off, marks), spoken=True), 3),
    (Voice("dictated", ("said", "plain"), (lower, no_stops), spoken=True), 2),
    (Voice("latex", ("latex", "latex", "brackets", "dollars")), 1.5),
    *((Voice(f"switching {name}", _TYPED, changes, language=name), weight) for name, weight, changes in (
        ("es", 2.2, (mostly_lower, emoji)), ("es", 1.8, (some_stops,)), ("es", 0.6, (capitals,)), ("fr", 0.4, (some_stops,)), ("pt", 0.4, (mostly_lower,)), ("ht", 0.3, (some_stops,)), ("tl", 0.5, (mostly_lower, emoji)), ("hi", 0.5, (mostly_lower,)),
        ("ar", 0.4, (mostly_lower,)), ("vi", 0.3, (some_stops,)), ("zh", 0.3, (some_stops,)), ("ru", 0.3, (mostly_lower,)), ("de", 0.2, (some_stops,)),
    )),
)  # fmt: skip
TUTORS: tuple[tuple[Voice, float], ...] = (
    (Voice("plain", ("plain", "signs", "times")), 6),
    (Voice("formal", ("plain", "signs")), 2),
    (Voice("friendly", ("plain", "tight"), (emoji, stretched)), 3),
    (Voice("lower", _TYPED, (lower, some_stops)), 2),
    (Voice("typos", _TYPED, (slips,)), 1),
    (Voice("latex", ("latex", "brackets", "latex", "dollars")), 1.5),
)
SPOKEN_TUTOR = Voice("spoken", ("said", "plain"), (fillers, cut_off, marks), spoken=True)
SWITCHING_TUTOR = {
    name: Voice(f"switching {name}", ("plain", "signs"), (some_stops,), language=name)
    for name in ("es", "fr", "pt", "ht", "tl", "hi", "ar", "vi", "zh", "ru", "de")
}
