"""Names by where they stand: a reply, a signature, a speaker's label, between commas, or alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from tamis.pii import lexicon
from tamis.pii.detect.naming import Candidate, read_name, together
from tamis.pii.detect.views import NUMBER, View, capital, ends_clause, table, titles, words
from tamis.pii.lexicon import BOTH, EPONYM, FAMILY, GIVEN, UNKNOWN

_SPEAKER = re.compile(
    r"(?:\A|\n|[.!?][ \t])[ \t]*(?:[\[(]?\d{1,2}:\d{2}(?::\d{2})?[\])]?[ \t]*)?(?=[^\W\d_])([^\n:]{2,40}?)[ \t]*:"
    r"(?=[ \t]+[^\W\d]|\n|\Z)"
)
_RELAYED = re.compile(r"\s*from ([^\n:]{2,40}) to (?:everyone|me|you|all|host|hosts)\b", re.IGNORECASE)
_FIELD = re.compile(r"\s*(?:[,;|–—-]\s*)?")
_SET_APART = re.compile(r"[,?]\s|[?!.]\Z")
_APART = re.compile(r"\s?(?:[,!?:…]|\.\.|- |– |— )")
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
            sure = 1.0 if lexicon.kind(tokens[place].key) not in (UNKNOWN, EPONYM) or last > place else 0.6
            weight = weights["speaker_weight"] * sure
            yield Candidate(seen.place, place, last, "speaker", weight, True, "labels who speaks")
    signed = _SIGNATURE.search(seen.content, max(0, len(seen.content) - 60))
    if signed and signed.start() and (place := places.get(signed.end())) is not None:
        last = read_name(seen, place, strong=False)
        if last is not None and last == len(tokens) - 1 and not NUMBER.search(seen.content[tokens[last].end :]):
            yield Candidate(
                seen.place, place, last, "signature", weights["signature_weight"], True, "signs a message"
            )
    listed = _RELAYED.match(seen.content)
    if listed and (place := places.get(listed.start(1))) is not None:
        last = read_name(seen, place, strong=False, strange=True)
        if last is not None and tokens[last].end == listed.end(1):
            yield Candidate(
                seen.place, place, last, "speaker", weights["speaker_weight"], True, "labels who speaks"
            )
    yield from _called(seen)
    yield from _replies(seen, before, weights)


def _called(seen: View) -> Iterator[Candidate]:
    """Names that are called out: before a comma, between commas, at the end; and whose a class or a turn is."""
    yield from _opened(seen)
    tokens, content = seen.tokens, seen.content
    for place in range(1, len(tokens)):
        if not capital(tokens[place]) and not _owns(seen, place):
            if place == len(tokens) - 1 and _called_late(seen, place):
                comma = "," in content[tokens[place - 1].end : tokens[place].start]
                cue = "called_at_end" if comma else "called_late"
                yield _at(seen, place, place, cue, "called by name at the end of a sentence")
            continue
        if _owns(seen, place) and read_name(seen, place - 1, strong=False) is not None:
            yield _at(seen, place - 1, place - 1, "possessed", "somebody's class, relative or turn")
        town = (
            capital(tokens[place - 1]) and (place - 1) not in seen.heads and content[tokens[place - 1].end] == ","
        )
        if town and seen.numbers and not seen.personal:
            continue
        if place in seen.heads or "," not in content[tokens[place - 1].end : tokens[place].start]:
            continue
        last = read_name(seen, place, strong=False)
        if last is None or not ends_clause(seen, last):
            continue
        behind = content[tokens[last].end : tokens[last].end + 2].strip()[:1]
        if (last == len(tokens) - 1 or behind in tuple(".!?")) and tokens[place - 1].norm != "and":
            yield _at(seen, place, last, "called_at_end", "called by name at the end of a sentence")
        elif behind == "," and (seen.personal or not seen.numbers):
            yield _at(seen, place, last, "enclosed", "called by name between commas")


def _called_late(seen: View, place: int) -> bool:
    """Whether a listed name in lower case ends what is said to somebody in plain chat."""
    tokens = seen.tokens
    if lexicon.kind(tokens[place].key) != GIVEN or seen.numbers or not seen.personal or len(tokens[place].key) < 3:
        return False
    gap = seen.content[tokens[place - 1].end : tokens[place].start]
    return place not in seen.heads and (
        "," in gap or (gap == " " and tokens[place - 1].norm in words("before_calls"))
    )


def _at(seen: View, first: int, last: int, cue: str, reason: str) -> Candidate:
    """What a position speaks for; its weight has the cue's name."""
    return Candidate(seen.place, first, last, cue, float(table()[cue]), not seen.numbers, reason)


def _owns(seen: View, place: int) -> bool:
    """Whether a token is something that the person named before it has, in plain chat."""
    before = seen.tokens[place - 1]
    if seen.tokens[place].norm not in words("possessions") or before.stop == before.end:
        return False
    return seen.personal and not seen.problem[1] and capital(before)


def _opened(seen: View) -> Iterator[Candidate]:
    """Names at the head of a sentence, before what one says to somebody or the fields of a record."""
    tokens = seen.tokens
    for place in sorted(seen.heads):
        last = read_name(seen, place, strong=False)
        if last is None:
            yield from _summoned(seen, place)
            continue
        if last + 1 >= len(tokens):
            continue
        then, kind = tokens[last + 1].norm, lexicon.kind(tokens[place].key)
        gap = seen.content[tokens[last].end : tokens[last + 1].start]
        if kind == EPONYM or tokens[last].stop != tokens[last].end:
            continue
        if last > place and then in words("fields") and _FIELD.fullmatch(gap):
            yield _at(seen, place, last, "header", "a whole name before the fields of a record")
        elif "," in gap and then in words("addressing"):
            if kind in (GIVEN, FAMILY, BOTH) or then in words("direct_questions"):
                cue = "opening_word" if kind == BOTH and (seen.personal or not seen.numbers) else "opening"
                yield _at(seen, place, last, cue, "called by name before a comma")
        elif _named_alone(seen, place, last, gap) and last > place and not seen.shouted:
            yield _at(seen, place, last, "header", "a whole name set apart at the head of a sentence")
        elif kind == BOTH and _named_alone(seen, place, last, gap) and seen.personal and not seen.numbers:
            cue = "opening_word" if gap.strip()[:1] in (",", "?", "!") else "opening"
            yield _at(seen, place, last, cue, "called by name at the head of a sentence")
        elif _named_alone(seen, place, last, gap):
            yield _at(seen, place, last, "opening", "called by name at the head of a sentence")


def _named_alone(seen: View, place: int, last: int, gap: str) -> bool:
    """Whether a listed name at the head of a sentence is set apart from it, and begins no list of names."""
    kind = lexicon.kind(seen.tokens[place].key)
    if kind not in (GIVEN, BOTH) or (kind == BOTH and seen.shouted) or not _APART.match(gap):
        return False
    after = seen.tokens[last + 1]
    then = seen.tokens[last + 1 : last + 3]
    return (
        lexicon.kind(after.key) not in (GIVEN, FAMILY)
        and after.norm not in words("apposed")
        and not (gap.startswith(",") and any(token.norm in ("and", "n", "or", "y") for token in then))
    )


def _summoned(seen: View, place: int) -> Iterator[Candidate]:
    """A listed name behind a word such as "so" or "oh", unless a story goes on about it."""
    tokens, head = seen.tokens, place
    while head < min(place + 3, len(tokens) - 1) and tokens[head].norm in words("openers"):
        head += 1
    kind = lexicon.kind(tokens[head].key)
    if head == place or kind not in (GIVEN, BOTH, UNKNOWN):
        return
    last = read_name(seen, head, strong=False)
    if last is None or tokens[last].stop != tokens[last].end:
        return
    if kind == UNKNOWN and not _SET_APART.match(seen.content, tokens[last].end):
        return
    then = tokens[last + 1].norm if last + 1 < len(tokens) else ""
    apart = ends_clause(seen, last) and then not in ("and", "or", "from", "in", "for")
    listed = then != "" and lexicon.kind(tokens[last + 1].key) in (GIVEN, FAMILY)
    told = then in words("narrative") | words("apposed") | {"from", "in", "for", "of", "s"} or then.endswith("ed")
    if not listed and (apart or not told):
        yield _at(seen, head, last, "summoned", "called by name behind a word such as so")


def _replies(seen: View, before: Sequence[View], weights: dict[str, Any]) -> Iterator[Candidate]:
    tokens = seen.tokens
    head = 0
    while head < len(tokens) - 1 and (tokens[head].norm in words("fillers") or tokens[head].norm in titles()):
        head += 1
    last = read_name(seen, head, strong=False)
    if before and (asked := _asked(seen, before)):
        end = (
            last
            if last is not None
            else read_name(seen, head, strong=asked == "name" and tokens[head].norm not in words("openers"))
        )
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
    """Whether the messages before leave a name open: asked for by somebody else, or begun by the same writer."""
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
