"""The first stage of an audit: what each thing that a provider redacted, or missed, was, and why we think so."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from tamis.pii.labels import FROM_PRESIDIO, LABELS
from tamis.pii.maths import patterns
from tamis.pii.provider_tags import MASK, NONE, Tag, find_tags, forms, masked, replaced
from tamis.pii.segments import Embed, segment
from tamis.pii.sessions import Annotated, Message, Session
from tamis.pii.spans import Span, settled

TRUE, FALSE, MISSED = "true", "false", "missed"
NUMBER, TERM, FICTIONAL = "number", "term", "fictional_name"
TAG, SPAN, DETECTOR = "tag", "span", "detector"
_NUMBER, _LETTER = "7", "f"
_SEEN = 160  # characters on both sides that decide, and that a reviewer sees
_STRONG = re.compile(r"[=+*^<>×÷·√²³%°$€£π≤≥≠\\_|]")
_ALONE = ("bare", "decimal")  # patterns that speak of the number itself, which is only ours
_OF_DIGITS = ("measure", "named_operation", "function", "latex")


@dataclass(frozen=True)
class Item:
    """One thing to review.

    Attributes:
        item: Its id, the same in every run over the same corpus.
        session_id: Its session.
        sequence_id: Its message.
        start: The offset of its first code point in the message.
        end: The offset behind its last code point.
        origin: `tag` or `span` of the provider, or found by the `detector`.
        label: Our label; `none` where the provider's name tells nothing.
        segment: `maths` or `non_maths`.
        proposed: `true` (rightly redacted), `false` (wrongly), or `missed`.
        inferred: What the original was: a label, `number`, `term` or `fictional_name`.
        whose: Which value of its session it may be: equal ones get one surrogate.
        reason: Why, without any text of the message.
        context: The message round it, the item in double brackets.
    """

    item: str
    session_id: str
    sequence_id: int
    start: int
    end: int
    origin: str
    label: str
    segment: str
    proposed: str
    inferred: str
    whose: str
    reason: str
    context: str


class Proposal(NamedTuple):
    """What is proposed of an item: `proposed`, `inferred`, `whose` and `reason` there."""

    verdict: str
    inferred: str
    whose: str
    reason: str


@dataclass(frozen=True)
class Provided:
    """What a provider redacted, or a detector found.

    Attributes:
        origin: `tag`, `span` or `detector`.
        at: Where it stands, with its label.
    """

    origin: str
    at: Tag


def assess(
    annotated: Annotated,
    found: Sequence[Sequence[Span]],
    embed: Embed | None = None,
) -> tuple[list[Item], list[str]]:
    """The items of a session, in order: every tag and span of the provider, and what a detector found beside them.

    Beside them, the segment label of every message.

    Args:
        annotated: The session; its spans are the provider's.
        found: The detector's spans of each message, as `without_tags` shows it: only those that count.
        embed: As `segments.segment`.
    """
    session = annotated.session
    given = [provided(message, annotated.spans[i] if annotated.spans else ()) for i, message in enumerate(session)]
    maths = [
        [_maths(message.content, one.at, ones) for one in ones]
        for message, ones in zip(session, given, strict=True)
    ]
    items: list[Item] = []
    segments = segment(_read(session, given, maths), embed)
    for i, (message, one) in enumerate(zip(session, segments, strict=True)):
        for provider, kind in zip(given[i], maths[i], strict=True):
            proposal = _proposal(session, message, provider.at, one.label, kind)
            items.append(_item(session, message, provider, one.label, proposal))
        for span in found[i]:
            if all(span.end <= other.at.start or other.at.end <= span.start for other in given[i]):
                missed = Provided(DETECTOR, Tag(span.start, span.end, span.label, span.label))
                proposal = Proposal(MISSED, span.label, "", f"found: {span.reason or 'no reason given'}")
                items.append(_item(session, message, missed, one.label, proposal))
    return items, [one.label for one in segments]


def without_tags(annotated: Annotated) -> Session:
    """The session as a detector may see it: no tag is text, all offsets as they were."""
    messages = []
    for message in annotated.session:
        tags = [(tag.start, tag.end) for tag in find_tags(message.content)]
        messages.append(Message(message.sequence_id, message.role, masked(message.content, tags)))
    return Session(annotated.session.session_id, tuple(messages))


def provided(message: Message, spans: Sequence[Span]) -> list[Provided]:
    """The provider's tags and spans of a message, in order; a span over a tag is that tag, with its label."""
    tags = find_tags(message.content)
    found = [Provided(TAG, tag) for tag in tags]
    for span in settled(spans, 0.0):
        if all(span.end <= tag.start or tag.end <= span.start for tag in tags):
            label = span.label if span.label in LABELS else FROM_PRESIDIO.get(span.label.upper(), NONE)
            found.append(Provided(SPAN, Tag(span.start, span.end, label, span.label)))
    return sorted(found, key=lambda one: one.at)


def _read(session: Session, given: Sequence[Sequence[Provided]], maths: Sequence[Sequence[str | None]]) -> Session:
    """The session as its density is measured: a tag in an expression is a number there, any other no word."""
    messages = []
    for message, ones, kinds in zip(session, given, maths, strict=True):
        stands = [
            (one.at.start, one.at.end, MASK if kind is None else _NUMBER)
            for one, kind in zip(ones, kinds, strict=True)
            if one.origin == TAG
        ]
        messages.append(replace(message, content=replaced(message.content, stands)))
    return Session(session.session_id, tuple(messages))


def _proposal(session: Session, message: Message, tag: Tag, segment_label: str, maths: str | None) -> Proposal:
    """What is proposed about a tag, by the first cue that fits."""
    before = message.content[max(0, tag.start - _SEEN) : tag.start]
    after = message.content[tag.end : tag.end + _SEEN]
    for name, cue in forms()["cues"].items():
        if tag.label not in cue.get("labels", (tag.label,)) or cue.get("segment", segment_label) != segment_label:
            continue
        if cue.get("maths") and maths is None:
            continue
        if all(pattern.search(text) for pattern, text in zip(_cue(name), (before, after), strict=True)):
            said = cue["says"]
            kind = maths if cue.get("maths") else tag.label if said["original"] == "label" else said["original"]
            whose = _whose(session, message, tag, said.get("whose"))
            return Proposal(str(said["verdict"]), str(kind), whose, str(cue["reason"]))
    raise AssertionError("the last cue fits everything")


def _whose(session: Session, message: Message, tag: Tag, said: str | None) -> str:
    """The provider's own name of a value where it has a number; the role that it belongs to; or nobody's else."""
    if tag.name[-1].isdigit():
        return re.sub(r"[_\s-]", "", tag.name).upper()
    others = {other.role for other in session} - {message.role}
    if said == "speaker" and message.role:
        return message.role
    if said == "listener" and len(others) == 1 and all(others):
        return others.pop()
    return f"unknown {message.sequence_id} {tag.start}"


@cache
def _cue(name: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    cue: Mapping[str, Any] = forms()["cues"][name]
    return (
        re.compile(rf"(?:{cue.get('before', '')})\Z", re.IGNORECASE),
        re.compile(rf"\A(?:{cue.get('after', '')})", re.IGNORECASE),
    )


def _maths(content: str, tag: Tag, given: Sequence[Provided]) -> str | None:
    """`number` where the tag, read as one, is a part of an expression; `term` where it is one as a letter."""
    low, high = max(0, tag.start - _SEEN), tag.end + _SEEN
    near = [one.at for one in given if low <= one.at.start and one.at.end <= high]
    shifted = [(at.start - low, at.end - low) for at in near]
    for kind, stand in ((NUMBER, _NUMBER), (TERM, _LETTER)):
        places: list[int] = []
        gone = 0
        for start, end in shifted:
            places.append(start - gone)
            gone += end - start - 1
        text = replaced(
            content[low:high],
            ((*place, stand if at == tag else _NUMBER) for at, place in zip(near, shifted, strict=True)),
        )
        if _is_inside(text, places[near.index(tag)], places, tag.label in (*forms()["name_labels"], NONE)):
            return kind
    return None


def _is_inside(text: str, at: int, stands: Sequence[int], is_name: bool) -> bool:
    """Whether the stand-in at a place is a part of a maths expression, and not alone in it."""
    for name, pattern in patterns().items():
        if name in _ALONE or (name == "list" and is_name):
            continue
        for found in pattern.finditer(text):
            if not found.start() <= at < found.end():
                continue
            rest = "".join(c for i, c in enumerate(found[0], found.start()) if i not in stands)
            if (name in _OF_DIGITS and rest.strip()) or _STRONG.search(rest):
                return True
            # "NAME - 5 is right" speaks to somebody; "x - NAME" does not.
            if any(c.isalnum() for c in rest) and (not is_name or found.start() < at):
                return True
    return False


def _item(session: Session, message: Message, one: Provided, segment_label: str, proposal: Proposal) -> Item:
    at = one.at
    where = (session.session_id, message.sequence_id, at.start, at.end)
    before, after = message.content[: at.start][-_SEEN:], message.content[at.end :][:_SEEN]
    context = f"{before}⟦{message.content[at.start : at.end]}⟧{after}"
    return Item(item_id(*where), *where, one.origin, at.label, segment_label, *proposal, context)


def item_id(session_id: str, sequence_id: int, start: int, end: int) -> str:
    """The id of what stands at a place, the same in every run."""
    text = f"{session_id}\0{sequence_id}\0{start}\0{end}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
