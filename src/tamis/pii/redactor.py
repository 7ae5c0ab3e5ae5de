"""A session without what is personal in it: found, looked at by the maths guard, replaced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from tamis.errors import UsageError, WorkError
from tamis.pii.detect.detector import Detector
from tamis.pii.guard import guarded
from tamis.pii.operators import Offset, Operator, applied, inverse, moved, outside_tags
from tamis.pii.sessions import Session
from tamis.pii.spans import Span, check, settled


@dataclass(frozen=True)
class Redacted:
    """A session after redaction.

    Attributes:
        spans: What was taken out of each message, in its own offsets, in order.
        maths: What the maths guard kept in each message.
        texts: The new text of each message.
        offsets: Where the replaced pieces of each message stand.
    """

    spans: list[list[Span]]
    maths: list[list[Span]]
    texts: list[str]
    offsets: list[list[Offset]]


@dataclass(frozen=True)
class Redactor:
    """Takes personal data out of sessions.

    Attributes:
        detector: Finds it.
        operator: Says what stands in its place.
        threshold: The least score; the detector's own, if None.
        thresholds: The least score of single labels.
        has_guard: Whether the maths guard has the last word.
    """

    detector: Detector
    operator: Operator
    threshold: float | None = None
    thresholds: dict[str, float] = field(default_factory=dict)
    has_guard: bool = True

    def __call__(self, session: Session) -> Redacted:
        """The session redacted.

        With the tag operator, what was tagged is read again until nothing more is found in it: a second run then
        changes nothing, and what a detector sees only once the rest is gone is gone too.

        Raises:
            WorkError: The detector failed; nothing of what it said is repeated, since it may hold text.
        """
        spans, maths = self.found(session)
        made = self._replaced(session, spans, maths)
        while self.operator.name == "tag" and any(made.spans):
            tagged = _with_texts(session, made.texts)
            more, _ = self.found(tagged)
            if not any(more):
                break
            for i, found in enumerate(more):
                back = partial(moved, inverse(made.offsets[i]))
                for span in found:
                    start, end = back(span.start, span.end)
                    reason = f"{span.reason}, once the rest was tagged".lstrip(", ")
                    spans[i].append(replace(span, start=start, end=end, reason=reason))
                spans[i].sort()
            made = self._replaced(session, spans, maths)
        return made

    def found(self, session: Session) -> tuple[list[list[Span]], list[list[Span]]]:
        """The spans of each message that count, and those that the maths guard kept."""
        # A detector may not know half a surrogate pair; in its place stands one character, so that offsets hold.
        readable = _with_texts(session, [_readable(message.content) for message in session])
        least = self.detector.threshold if self.threshold is None else self.threshold
        try:
            found = self.detector.detect(readable)
        except (UsageError, WorkError):
            raise
        except Exception as error:  # noqa: BLE001  # whatever it says may hold text, so nothing of it goes on
            raise WorkError(f"the detector {self.detector.name} failed: {type(error).__name__}") from None
        sure: list[list[Span]] = []
        for message, spans in zip(session, found, strict=True):
            try:
                check(f"the detector {self.detector.name}", message.content, spans)
            except UsageError as error:
                raise WorkError(str(error)) from error
            outside = outside_tags(message.content, spans)
            sure.append([s for s in outside if s.score >= self.thresholds.get(s.label, least)])
        kept, dropped = guarded(readable, sure) if self.has_guard else (sure, [[] for _ in sure])
        maths = [[replace(span, reason=reason) for span, reason in of_message] for of_message in dropped]
        return [settled(spans, least, self.thresholds) for spans in kept], maths

    def _replaced(self, session: Session, spans: list[list[Span]], maths: list[list[Span]]) -> Redacted:
        texts: list[str] = []
        offsets: list[list[Offset]] = []
        new = self.operator.replacements(session, spans)
        for message, found, stand_ins in zip(session, spans, new, strict=True):
            text, changes = applied(message.content, found, stand_ins)
            texts.append(text)
            offsets.append(changes)
        return Redacted(spans, maths, texts, offsets)


def _with_texts(session: Session, texts: Iterable[str]) -> Session:
    messages = [replace(message, content=text) for message, text in zip(session, texts, strict=True)]
    return replace(session, messages=tuple(messages))


def _readable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\N{REPLACEMENT CHARACTER}" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text
