"""Which school somebody goes to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from tamis.pii import contexts, lexicon
from tamis.pii.detect.views import SPACE, View, capital
from tamis.pii.lexicon import BOTH, FAMILY, GIVEN, UNKNOWN, WORD
from tamis.pii.spans import Span


@cache
def _goes() -> frozenset[tuple[str, ...]]:
    return frozenset(
        tuple(phrase.split())
        for phrase in contexts.phrases("school_goes").replace("\\s", " ").replace("\\", "").split("|")
    )


def find(seen: View, before: Sequence[View]) -> Iterator[Span]:
    """The schools of a message that follows some others."""
    tokens, content = seen.tokens, seen.content
    ends, types = contexts.words("school_ends"), contexts.words("school_types")
    asked = (
        bool(before)
        and before[-1].role != seen.role
        and bool(_asks_school().search(" ".join(t.norm for t in before[-1].tokens[-30:])))
    )
    taken = -1
    for place, token in enumerate(tokens):
        if (
            token.norm
            in ("escuela", "colegio", "instituto", "liceo", "primaria", "secundaria", "preparatoria", "prepa")
            and place > taken
        ):
            span, taken = _spanish(seen, place)
            if span:
                yield span
        if (
            token.norm not in ends
            or place <= taken
            or not place
            or (token.norm in ("ms", "es") and (token.text != token.text.upper() or seen.shouted))
        ):
            continue
        last = place
        while (
            last + 1 < len(tokens)
            and tokens[last + 1].norm in types | {"for", "of"}
            and SPACE.fullmatch(content, tokens[last].end, tokens[last + 1].start)
        ):
            last += 1
        while tokens[last].norm not in ends:
            last -= 1
        first = _school_start(seen, place)
        if first is None or tokens[first].norm in contexts.words("online_schools"):
            continue
        taken = last
        yield from _school(seen, first, place, last, asked)
    yield from _called_school(seen, asked)
    yield from _formal(seen)


_FORM = re.compile(r"(?:\A|\n|[,;] )[Ss]chool\s*:\s*([A-Z][^\n,;:]{2,50}?)(?=\s*(?:[\n,;]|\Z))")
_GRADES = re.compile(
    r"(?<![\w'])(?:[A-Z][\w'’.]{1,15} ){1,3}(?:[KkPp]|Pre-?K)-(?:5|6|8|12)(?: [Ss]chool| [Aa]cademy)?(?!\w)"
)
_LED = re.compile(
    r"(?:at|to|from|attend|attends|near|of|in|a la|al|en|for|vs|playing|teach|school is|my school)\s\Z",
    re.IGNORECASE,
)


def _formal(seen: View) -> Iterator[Span]:
    """Schools with a number or their grades, and what a form calls one."""
    content = seen.content
    for match in re.finditer(
        r"(?<!\w)(?:P\.?S\.?|I\.?S\.?|J\.?H\.?S\.?|M\.?S\.?|H\.?S\.?|[jp]?h?s)\s?#?\s?\d{1,3}(?!\w)", content
    ):
        yield Span(
            *match.span(),
            "SCHOOL",
            _numbered(seen, match),
            "a numbered school",
        )
    for match in _FORM.finditer(content):
        yield Span(*match.span(1), "SCHOOL", 0.7, "the field of a form")
    for match in _GRADES.finditer(content):
        yield Span(*match.span(), "SCHOOL", 0.4 if seen.told(match.start()) else 0.75, "a school and its grades")


def _numbered(seen: View, match: re.Match[str]) -> float:
    """How sure it is that "PS 12" or the like is a school; "is", "ms" and "hs" are words and units besides."""
    led = bool(_LED.search(seen.content[max(0, match.start() - 12) : match.start()]))
    letters = re.sub(r"[^a-z]", "", match[0].lower())
    if seen.told(match.start()) or (letters in ("s", "hs", "is") and not match[0][0].isupper()):
        return 0.35
    if letters in ("is", "ms", "hs") or seen.shouted or match[0][0].islower():
        return 0.6 if led and (letters != "is" or not seen.shouted) else 0.35
    return 0.6


def _school_start(seen: View, place: int) -> int | None:
    """The first token of a school's name whose kind of school stands at a token; None if no name goes before."""
    tokens, content, first = seen.tokens, seen.content, place
    raised = capital(tokens[place]) and not seen.shouted
    types = contexts.words("school_types")
    while first and place - first < 6:
        token = tokens[first - 1]
        gap = content[token.end : tokens[first].start]
        if not (SPACE.fullmatch(gap) or gap in ("'s ", "’s ", "' ", ". ")):
            break
        word = lexicon.kind(token.key) == WORD or token.norm in contexts.words("no_schools")
        if (
            (
                capital(token)
                and not seen.shouted
                and token.norm not in contexts.words("no_schools")
                and not (first - 1 in seen.heads and word and token.norm not in types and not raised)
            )
            or (token.norm in types and not word)
            or (token.norm in types and first < place + 1 and not raised)
            or (
                raised
                and token.norm in ("of", "the", "for", "de", "la", "and")
                and first > 1
                and capital(tokens[first - 2])
                and not seen.shouted
            )
            or (not raised and not word and token.norm not in ("is", "im"))
            or (
                not raised
                and word
                and token.norm
                in contexts.words("street_words")
                | {"saint", "st", "mount", "washington", "lincoln", "creek", "valley", "view", "ridge", "bay"}
            )
        ):
            first -= 1
        else:
            break
    while first < place and (
        tokens[first].norm in contexts.words("no_schools")
        or (
            first in seen.heads
            and lexicon.kind(tokens[first].key) == WORD
            and tokens[first].norm not in contexts.words("street_words") | types
        )
        or (first in seen.heads and tokens[first].norm in ("at", "in", "from", "my", "the"))
    ):
        first += 1
    if all(tokens[p].norm in types for p in range(first, place)):
        return None
    return first


def _school(seen: View, first: int, place: int, last: int, asked: bool) -> Iterator[Span]:
    tokens = seen.tokens
    before = [t.norm for t in tokens[max(0, first - 4) : first]]
    goes = asked or any(tuple(before[-size:]) in _goes() for size in (1, 2, 3, 4))
    raised = capital(tokens[place]) and capital(tokens[first]) and not seen.shouted
    name = [lexicon.kind(tokens[p].key) for p in range(first, place)]
    vague = (
        tokens[place].norm
        in (
            "high",
            "middle",
            "primary",
            "intermediate",
            "secondary",
            "ms",
            "hs",
            "prep",
            "jr",
            "school",
            "grammar",
            "institute",
            "magnet",
            "academy",
            "college",
            "elem",
            "university",
        )
        and tokens[last].norm == tokens[place].norm
    )
    after = tokens[last + 1].norm if last + 1 < len(tokens) else ""
    if raised:
        score = 0.85
    elif goes and all(kind != WORD for kind in name):
        score = 0.75
    elif all(kind in (GIVEN, FAMILY, BOTH) for kind in name) and (
        not vague or after in ("", "school", "and", "is", "has", "in", "but", "rn", "so")
    ):
        score = 0.6
    else:
        score = 0.55 if goes else 0.3
    if seen.shouted and not goes:
        score = min(
            score, 0.55 if all(kind in (GIVEN, FAMILY, BOTH, UNKNOWN) for kind in name) and not vague else 0.35
        )
    if (
        seen.told(tokens[first].start)
        or (seen.numbers and not seen.personal)
        or (not seen.personal and not goes and len(seen.content) > 80)
    ):
        score = 0.4
    yield Span(tokens[first].start, tokens[last].end, "SCHOOL", score, "a school by its name")


def _spanish(seen: View, place: int) -> tuple[Span | None, int]:
    tokens = seen.tokens
    head = place + 1
    while head < len(tokens) and tokens[head].norm in (
        "primaria",
        "secundaria",
        "preparatoria",
        "tecnica",
        "superior",
        "publica",
        "nacional",
        "de",
        "elemental",
    ):
        head += 1
    last = head
    while (
        last < len(tokens)
        and last - head < 4
        and SPACE.fullmatch(seen.content, tokens[last - 1].end, tokens[last].start)
        and (
            (capital(tokens[last]) and not seen.shouted)
            or (lexicon.kind(tokens[last].key) in (GIVEN, FAMILY, BOTH))
            or (last > head and tokens[last].norm in ("de", "la", "del", "los"))
        )
    ):
        last += 1
    if last == head or seen.tokens[last - 1].norm in ("de", "la", "del", "los"):
        return None, place
    return Span(
        tokens[place].start,
        tokens[last - 1].end,
        "SCHOOL",
        0.4 if seen.told(tokens[place].start) else 0.75,
        "a school by its name",
    ), last - 1


@cache
def _asks_school() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{contexts.phrases('school_asks')})\b")


def _called_school(seen: View, asked: bool) -> Iterator[Span]:
    """A school without its kind: "i go to lincoln", or the answer to a question."""
    tokens = seen.tokens
    for place in range(2 if not asked else 0, len(tokens)):
        phrase = tuple(t.norm for t in tokens[max(0, place - 2) : place])
        attends = phrase in (("go", "to"), ("goes", "to"), ("voy", "a")) or phrase[-1:] in (
            ("attend",),
            ("attends",),
        )
        if not (attends or (asked and place < 6)):
            continue
        token = tokens[place]
        kind = lexicon.kind(token.key)
        if kind in (FAMILY, GIVEN, BOTH, UNKNOWN) and len(token.key) > 3 and (capital(token) or kind != UNKNOWN):
            last = place
            while (
                last - place < 3
                and last + 1 < len(tokens)
                and capital(tokens[last + 1])
                and SPACE.fullmatch(seen.content, tokens[last].end, tokens[last + 1].start)
            ):
                last += 1
            score = (
                0.7
                if asked
                else 0.55
                if seen.personal and not seen.numbers and not seen.told(token.start)
                else 0.3
            )
            yield Span(token.start, tokens[last].end, "SCHOOL", score, "where somebody goes to school")
            break
