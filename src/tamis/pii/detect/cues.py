"""What in a message speaks for a name: the cues of `cues.yaml`, found word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from tamis.pii import lexicon
from tamis.pii.detect.naming import Candidate, read_name, together
from tamis.pii.detect.positions import by_place
from tamis.pii.detect.views import NUMBER, OPERATOR, View, capital, ends_clause, soft, table, titles, words
from tamis.pii.lexicon import FAMILY, GIVEN, SURNAME

_FLAT = re.compile(r"[^\w.!?;:\n]*")


@cache
def _phrases() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """The first word of every phrase -> the phrases that begin with it, the longest first."""
    found: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for cue, entry in table()["cues"].items():
        for phrase in entry["phrases"]:
            words = tuple(map(lexicon.folded, phrase.split()))
            found.setdefault(words[0], []).append((words, cue))
    for group in found.values():
        group.sort(key=lambda pair: -len(pair[0]))
    return found


def candidates(seen: View, before: Sequence[View]) -> list[Candidate]:
    """What the cues of a message speak for.

    Args:
        seen: The message.
        before: The messages before it, the last of them last.
    """
    if not seen.tokens:
        return []
    return [*_by_phrases(seen), *_by_kin(seen), *by_place(seen, before)]


def _by_phrases(seen: View) -> Iterator[Candidate]:
    tokens, starts = seen.tokens, _phrases()
    for place, token in enumerate(tokens):
        for phrase, cue in starts.get(token.norm, ()):
            size = len(phrase)
            if size > 1 and tuple(t.norm for t in tokens[place : place + size]) != phrase:
                continue
            entry = table()["cues"][cue]
            if entry["side"] == "before":
                yield from _name_after(seen, cue, entry, place, place + size)
            elif place:
                yield from _name_before(seen, cue, entry, place)


def _name_after(seen: View, cue: str, entry: dict[str, Any], place: int, following: int) -> Iterator[Candidate]:
    tokens, content = seen.tokens, seen.content
    head, end = _past_fillers(seen, cue, place, following)
    if head >= len(tokens) or not soft(content, end, tokens[head].start) or OPERATOR.match(content, end):
        return
    listed = lexicon.kind(tokens[head].key) in (GIVEN, FAMILY)
    strong = bool(entry.get("strong"))
    if cue == "title":
        if tokens[place].stop != tokens[place].end:
            return
        before = tokens[place].norm
        cased = capital(tokens[head]) and not seen.shouted
        strong = cased if before in entry["cased"] else before not in entry["weak"]
        strong = strong or _after_title(seen, place, head)
        if not strong and not (capital(tokens[head]) or listed):
            return
    if cue in ("greeting", "farewell") and not _opens(seen, place):
        return
    if cue == "signed" and (head + 5 < len(tokens) or (tokens[following - 1].norm == "from" and not listed)):
        return
    pointing = tokens[place].norm in ("its", "it", "this")
    if cue == "i_am" and pointing and tokens[head].norm in words("seasons"):
        return
    if cue == "record" and ":" not in content[end : tokens[head].start] and tokens[following - 1].norm != "is":
        return
    if (
        cue == "title"
        and strong
        and (not cased or len(tokens[head].key) == 1)
        and (short := _short_surname(seen, place, head))
    ):
        yield Candidate(seen.place, head, head, _titled(seen, head), entry["weight"], True, short)
        return
    last = read_name(seen, head, strong, cue == "greeting" or (cue == "i_am" and _new(seen, head, pointing)))
    if last is None or (cue == "signed" and last < len(tokens) - 1):
        return
    if entry.get("end") and not ends_clause(seen, last):
        return
    if cue == "title":
        cue = _titled(seen, last)
    if cue == "reached" and _story_goes_on(seen, last):
        return
    weight = entry["weight"] if strong or not cue.startswith("title") else table()["weak_title"]
    if cue == "i_am":
        weight = _introduced(seen, last, weight)
    yield Candidate(seen.place, head, last, cue, weight, bool(entry.get("real")), entry["reason"])
    yield from together(seen, last, cue, weight, bool(entry.get("real")), entry["reason"])


def _story_goes_on(seen: View, last: int) -> bool:
    """Whether a message with numbers and nobody of the chat goes on with what the person does."""
    tokens = seen.tokens
    then = tokens[last + 1].norm if last + 1 < len(tokens) else ""
    return seen.numbers and not seen.personal and then in words("narrative")


def _introduced(seen: View, last: int, weight: float) -> float:
    """The weight of "I am": more among a person's first messages, and where a clause ends behind the name."""
    early = table()["early"] if seen.turn < _FIRST_TURNS else 0
    return float(1 - (1 - weight) * (1 - early) * (1 - (table()["clause"] if ends_clause(seen, last) else 0)))


def _after_title(seen: View, place: int, head: int) -> bool:
    """Whether a family name in lower case may follow a title that is a common word too ("i miss ..." says no)."""
    tokens = seen.tokens
    if tokens[place].norm not in words("firm_titles") or (place and tokens[place - 1].norm in words("missing")):
        return False
    key = tokens[head].key
    if key in lexicon.listed("particles"):
        return head + 1 < len(tokens) and lexicon.kind(tokens[head + 1].key) in (GIVEN, FAMILY)
    return lexicon.kind(key) == FAMILY


def _titled(seen: View, last: int) -> str:
    """The cue of a title: another where it is said to somebody or of somebody, and no story goes on."""
    tokens = seen.tokens
    if seen.told(tokens[last].start) or len(seen.content) > _LONG:
        return "title"
    if seen.content[tokens[last].end : tokens[last].end + 1] in ("'", "’"):
        return "title"
    first = next(place for place in range(last, -1, -1) if place == 0 or tokens[place].norm in titles())
    called = _opens(seen, first) and not (last + 1 < len(tokens) and tokens[last + 1].norm in words("narrative"))
    return "titled" if called or ends_clause(seen, last) else "title"


_LONG = 120
"""A message that is longer may tell a story about somebody with a title."""


def _short_surname(seen: View, place: int, head: int) -> str:
    """Why a letter or a surname that is a word too is a name behind "mr" and the like; empty if it is none."""
    token, title = seen.tokens[head], seen.tokens[place]
    if title.norm not in ("mr", "mrs", "ms", "mx") or NUMBER.search(
        seen.content, max(0, title.start - 2), title.start
    ):
        return ""
    if len(token.key) == 1 and token.text not in ("I", "a", "i") and not OPERATOR.match(seen.content, token.end):
        return "a letter behind a title"
    return "a surname behind a title" if lexicon.kind(token.key) == SURNAME else ""


_FIRST_TURNS = 3
"""An introduction stands among so many first messages of a person."""


def _past_fillers(seen: View, cue: str, place: int, following: int) -> tuple[int, int]:
    """The token where a name may begin behind a cue, with the end of what stands before it."""
    tokens, content = seen.tokens, seen.content
    head, end = following, tokens[following - 1].stop
    while head < min(len(tokens), following + 4):
        if tokens[head].norm not in words("fillers") or not soft(content, end, tokens[head].start):
            break
        end = tokens[head].stop
        head += 1
    if cue != "title":
        while head + 1 < len(tokens) and tokens[head].norm in titles() and soft(content, end, tokens[head].start):
            end = tokens[head].end + (content[tokens[head].end : tokens[head].end + 1] == ".")
            head += 1
    elif content[end : end + 1] == "." and tokens[place].norm in words("abbreviated"):
        end += 1
    return head, end


def _new(seen: View, head: int, pointing: bool) -> bool:
    """Whether a person may say here for the first time who they are, by a word that no list holds."""
    if seen.turn >= _FIRST_TURNS or seen.problem[1]:
        return False
    tokens = seen.tokens
    again = head == len(tokens) - 1 or tokens[head + 1].norm in ("again", "here")
    return not pointing or (again and len(tokens) < 8)


def _opens(seen: View, place: int) -> bool:
    """Whether a greeting or thanks may begin at a token: at the head of a clause, or behind such a word."""
    if place in seen.heads:
        return True
    before = seen.tokens[place - 1]
    gap = seen.content[before.stop : seen.tokens[place].start]
    return (
        bool(gap.strip())
        or before.norm in words("interjections")
        or before.norm in words("fillers")
        or before.norm in words("clause_openers")
    )


def _name_before(seen: View, cue: str, entry: dict[str, Any], place: int) -> Iterator[Candidate]:
    """The name that ends right before a phrase."""
    tokens, content = seen.tokens, seen.content
    last = place - 1
    if tokens[place].norm == "out" and place + 1 < len(tokens):
        return
    gap = content[tokens[last].end : tokens[place].start]
    if (
        last
        and len(tokens[last].text) == 1
        and tokens[last].text.isupper()
        and gap in (" ", ". ")
        and read_name(seen, last - 1, strong=False) == last
    ):
        yield Candidate(seen.place, last - 1, last, cue, entry["weight"], bool(entry.get("real")), entry["reason"])
        return
    if (
        not (gap.isspace() or _FLAT.fullmatch(gap))
        or "\n" in gap
        or tokens[last].norm != tokens[last].key
        or len(tokens[last].key) < 2
    ):
        return
    first = last
    while (
        first
        and last - first < 3
        and (first - 1) not in seen.heads
        and read_name(seen, first - 1, strong=False) == last
    ):
        first -= 1
    if (
        first
        and (first - 1) in seen.heads
        and read_name(seen, first - 1, strong=False) == last
        and lexicon.kind(tokens[first - 1].key) in (GIVEN, FAMILY)
    ):
        first -= 1
    set_apart = bool(entry.get("strange")) or (bool(entry.get("start")) and "," in gap)
    strange = first in seen.heads and not seen.numbers and set_apart
    if read_name(seen, first, strong=False, strange=strange) is None:
        return
    if entry.get("start") and first not in seen.heads and not _vocative(seen, first):
        return
    weight = entry["weight"] + (table()["comma"] if entry.get("start") and "," in gap else 0)
    yield Candidate(seen.place, first, last, cue, weight, bool(entry.get("real")), entry["reason"])


def _vocative(seen: View, first: int) -> bool:
    """Whether what stands before a name lets it be called out: a word such as "ok", or a comma."""
    before = seen.tokens[first - 1]
    return before.norm in words("interjections") or "," in seen.content[before.end : seen.tokens[first].start]


def _by_kin(seen: View) -> Iterator[Candidate]:
    tokens, content = seen.tokens, seen.content
    owners, kin, between = words("kin_owners"), words("kin"), words("kin_between")
    weight, reason = table()["kin_weight"], "somebody's friend, relative or teacher, by name"
    for place, token in enumerate(tokens):
        if token.norm not in owners:
            continue
        head = place + 1
        while (
            head < len(tokens)
            and head - place < 5
            and tokens[head].norm not in kin
            and tokens[head].norm in between
        ):
            head += 1
        if head >= len(tokens) or tokens[head].key not in kin:
            continue
        named = False
        head += 1
        while (
            head < len(tokens)
            and head - place < 9
            and (
                tokens[head].norm in between
                or tokens[head].norm in kin
                or tokens[head].norm in titles()
                or tokens[head].norm in words("fillers")
            )
            and lexicon.kind(tokens[head].key) != GIVEN
        ):
            named = named or tokens[head].norm in ("name", "named", "called", "names", "llama", "nombre")
            head += 1
        if head >= len(tokens):
            continue
        gap = content[tokens[head - 1].stop : tokens[head].start]
        if not soft(content, tokens[head - 1].stop, tokens[head].start) and not (
            gap == ". " and tokens[head - 1].norm in titles()
        ):
            continue
        last = read_name(seen, head, strong=named, strange=not seen.problem[1] and head == len(tokens) - 1)
        if last is not None:
            yield Candidate(seen.place, head, last, "kin", weight, True, reason)
            yield from together(seen, last, "kin", weight, True, reason)
