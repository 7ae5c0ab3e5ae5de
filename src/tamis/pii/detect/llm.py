"""Personal data by a chat model: it names pieces, and they are looked for in the text that it was shown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tamis.errors import UsageError, WorkError, missing_extra
from tamis.pii.detect.chat_models import Chat, Turn
from tamis.pii.detect.llm_answers import SCHEMA, Piece, UnreadableError, locate, read
from tamis.pii.detect.llm_cache import AnswerCache, key
from tamis.pii.segments import Segmented, segment, sentence_embedder
from tamis.pii.sessions import Session
from tamis.pii.spans import Span

PROMPTS = ("basic", "maths-aware", "segment-aware")

_WINDOW = 3000  # characters of text in one prompt: about a thousand tokens, which small models still attend to
_OVERLAP = 200  # characters that two parts of a long message share: more than any name or address has
_CONTEXT = 2  # messages of a window that the next one shows again
_SCORE = 0.9  # models give no probability; all that they name counts alike
_AGAIN = "That is not the JSON object that was asked for. Answer with it and nothing else."


@dataclass(frozen=True)
class Part:
    """A message, or a part of a long one.

    Attributes:
        message: The message's index in the session.
        start: Where the part begins in the message.
        text: Its text, with every lone surrogate as `?`; as long as it was.
    """

    message: int
    start: int
    text: str


@dataclass
class Counts:
    """What happened to the answers.

    Attributes:
        answers: Prompts that were answered, from the cache or by the model.
        from_cache: Those that the cache held.
        unreadable: Answers that could not be read, the first of two for the same prompt included.
        pieces: Pieces that the models named.
        hallucinated: Those that do not stand in their message, and were dropped.
        unknown_labels: Those whose label is not known, and were dropped.
        unscored: Messages without a readable answer.
    """

    answers: int = 0
    from_cache: int = 0
    unreadable: int = 0
    pieces: int = 0
    hallucinated: int = 0
    unknown_labels: int = 0
    unscored: int = 0


@dataclass(frozen=True)
class Answered:
    """What a model said of a session.

    Attributes:
        spans: The spans of each message.
        unscored: The indices of the messages of which nothing is known, since no answer could be read.
    """

    spans: list[list[Span]]
    unscored: list[int]


@dataclass
class LLMDetector:
    """Finds personal data by asking a chat model.

    Attributes:
        chat: The model.
        prompt: `basic`, `maths-aware` (says what maths looks like), or `segment-aware` (also says of each message
            whether it is in a segment of maths).
        kept: Where answers are kept, if anywhere.
        window: Characters of text in one prompt.
        segments: Gives the segments for the last of the prompts; by default with the packaged encoder.
        threshold: Every span that is found counts.
        counts: What happened so far.

    Raises:
        UsageError: There is no such prompt.
    """

    chat: Chat
    prompt: str = "segment-aware"
    kept: AnswerCache | None = None
    window: int = _WINDOW
    segments: Callable[[Session], Sequence[Segmented]] | None = None
    threshold: float = 0.5
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        if self.prompt not in PROMPTS:
            raise UsageError(f"--llm_prompt {self.prompt}: not one of {', '.join(PROMPTS)}")
        if self.window < 2 * _OVERLAP:
            raise UsageError(f"--llm_window {self.window}: has to be at least {2 * _OVERLAP}")
        if self.prompt == "segment-aware" and self.segments is None:
            embed = sentence_embedder()
            self.segments = lambda session: segment(session, embed)

    @property
    def name(self) -> str:
        """See `detector.Detector`."""
        return f"llm {self.prompt}"

    def detect(self, session: Session) -> list[list[Span]]:
        """The spans of each message; see `detector.Detector`.

        Raises:
            WorkError: An answer could not be read, twice: nothing is known of its messages.
        """
        answered = self.ask(session)
        if answered.unscored:
            raise WorkError(
                f"{self.chat.name}: no readable answer for {len(answered.unscored)} of {len(session)} messages "
                f"of session {session.session_id}; another model or a smaller window may give one"
            )
        return answered.spans

    def ask(self, session: Session) -> Answered:
        """The spans of each message, and the messages of which nothing is known.

        Raises:
            WorkError: The model cannot be reached, or the budget is spent.
        """
        kinds = self.segments(session) if self.prompt == "segment-aware" and self.segments else None
        found: list[set[Span]] = [set() for _ in session]
        parts: set[Part] = set()
        known: set[Part] = set()
        for window in windows(session, self.window):
            parts |= {*window}
            spans = self._window(session, window, kinds)
            if spans is None:
                continue
            known |= {*window}
            for part, of_part in zip(window, spans, strict=True):
                found[part.message] |= {*of_part}
        unscored = sorted({part.message for part in parts - known})
        self.counts.unscored += len(unscored)
        return Answered([sorted(spans) for spans in found], unscored)

    def _window(
        self, session: Session, window: Sequence[Part], kinds: Sequence[Segmented] | None
    ) -> list[list[Span]] | None:
        """The spans of each part; None where no answer can be read."""
        lines = []
        for number, part in enumerate(window, 1):
            line: dict[str, Any] = {"message": number, "role": session.messages[part.message].role}
            if kinds is not None:
                line["segment"] = kinds[part.message].label
            lines.append(json.dumps({**line, "text": part.text}, ensure_ascii=False))
        prompt = template(self.prompt).render(lines="\n".join(lines))
        turns: list[Turn] = [{"role": "user", "content": prompt}]
        for _ in range(2):
            digest = key(self.chat.identity, [json.dumps(SCHEMA), *(turn["content"] for turn in turns)])
            kept = self.kept.get(digest) if self.kept else None
            answer = self.chat.ask(turns, SCHEMA) if kept is None else kept
            self.counts.answers += 1
            self.counts.from_cache += kept is not None
            try:
                pieces = read(answer)
            except UnreadableError:
                self.counts.unreadable += 1
                turns = [
                    turns[0],
                    {"role": "assistant", "content": answer or "-"},
                    {"role": "user", "content": _AGAIN},
                ]
                continue
            if self.kept and kept is None:
                self.kept.put(digest, answer)
            return self._located(pieces, window)
        return None

    def _located(self, pieces: Sequence[Piece], window: Sequence[Part]) -> list[list[Span]]:
        spans: list[list[Span]] = [[] for _ in window]
        for piece in pieces:
            self.counts.pieces += 1
            part = window[piece.message - 1] if 1 <= piece.message <= len(window) else None
            places = locate(piece.text, part.text) if part else []
            if part is None or not places:
                self.counts.hallucinated += 1
            elif piece.label is None:
                self.counts.unknown_labels += 1
            else:
                reason = f"a chat model named it ({self.prompt})"
                spans[piece.message - 1] += [
                    Span(part.start + a, part.start + b, piece.label, _SCORE, reason) for a, b in places
                ]
        return spans


def windows(session: Session, size: int) -> Iterator[list[Part]]:
    """The messages of a session in groups of at most `size` characters, each beginning as the last one ended.

    A message longer than that is cut into parts that overlap.
    """
    parts = [part for i in range(len(session)) for part in _parts(i, session.messages[i].content, size)]
    start = 0
    while start < len(parts):
        begin, end, length = start, start, 0
        while end < len(parts) and (end == start or length + len(parts[end].text) <= size):
            length += len(parts[end].text)
            end += 1
        yield parts[begin:end]
        if end == len(parts):
            return
        start, room = end, size - len(parts[end].text)
        # What is long is not shown again, nor what leaves no room for the next part.
        while start > max(begin + 1, end - _CONTEXT) and len(parts[start - 1].text) <= min(size // 4, room):
            start -= 1
            room -= len(parts[start].text)


def _parts(message: int, content: str, size: int) -> Iterator[Part]:
    text = plain(content)
    if not text.strip():
        return
    start = 0
    while True:
        yield Part(message, start, text[start : start + size])
        if start + size >= len(text):
            return
        start += size - _OVERLAP


def plain(text: str) -> str:
    """The text with every lone surrogate as `?`; as long as it was."""
    return re.sub("[\ud800-\udfff]", "?", text)


@cache
def template(name: str) -> Any:
    """A prompt of `prompts`, to be rendered.

    Raises:
        UsageError: An extra is missing.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise missing_extra("pii", error) from error
    # The prompts are plain text, so nothing in them is escaped.
    environment = Environment(
        loader=PackageLoader("tamis.pii.detect", "prompts"),
        undefined=StrictUndefined,
        trim_blocks=True,
        autoescape=False,
    )
    return environment.get_template(f"{name}.jinja")
