"""A session as a token model reads it: one stream of tokens, cut into windows, and back from tags to spans.

All messages of a session follow one another, each behind a marker of its speaker's role and segment, so that the
messages before and after a message are its context and no token is encoded for another's sake. Windows overlap: a
token's tag comes from the window in which it has most context. Training cuts windows as detection does.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.pii.labels import LABELS
from tamis.pii.segments import MATHS, NON_MATHS, segment
from tamis.pii.sessions import STUDENT, TUTOR, Session
from tamis.pii.spans import Span

TAGS = ("O", *(f"{part}-{label}" for label in LABELS for part in "BI"))
ROLES = (STUDENT, TUTOR, "other")
SEGMENTS = (NON_MATHS, MATHS)
MARKERS = tuple(f"<{role}|{segment}>" for role in ROLES for segment in SEGMENTS)
"""The tokens that stand before messages; added to the tokenizer when a model is trained."""

IGNORED = -100
"""The tag of a token that no loss is taken of; torch's own."""

_PICTURES = ("So", "Sk", "Cs", "Co", "Cf")
# Scripts without spaces between words: a character is a word there.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+|[^\w\s]"
)


@dataclass(frozen=True)
class Stream:
    """A session's tokens.

    Attributes:
        ids: int64 `[tokens]`.
        message: int64 `[tokens]`; the index of the message that a token is of.
        start: int64 `[tokens]`; the code point at which it begins in its message; -1 of a marker.
        end: int64 `[tokens]`; the code point behind it.
    """

    ids: NDArray[np.int64]
    message: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]


@dataclass(frozen=True)
class Window:
    """A piece of a stream, and the part of it whose tags are taken from it: `owned_from` to `owned_to`."""

    begin: int
    end: int
    owned_from: int
    owned_to: int


def segments(session: Session) -> list[str]:
    """Each message's segment by its own maths density alone, which needs no encoder."""
    return [one.label for one in segment(session)]


def readable(text: str) -> str:
    """The text for a tokenizer, of the same length: fancy letters are plain, pictures and half pairs are blank.

    A word piece tokenizer makes one unknown token of a name with a picture beside it, and some refuse half a
    surrogate pair.
    """
    return text if text.isascii() else "".join(map(_plain, text))


def _plain(character: str) -> str:
    category = unicodedata.category(character)
    if category in _PICTURES:
        return " "
    normal = unicodedata.normalize("NFKC", character) if category[0] in "LN" else character
    return (
        normal if len(normal) == 1 and not unicodedata.decomposition(character).startswith("<super") else character
    )


def stream(session: Session, segments: Sequence[str] | None, tokenizer: Any) -> Stream:
    """The tokens of a session's messages in order.

    Args:
        session: The session.
        segments: Each message's segment, one of `SEGMENTS`; None leaves the markers out.
        tokenizer: A fast tokenizer; where it is given segments, one that holds `MARKERS`.
    """
    texts = [readable(message.content) for message in session]
    empty: dict[str, list[Any]] = {"input_ids": [], "offset_mapping": []}
    # A message that holds a marker's text, or [SEP], holds only text.
    options = {"add_special_tokens": False, "split_special_tokens": True, "verbose": False}
    found = tokenizer(texts, return_offsets_mapping=True, **options) if texts else empty
    columns: list[NDArray[np.int64]] = []
    for i, (message, ids, offsets) in enumerate(
        zip(session, found["input_ids"], found["offset_mapping"], strict=True)
    ):
        spots = np.array(offsets, np.int64).reshape(-1, 2)
        part = np.column_stack((np.array(ids, np.int64), np.full(len(ids), i), spots))
        if segments is not None:
            role = message.role if message.role in ROLES else ROLES[-1]
            marker = tokenizer.convert_tokens_to_ids(f"<{role}|{segments[i]}>")
            part = np.vstack((np.array([[marker, i, -1, -1]]), part))
        columns.append(part)
    whole = np.concatenate(columns) if columns else np.zeros((0, 4), np.int64)
    return Stream(*np.ascontiguousarray(whole.T))


def windows(length: int, size: int, overlap: int) -> list[Window]:
    """The windows over so many tokens; every token is owned by one of them.

    Args:
        length: Tokens of the stream.
        size: Most tokens of a window, without the model's own first and last.
        overlap: Tokens that a window shares with the next; half of them are owned by each.
    """
    cuts = [*range(0, max(length - overlap, 1), size - overlap)] if length else []
    made = []
    for begin in cuts:
        end = min(begin + size, length)
        first = begin if begin == 0 else begin + overlap // 2
        last = end if end == length else end - overlap + overlap // 2
        made.append(Window(begin, end, first, last))
    return made


def padded(pieces: Sequence[NDArray[np.int64]], tokenizer: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pieces between the model's own first and last token, as one batch, and its attention mask."""
    size = max(map(len, pieces)) + 2
    ids = np.full((len(pieces), size), tokenizer.pad_token_id)
    mask = np.zeros((len(pieces), size), np.int64)
    for i, piece in enumerate(pieces):
        ids[i, : len(piece) + 2] = [tokenizer.cls_token_id, *piece, tokenizer.sep_token_id]
        mask[i, : len(piece) + 2] = 1
    return ids, mask


def tags(tokens: Stream, spans: Sequence[Iterable[Span]]) -> NDArray[np.int64]:
    """The index in `TAGS` of each token's tag, by gold spans; `IGNORED` of markers.

    A token that a span touches is in it, so that what is tagged covers the span.
    """
    made = np.where(tokens.start < 0, IGNORED, 0)
    first = np.searchsorted(tokens.message, np.arange(len(spans) + 1))
    for i, of_message in enumerate(spans):
        own = slice(first[i], first[i + 1])
        for span in of_message:
            touched = np.flatnonzero((tokens.start[own] < span.end) & (tokens.end[own] > span.start)) + first[i]
            inside = TAGS.index(f"I-{span.label}")
            made[touched] = inside
            made[touched[:1]] = inside - 1
    return made


def spans(content: str, start: NDArray[np.int64], probabilities: NDArray[np.float32], floor: float) -> list[Span]:
    """The spans of a message, by the probabilities of its tokens' tags; none ends inside a word.

    A word's probability is the mean of its tokens'. Words of one label that follow one another are one span,
    unless the later begins a span of its own, or only one of the two is more likely than not: a doubtful word
    beside a sure one is a span for itself, that a threshold can drop.

    Args:
        content: The message.
        start: `[tokens]`; where each token begins.
        probabilities: `[tokens, TAGS]`.
        floor: The least probability of being in any span.

    Returns:
        The spans in order; a score is the mean over its words of the probability of being in any span.
    """
    if not len(start) or (1 - probabilities[:, 0]).max() < floor:
        return []
    bounds = [found.span() for found in _WORD.finditer(content)]
    if not bounds:
        return []
    word_of = np.searchsorted([begin for begin, _ in bounds], start, side="right").clip(1) - 1
    known, first, count = np.unique(word_of, return_index=True, return_counts=True)
    means = np.add.reduceat(probabilities, first) / count[:, None]
    inside = means[:, 1:].reshape(len(known), len(LABELS), 2)
    label = inside.sum(2).argmax(1)
    begins = probabilities[first, 1 + 2 * label] > probabilities[first, 2 + 2 * label]
    score = 1 - means[:, 0]
    runs: list[list[int]] = []
    for i in np.flatnonzero(score >= floor):
        last = runs[-1][-1] if runs else -2
        joined = last == i - 1 and label[last] == label[i] and not begins[i]
        if joined and (score[last] < 0.5) == (score[i] < 0.5):
            runs[-1].append(int(i))
        else:
            runs.append([int(i)])
    made = []
    for run in runs:
        name = LABELS[label[run[0]]]
        begin, end = trimmed(content, bounds[known[run[0]]][0], bounds[known[run[-1]]][1])
        if begin < end:
            made.append(Span(begin, end, name, float(score[run].mean()), "token model"))
    return list(_whole_addresses(content, made))


_LEADING, _TRAILING = " \t\r\n.,;:!?'\"‘“…&*~/<>=|-", " \t\r\n.,;:!?'\"’”…&*_~/<>=|-"


def trimmed(content: str, begin: int, end: int) -> tuple[int, int]:
    """A piece of text without the space and punctuation around it, and without a possessive 's."""
    piece = content[begin:end].rstrip(_TRAILING)
    if piece.endswith(("'s", "’s")):
        piece = piece[:-2].rstrip(_TRAILING)
    if piece.endswith(")") and (piece.count("(") < piece.count(")") or piece.lstrip(_LEADING).rfind("(") == 0):
        piece = piece[:-1]
    end = begin + len(piece)
    piece = piece.lstrip(_LEADING)
    if piece.startswith("(") and ")" not in piece:
        piece = piece[1:]
    return end - len(piece), end


_IN_ONE_PIECE = ("EMAIL_ADDRESS", "URL", "USERNAME", "IP_ADDRESS")


def _whole_addresses(content: str, found: Sequence[Span]) -> Iterator[Span]:
    """The spans, those of an address grown over all that is written in one piece with it, and joined there."""
    waiting: Span | None = None
    for span in found:
        if span.label in _IN_ONE_PIECE:
            begin, end = span.start, span.end
            while begin and re.match(r"[\w@.%+/:-]", content[begin - 1]):
                begin -= 1
            while end < len(content) and re.match(r"[\w@.%+/:?=&#-]", content[end]):
                end += 1
            begin, end = trimmed(content, begin, end)
            span = Span(min(begin, span.start), max(end, span.end), span.label, span.score, span.reason)
        if waiting and span.start < waiting.end:
            best = max(waiting, span, key=lambda one: one.score)
            span = Span(waiting.start, max(waiting.end, span.end), best.label, best.score, best.reason)
        elif waiting:
            yield waiting
        waiting = span
    if waiting:
        yield waiting
