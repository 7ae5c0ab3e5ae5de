"""Names by where they stand: a reply, a signature, a speaker's label, between commas, or alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from tamis.pii import lexicon
from tamis.pii.detect.naming import Candidate, read_name, together
from tamis.pii.detect.views import NUMBER, View, capital, ends_clause, table, titles, words
from tamis.pii.lexicon import BOTH, EPONYM, FAMILY, GIVEN

_SPEAKER = re.compile(
    r"(?:\A|\n)[ \t]*(?:[\[(]?\d{1,2}:\d{2}(?::\d{2})?[\])]?[ \t]*)?(?=[^\W\d_])([^\n:]{2,40}?)[ \t]*:(?=[ \t]+[^\s\d]|\n|\Z)"
)
_SIGNATURE = re.compile(r"(?:[-–—~][ \t]*|\n[ \t]*)(?=[^\W\d_][^\n]{1,40}\Z)")


@cache
def _ask_name() -> re.Pattern[str]:
    return re.compile("|".join(r"\b" + " ".join(p.split()) + r"\b" for p in table()["ask_name"].split("|")))


def by_place(seen: View, before: Sequence[View]) -> Iterator[Candidate]:
    """Names by where they stand: a reply, a signature, a speaker's label, a message that is nothing but a name."""
    tokens, weights = seen.tokens, table()
    places = {token.start: place for place, token in enumerate(tokens)}
    for match in _SPEAKER.finditer(seen.content):
        place = places.get(match.start(1))
        if place is None:
            continue
        while place < len(tokens) - 1 and tokens[place].norm in titles():
            place += 1
        last = read_name(seen, place, strong=False)
        if last is not None and tokens[last].end == match.end(1):
            yield Candidate(
                seen.place, place, last, "speaker", weights["speaker_weight"], True, "labels who speaks"
            )
    signed = _SIGNATURE.search(seen.content, max(0, len(seen.content) - 60))
    if signed and signed.start() and (place := places.get(signed.end())) is not None:
        last = read_name(seen, place, strong=False)
        if last is not None and last == len(tokens) - 1 and not NUMBER.search(seen.content[tokens[last].end :]):
            yield Candidate(
                seen.place, place, last, "signature", weights["signature_weight"], True, "signs a message"
            )
    yield from _called(seen)
    yield from _replies(seen, before, weights)


def _called(seen: View) -> Iterator[Candidate]:
    """Names that commas set apart, at the end of a sentence or inside one."""
    tokens, content, weights = seen.tokens, seen.content, table()
    for place in seen.heads:
        last = read_name(seen, place, strong=False)
        if (
            last is None
            or last + 1 >= len(tokens)
            or "," not in content[tokens[last].end : tokens[last + 1].start]
        ):
            continue
        direct = lexicon.kind(tokens[place].key) in (GIVEN, FAMILY, BOTH) or tokens[last + 1].norm in words(
            "direct_questions"
        )
        if direct and tokens[last + 1].norm in words("addressing") and lexicon.kind(tokens[place].key) != EPONYM:
            yield Candidate(
                seen.place, place, last, "opening", weights["opening"], False, "called by name before a comma"
            )
    for place in range(1, len(tokens)):
        if (
            tokens[place].norm in words("possessions")
            and tokens[place - 1].stop != tokens[place - 1].end
            and seen.personal
            and not seen.problem[1]
        ):
            if capital(tokens[place - 1]) and read_name(seen, place - 1, strong=False) is not None:
                yield Candidate(
                    seen.place,
                    place - 1,
                    place - 1,
                    "possessed",
                    weights["possessed"],
                    False,
                    "somebody's class, relative or turn",
                )
        if (
            place in seen.heads
            or "," not in content[tokens[place - 1].end : tokens[place].start]
            or not capital(tokens[place])
        ):
            continue
        last = read_name(seen, place, strong=False)
        if last is None or not ends_clause(seen, last):
            continue
        behind = content[tokens[last].end : tokens[last].end + 2].strip()
        at_end = last == len(tokens) - 1 or behind[:1] in tuple(".!?\n")
        if at_end and tokens[place - 1].norm != "and":
            yield Candidate(
                seen.place,
                place,
                last,
                "called",
                weights["called_at_end"],
                False,
                "called by name at the end of a sentence",
            )
        elif behind[:1] == "," and (seen.personal or not seen.numbers):
            yield Candidate(
                seen.place, place, last, "called", weights["enclosed"], False, "called by name between commas"
            )


def _replies(seen: View, before: Sequence[View], weights: dict[str, Any]) -> Iterator[Candidate]:
    tokens = seen.tokens
    head = 0
    while head < len(tokens) - 1 and (tokens[head].norm in words("fillers") or tokens[head].norm in titles()):
        head += 1
    last = read_name(seen, head, strong=False)
    if before and (asked := _asked(seen, before)):
        end = last if last is not None else read_name(seen, head, strong=asked == "name")
        if end is not None and (len(tokens) < 7 or ends_clause(seen, end)):
            reason = (
                "answers a question about a name"
                if asked == "name"
                else "goes on with a name from the message before"
            )
            yield Candidate(seen.place, head, end, "reply", weights["ask_weight"], True, reason)
            yield from together(seen, end, "reply", weights["ask_weight"], True, reason)
    if last == len(tokens) - 1 and len(tokens) < 5 and ends_clause(seen, last):
        yield Candidate(
            seen.place, head, last, "alone", weights["alone_weight"], False, "a message that is a name alone"
        )


def _asked(seen: View, before: Sequence[View]) -> str:
    """Whether the messages before leave a name open: asked for by somebody else, or announced by the same person."""
    for earlier in reversed(before[-3:]):
        words = " ".join(token.norm for token in earlier.tokens[-40:])
        if earlier.role != seen.role and _ask_name().search(words):
            return "name"
        if earlier.role == seen.role:
            ends = [t.norm for t in earlier.tokens[-3:]]
            if ends[-2:] in (["name", "is"], ["me", "llamo"], ["call", "me"], ["nombre", "es"]):
                return "name"
            return ""
    return ""
