"""What in a message speaks for a name: the cues of `cues.yaml`, found word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from tamis.pii import lexicon
from tamis.pii.lexicon import BOTH, EPONYM, FAMILY, GIVEN, SURNAME, UNKNOWN, WORD, Token
from tamis.pii.sessions import Session

_NUMBER = re.compile(r"\d")
_BREAK = re.compile(r"[.!?:;\n]+(?=\s|\Z)|\n")
_SOFT = re.compile(r"[^\w.!?\n]*(?:\.{2,}|…)?[^\w.!?\n]*")
_JOINT = re.compile(r"[  ]|[-.] ?")
_GAP = re.compile(r"[ -]|['’] ?")
_TEXTESE = re.compile(r"(?<=[a-z/] )(?:2 (?=(?:the|u|me|my|class|b|do|it|go|get|school|bed|day)\b)|4 (?=(?:the|u|me|this|that|my|it|ur|real|sure)\b))|\b(?:gr8|l8r|b4|2day|2moro|2nite|w8|m8|h8)\b", re.IGNORECASE)
_FLAT = re.compile(r"[^\w.!?;:\n]*")
_OPERATOR = re.compile(r"\s*[=+*/^<>×÷]")
_SPELLED = re.compile(r"(?<![\w'’.-])[^\W\d_](?:([ .,–-]|, | - |\.\.\.)[^\W\d_](?![^\W_])(?:\1[^\W\d_](?![^\W_])){1,13})[.]?(?![\w'’])")
_INITIALS = re.compile(r"(?<!\w)[A-Z]\.\s?[A-Z]\.?(?:\s?[A-Z]\.?)?(?!\w)|(?<!\w)[A-Z]{2,3}(?!\w)")
_SPEAKER = re.compile(r"(?:\A|\n)[ \t]*(?:[\[(]?\d{1,2}:\d{2}(?::\d{2})?[\])]?[ \t]*)?(?=[^\W\d_])([^\n:]{2,40}?)[ \t]*:(?=[ \t]+[^\s\d]|\n|\Z)")
_SIGNATURE = re.compile(r"(?:[-–—~][ \t]*|\n[ \t]*)(?=[^\W\d_][^\n]{1,40}\Z)")
_LEAST_LONG = 60


class Candidate(NamedTuple):
    """A name that a cue speaks for.

    Attributes:
        message: The message's place in the session.
        first: The place of its first token.
        last: The place of its last token.
        cue: What the cue is called.
        weight: How much it says.
        real: Whether it speaks for a person of the chat, whatever a word problem says.
        reason: Why, in words.
    """

    message: int
    first: int
    last: int
    cue: str
    weight: float
    real: bool
    reason: str


class View(NamedTuple):
    """A message as the search for names sees it.

    Attributes:
        index: Its place in the session.
        turn: How many messages its writer had sent before.
        role: Who wrote it.
        content: Its text.
        tokens: Its words.
        shouted: Whether it is all in capitals, so that a capital says nothing.
        heads: The tokens that begin a sentence.
        problem: Start and end of what reads like a word problem; (0, 0) where nothing does.
        narrated: The tokens that are persons of a word problem.
        personal: Whether it speaks of "I" or "you".
        numbers: Whether it holds a number.
    """

    index: int
    turn: int
    role: str
    content: str
    tokens: list[Token]
    shouted: bool
    heads: frozenset[int]
    problem: tuple[int, int]
    narrated: frozenset[int]
    personal: bool
    numbers: bool


@cache
def table() -> dict[str, Any]:
    """What `cues.yaml` holds."""
    return lexicon.data("cues")


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(table()[name].split())


@cache
def _asks() -> re.Pattern[str]:
    phrases = "|".join(re.escape(" ".join(phrase.split())) for phrase in table()["asks"].split("|"))
    return re.compile(rf"\b(?:{phrases})\b", re.IGNORECASE)


@cache
def _ask_name() -> re.Pattern[str]:
    return re.compile("|".join(r"\b" + " ".join(p.split()) + r"\b" for p in table()["ask_name"].split("|")))


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


def capital(token: Token) -> bool:
    """Whether a word begins with a capital."""
    return token.text[0].isupper()


def views(session: Session) -> list[View]:
    """The messages of a session with what the search for names needs."""
    turns: dict[str, int] = {}
    found = []
    for index, message in enumerate(session):
        turns[message.role] = turns.get(message.role, -1) + 1
        found.append(view(index, turns[message.role], message.role, message.content))
    return found


def view(index: int, turn: int, role: str, content: str) -> View:
    """A message with its words, its sentences and what in it tells of a word problem."""
    tokens = lexicon.tokens(content)
    letters = [t for t in tokens if len(t.text) > 1]
    shouted = sum(t.text.isupper() for t in letters) * 2 > len(letters)
    breaks = [match.end() for match in _BREAK.finditer(content)]
    heads, at = set(), 0
    for place, token in enumerate(tokens):
        if place == 0:
            heads.add(place)
        while at < len(breaks) and breaks[at] <= token.start:
            heads.add(place)
            at += 1
    personal = any(token.norm in _words("pronouns") for token in tokens)
    numbers = bool(_NUMBER.search(_TEXTESE.sub("", content) if len(content) < 400 else content)) or any(token.norm in _NUMBERS for token in tokens)
    problem, narrated = _problem(content, tokens, breaks, personal, numbers)
    return View(index, turn, role, content, tokens, shouted, frozenset(heads), problem, narrated, personal, numbers)


_LOOSE = frozenset("is was will can could would should does did do if and or then also only each both still already now got said has".split())
_YOU = frozenset("you u ya i we me us my your ur the".split())
_ASKING = frozenset("does did do if will can has have is was than many much when would could should".split())


def _problem(content: str, tokens: list[Token], breaks: list[int], personal: bool, numbers: bool) -> tuple[tuple[int, int], frozenset[int]]:
    """Where a message tells of a word problem: from its first sentence that does to its last, and of whom."""
    if len(content) < 12:
        return (0, 0), frozenset()
    asks = [match.start() for match in _asks().finditer(content)] if len(tokens) > 3 else []
    if not numbers and not asks:
        return (0, 0), frozenset()
    verbs = _words("narrative")
    firm, loose = set(), set()
    for place, token in enumerate(tokens):
        if not capital(token) and lexicon.kind(token.key) != GIVEN:
            continue
        titled = place and tokens[place - 1].norm in _titles() and capital(tokens[place - 1])
        if (lexicon.kind(token.key) == WORD and not titled) or len(token.key) < 2:
            continue
        if token.norm != token.key and len(token.norm) == len(token.key) + 1:
            (firm if numbers and not personal else loose).add(place)
            continue
        if place + 1 < len(tokens) and content[token.end : tokens[place + 1].start].isspace():
            after = tokens[place + 1].norm
            then = tokens[place + 2].norm if place + 2 < len(tokens) else ""
            if after in verbs and then not in _YOU:
                (loose if after in _LOOSE else firm).add(place)
        if place and tokens[place - 1].norm in _ASKING:
            loose.add(place)
    spots = asks + [tokens[place].start for place in firm]
    if not (len(spots) > 1 or (asks and (firm or loose or (numbers and not personal))) or (firm and len(content) > _LEAST_LONG)):
        return (0, 0), frozenset(firm if personal else firm | loose)
    hits = sorted(spots + [tokens[place].start for place in loose])
    edges = [0, *breaks, len(content)]
    start = _past_address(content, tokens, max(edge for edge in edges if edge <= hits[0]))
    end = min(edge for edge in edges if edge > hits[-1]) if hits[-1] < len(content) else len(content)
    return (start, end), frozenset(firm | loose)


def _past_address(content: str, tokens: list[Token], start: int) -> int:
    """The start of a sentence, moved behind the name of whom it is said to ("Hi Ana, how many ...")."""
    first = next((place for place, token in enumerate(tokens) if token.start >= start), len(tokens))
    for place in range(first, min(first + 4, len(tokens) - 1)):
        if content[tokens[place].end : tokens[place].end + 1] == ",":
            said_to = tokens[place + 1].norm in _words("addressing") and content[tokens[place + 1].stop : tokens[place + 1].stop + 1] != ","
            return tokens[place].end + 1 if said_to else start
    return start


_NUMBERS = frozenset(
    "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty hundred half twice dozen".split()
)


def soft(content: str, start: int, end: int) -> bool:
    """Whether nothing between two words ends a sentence."""
    return end - start == 1 and content[start] == " " or (end - start < 12 and _SOFT.fullmatch(content, start, end) is not None)


def read_name(seen: View, place: int, strong: bool, strange: bool = False) -> int | None:
    """The last token of the name that begins at a token; None if it is none.

    Args:
        seen: The message.
        place: The token.
        strong: Whether even a common word may be a name here.
        strange: Whether a word in lower case that no list holds may be one.
    """
    tokens = seen.tokens
    head = tokens[place]
    kind = lexicon.kind(head.key)
    raised = capital(head) and not seen.shouted
    if len(head.key) < 2:
        return _initials(seen, place)
    if head.key in _CONGRUENT and "-" in head.text:
        return None
    if kind == WORD and head.key in lexicon.listed("particles") and (strong or raised):
        after = place + 1
        while after < len(tokens) and tokens[after].key in lexicon.listed("particles"):
            after += 1
        if after < len(tokens) and (capital(tokens[after]) or lexicon.kind(tokens[after].key) in (GIVEN, FAMILY)):
            return read_name(seen, after, strong)
    if kind == WORD and not (strong and raised):
        return None
    if kind in (BOTH, EPONYM) and not (strong or raised or seen.shouted):
        return None
    if kind == SURNAME and not (strong and raised):
        return None
    if kind == UNKNOWN and not (strong or strange or capital(head)):
        return None
    if kind == FAMILY and head.text.islower() and not (strong or strange):
        return None
    if kind == UNKNOWN and "-" in head.text and any(len(part) > 3 and lexicon.kind(lexicon.folded(part)) == WORD for part in head.text.split("-")):
        return None
    last = place
    while last - place < 4:
        further = _extend(seen, last, strong, raised)
        if further is None:
            break
        last = further
    return last


def _initials(seen: View, place: int) -> int | None:
    """Initials at a token ("J.R."), or an initial before a name ("J. Ortiz")."""
    head = seen.tokens[place]
    if place + 1 >= len(seen.tokens) or not head.text.isupper():
        return None
    after = seen.tokens[place + 1]
    gap = seen.content[head.end : after.start]
    if gap in (". ", ".") and after.text.isupper() and len(after.text) == 1:
        return place + 1
    if gap in (". ", " ") and len(after.key) > 2 and capital(after) and lexicon.kind(after.key) in (GIVEN, FAMILY, UNKNOWN):
        return place + 1 if head.text not in ("I", "A") or gap == ". " else None
    return None


def _extend(seen: View, last: int, strong: bool, raised: bool) -> int | None:
    """The token up to which a name goes on behind its last one."""
    tokens, content = seen.tokens, seen.content
    following = last + 1
    if following >= len(tokens) or tokens[last].end != tokens[last].start + len(tokens[last].text):
        return None
    token = tokens[following]
    gap = content[tokens[last].end : token.start]
    if len(gap) > 2 or not _JOINT.fullmatch(gap):
        return None
    if len(token.text) == 1 and token.text.isupper() and gap == " ":
        rest = content[token.end : token.end + 2]
        if token.text not in "IAUXY" and (rest == "" or rest[0] in ".,!?\n") and not _OPERATOR.match(content, token.end):
            return following
        if rest == ". " and following + 1 < len(tokens) and capital(tokens[following + 1]):
            return _extend(seen, following, strong, raised)
        return None
    if gap not in (" ", " ", "-"):
        return following if gap == ". " and len(tokens[last].text) == 1 and capital(token) else None
    kind = lexicon.kind(token.key)
    upper = capital(token) and not seen.shouted
    if kind in (GIVEN, FAMILY) and (upper or not raised or strong) and len(token.key) > 2:
        return following
    if kind in (GIVEN, FAMILY) and (upper or strong):
        return following
    if upper and raised and kind in (BOTH, SURNAME, EPONYM, UNKNOWN):
        return following
    if strong and not upper and kind == UNKNOWN and len(token.key) > 2 and not raised:
        return following
    if token.key in lexicon.listed("particles") and (upper or kind != GIVEN):
        after = following + 1
        while after < len(tokens) and tokens[after].key in lexicon.listed("particles"):
            after += 1
        steps = range(following, min(after, len(tokens) - 1))
        if after < len(tokens) and all(_GAP.fullmatch(content, tokens[p].end, tokens[p + 1].start) for p in steps):
            name = lexicon.kind(tokens[after].key)
            if (capital(tokens[after]) and raised) or (name in (GIVEN, FAMILY, *((SURNAME,) if strong else ())) and token.key not in ("y", "e", "a", "la", "los")):
                return after
    return None


def candidates(seen: View, before: Sequence[View]) -> list[Candidate]:
    """What the cues of a message speak for.

    Args:
        seen: The message.
        before: The messages before it, the last of them last.
    """
    if not seen.tokens:
        return []
    return [*_by_phrases(seen), *_by_kin(seen), *_by_place(seen, before)]


def _by_phrases(seen: View) -> Iterator[Candidate]:
    tokens, starts = seen.tokens, _phrases()
    for place, token in enumerate(tokens):
        for words, cue in starts.get(token.norm, ()):
            if len(words) > 1 and tuple(t.norm for t in tokens[place : place + len(words)]) != words:
                continue
            entry = table()["cues"][cue]
            if entry["side"] == "before":
                yield from _name_after(seen, cue, entry, place, place + len(words))
            elif place:
                yield from _name_before(seen, cue, entry, place)


def _name_after(seen: View, cue: str, entry: dict[str, Any], place: int, following: int) -> Iterator[Candidate]:
    tokens, content = seen.tokens, seen.content
    head, end = following, tokens[following - 1].stop
    while head < len(tokens) and head - following < 4 and tokens[head].norm in _words_of_fillers() and soft(content, end, tokens[head].start):
        end = tokens[head].stop
        head += 1
    if cue != "title":
        while head + 1 < len(tokens) and tokens[head].norm in _titles() and soft(content, end, tokens[head].start):
            end = tokens[head].end + (content[tokens[head].end : tokens[head].end + 1] == ".")
            head += 1
    elif content[end : end + 1] == "." and tokens[place].norm in _SHORT:
        end += 1
    if head >= len(tokens) or not soft(content, end, tokens[head].start) or _OPERATOR.match(content, end):
        return
    strong = bool(entry.get("strong")) and not (cue == "title" and tokens[place].norm in entry["weak"])
    if cue == "title" and tokens[place].norm in ("miss", "coach", "dr", "sr", "doctor", "aunt", "uncle", "tia", "tio", "prof", "professor"):
        strong = capital(tokens[head]) and not seen.shouted
    if cue == "title" and not strong and not (capital(tokens[head]) or lexicon.kind(tokens[head].key) in (GIVEN, FAMILY)):
        return
    if cue in ("greeting", "farewell") and not _opens(seen, place):
        return
    if cue == "signed" and (head + 5 < len(tokens) or tokens[following - 1].norm == "from" and lexicon.kind(tokens[head].key) not in (GIVEN, FAMILY)):
        return
    shy = not seen.problem[1] and tokens[place].norm not in ("its", "it", "this")
    again = head + 1 < len(tokens) and tokens[head + 1].norm in ("again", "here") or head == len(tokens) - 1
    if cue == "i_am" and tokens[head].norm in _MONTHS and tokens[place].norm in ("its", "it", "this"):
        return
    strange = cue == "greeting" or (cue == "i_am" and seen.turn < 3 and (shy or (again and len(tokens) < 8 and not seen.problem[1])))
    last = read_name(seen, head, strong, strange)
    if last is None:
        return
    if cue == "signed" and last < len(tokens) - 1:
        return
    if entry.get("end") and not ends_clause(seen, last):
        return
    weight = entry["weight"] if strong or cue != "title" else 0.5
    if cue == "i_am":
        weight = 1 - (1 - weight) * (1 - (table()["early"] if seen.turn < 3 else 0)) * (1 - (table()["clause"] if ends_clause(seen, last) else 0))
    yield Candidate(seen.index, head, last, cue, weight, bool(entry.get("real")), entry["reason"])
    yield from _together(seen, last, cue, weight, bool(entry.get("real")), entry["reason"])


def _together(seen: View, last: int, cue: str, weight: float, real: bool, reason: str) -> Iterator[Candidate]:
    """The names that an "and" or a comma sets beside one."""
    tokens, content = seen.tokens, seen.content
    for _ in range(6):
        head = last + 1
        if head < len(tokens) and tokens[head].norm in ("and", "y", "n", "et", "e", "or", "o") and soft(content, tokens[last].end, tokens[head].start):
            head += 1
        elif not (head < len(tokens) and content[tokens[last].end : tokens[head].start].strip() in (",", "&", "+", "/")):
            return
        elif tokens[head].norm in ("and", "y"):
            head += 1
        if head >= len(tokens) or (lexicon.kind(tokens[head].key) not in (GIVEN, FAMILY) and not (capital(tokens[head]) and lexicon.kind(tokens[head].key) == UNKNOWN)):
            return
        end = read_name(seen, head, strong=False)
        if end is None:
            return
        last = end
        yield Candidate(seen.index, head, last, cue + "_together", weight * 0.8, real, reason)


_MONTHS = frozenset("april may june august summer autumn dawn easter".split())
_DIRECT = frozenset("can could how what you please lets let your do did why where are ur u".split())
_SHORT = frozenset("mr mrs ms mx dr prof sr sra srta fr st".split())


def _opens(seen: View, place: int) -> bool:
    """Whether a greeting or thanks may begin at a token: at the head of a clause, or behind a word of that kind."""
    if place in seen.heads:
        return True
    before = seen.tokens[place - 1]
    gap = seen.content[before.end : seen.tokens[place].start]
    return bool(gap.strip()) or before.norm in _CALLS or before.norm in _words_of_fillers() or before.norm in _AFTER


@cache
def _words_of_fillers() -> frozenset[str]:
    return _words("fillers")


@cache
def _titles() -> frozenset[str]:
    return frozenset(table()["cues"]["title"]["phrases"]) - {"don"}


def ends_clause(seen: View, last: int) -> bool:
    """Whether a clause ends behind a token."""
    tokens = seen.tokens
    if last + 1 >= len(tokens):
        rest = seen.content[tokens[last].end :]
        return not _OPERATOR.match(rest) and not _NUMBER.search(rest[:6])
    gap = seen.content[tokens[last].end : tokens[last + 1].start]
    return any(mark in gap for mark in ",.!?;\n") or tokens[last + 1].norm in _AFTER or len(gap.strip()) > 0 and not gap.strip().isalnum() and "'" not in gap and "=" not in gap


_AFTER = frozenset("and but so from in i im can for lol here the y de from again btw pls please".split())


def _name_before(seen: View, cue: str, entry: dict[str, Any], place: int) -> Iterator[Candidate]:
    """The name that ends right before a phrase."""
    tokens, content = seen.tokens, seen.content
    last = place - 1
    if tokens[place].norm == "out" and place + 1 < len(tokens):
        return
    gap = content[tokens[last].end : tokens[place].start]
    if last and len(tokens[last].text) == 1 and tokens[last].text.isupper() and gap in (" ", ". ") and read_name(seen, last - 1, strong=False) == last:
        yield Candidate(seen.index, last - 1, last, cue, entry["weight"], bool(entry.get("real")), entry["reason"])
        return
    if not (gap.isspace() or _FLAT.fullmatch(gap)) or "\n" in gap or tokens[last].norm != tokens[last].key or len(tokens[last].key) < 2:
        return
    first = last
    while first and last - first < 3 and (first - 1) not in seen.heads | {-1} and read_name(seen, first - 1, strong=False) == last:
        first -= 1
    if first and (first - 1) in seen.heads and read_name(seen, first - 1, strong=False) == last and lexicon.kind(tokens[first - 1].key) in (GIVEN, FAMILY):
        first -= 1
    if read_name(seen, first, strong=False, strange=first in seen.heads and bool(entry.get("start")) and "," in gap and not seen.numbers) is None:
        return
    if entry.get("start") and first not in seen.heads and not _vocative(seen, first):
        return
    weight = entry["weight"] + (table()["comma"] if entry.get("start") and "," in gap else 0)
    yield Candidate(seen.index, first, last, cue, weight, bool(entry.get("real")), entry["reason"])


def _vocative(seen: View, first: int) -> bool:
    """Whether what stands before a name lets it be called out: a word such as "ok", or a comma."""
    before = seen.tokens[first - 1]
    return before.norm in _CALLS or "," in seen.content[before.end : seen.tokens[first].start]


_CALLS = frozenset("ok okay so hey hi yo oh no yes yeah wait omg bro please pls um uh and but now right alright well hello hola oye thanks".split())


def _by_kin(seen: View) -> Iterator[Candidate]:
    tokens, content = seen.tokens, seen.content
    owners, kin, between = _words("kin_owners"), _words("kin"), _words("kin_between")
    weight, reason = table()["kin_weight"], "somebody's friend, relative or teacher, by name"
    for place, token in enumerate(tokens):
        if token.norm not in owners:
            continue
        head = place + 1
        while head < len(tokens) and head - place < 5 and tokens[head].norm not in kin and tokens[head].norm in between:
            head += 1
        if head >= len(tokens) or tokens[head].key not in kin:
            continue
        named = False
        head += 1
        while head < len(tokens) and head - place < 9 and (tokens[head].norm in between or tokens[head].norm in kin or tokens[head].norm in _titles() or tokens[head].norm in _words_of_fillers()) and lexicon.kind(tokens[head].key) != GIVEN:
            named = named or tokens[head].norm in ("name", "named", "called", "names", "llama", "nombre")
            head += 1
        if head >= len(tokens):
            continue
        gap = content[tokens[head - 1].stop : tokens[head].start]
        if not soft(content, tokens[head - 1].stop, tokens[head].start) and not (gap == ". " and tokens[head - 1].norm in _titles()):
            continue
        last = read_name(seen, head, strong=named, strange=not seen.problem[1] and head == len(tokens) - 1)
        if last is not None:
            yield Candidate(seen.index, head, last, "kin", weight, True, reason)
            yield from _together(seen, last, "kin", weight, True, reason)


def _by_place(seen: View, before: Sequence[View]) -> Iterator[Candidate]:
    """Names by where they stand: a reply, a signature, a speaker's label, a message that is nothing but a name."""
    tokens, weights = seen.tokens, table()
    places = {token.start: place for place, token in enumerate(tokens)}
    for match in _SPEAKER.finditer(seen.content):
        place = places.get(match.start(1))
        if place is None:
            continue
        while place < len(tokens) - 1 and tokens[place].norm in _titles():
            place += 1
        last = read_name(seen, place, strong=False)
        if last is not None and tokens[last].end == match.end(1):
            yield Candidate(seen.index, place, last, "speaker", weights["speaker_weight"], True, "labels who speaks")
    signed = _SIGNATURE.search(seen.content, max(0, len(seen.content) - 60))
    if signed and signed.start() and (place := places.get(signed.end())) is not None:
        last = read_name(seen, place, strong=False)
        if last is not None and last == len(tokens) - 1 and not _NUMBER.search(seen.content[tokens[last].end :]):
            yield Candidate(seen.index, place, last, "signature", weights["signature_weight"], True, "signs a message")
    yield from _called(seen)
    yield from _replies(seen, before, weights)


def _called(seen: View) -> Iterator[Candidate]:
    """Names that commas set apart, at the end of a sentence or inside one."""
    tokens, content, weights = seen.tokens, seen.content, table()
    for place in seen.heads:
        last = read_name(seen, place, strong=False)
        if last is None or last + 1 >= len(tokens) or "," not in content[tokens[last].end : tokens[last + 1].start]:
            continue
        direct = lexicon.kind(tokens[place].key) in (GIVEN, FAMILY, BOTH) or tokens[last + 1].norm in _DIRECT
        if direct and tokens[last + 1].norm in _words("addressing") and lexicon.kind(tokens[place].key) != EPONYM:
            yield Candidate(seen.index, place, last, "opening", weights["opening"], False, "called by name before a comma")
    for place in range(1, len(tokens)):
        if tokens[place].norm in _words("possessions") and tokens[place - 1].stop != tokens[place - 1].end and seen.personal and not seen.problem[1]:
            if capital(tokens[place - 1]) and read_name(seen, place - 1, strong=False) is not None:
                yield Candidate(seen.index, place - 1, place - 1, "possessed", weights["possessed"], False, "somebody's class, relative or turn")
        if place in seen.heads or "," not in content[tokens[place - 1].end : tokens[place].start] or not capital(tokens[place]):
            continue
        last = read_name(seen, place, strong=False)
        if last is None or not ends_clause(seen, last):
            continue
        behind = content[tokens[last].end : tokens[last].end + 2].strip()
        at_end = last == len(tokens) - 1 or behind[:1] in tuple(".!?\n")
        if at_end and tokens[place - 1].norm != "and":
            yield Candidate(seen.index, place, last, "called", weights["called_at_end"], False, "called by name at the end of a sentence")
        elif behind[:1] == "," and (seen.personal or not seen.numbers):
            yield Candidate(seen.index, place, last, "called", weights["enclosed"], False, "called by name between commas")


def _replies(seen: View, before: Sequence[View], weights: dict[str, Any]) -> Iterator[Candidate]:
    tokens = seen.tokens
    head = 0
    while head < len(tokens) - 1 and (tokens[head].norm in _words_of_fillers() or tokens[head].norm in _titles()):
        head += 1
    last = read_name(seen, head, strong=False)
    if before and (asked := _asked(seen, before)):
        end = last if last is not None else read_name(seen, head, strong=asked == "name")
        if end is not None and (len(tokens) < 7 or ends_clause(seen, end)):
            reason = "answers a question about a name" if asked == "name" else "goes on with a name from the message before"
            yield Candidate(seen.index, head, end, "reply", weights["ask_weight"], True, reason)
            yield from _together(seen, end, "reply", weights["ask_weight"], True, reason)
    if last == len(tokens) - 1 and len(tokens) < 5 and ends_clause(seen, last):
        yield Candidate(seen.index, head, last, "alone", weights["alone_weight"], False, "a message that is a name alone")


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


_CONGRUENT = frozenset("sas asa sss aas ssa saa aaa".split())


def spelled(seen: View) -> Iterator[tuple[int, int, str, bool]]:
    """Names that are spelled letter by letter: start, end, the letters together, whether the text says so."""
    for match in _SPELLED.finditer(seen.content):
        word = lexicon.folded(match[0])
        steps = {ord(b) - ord(a) for a, b in zip(word, word[1:], strict=False)}
        if len(word) < 3 or steps == {1} or steps == {0} or word in _CONGRUENT:
            continue
        said = re.search(r"(?i)\b(?:spel\w+|name|letters|deletre\w+|se escribe|initials)\b", seen.content[max(0, match.start() - 60) : match.start()])
        yield match.start(), match.end() - (match[0][-1] == "."), word, bool(said)


def initials(seen: View) -> Iterator[tuple[int, int]]:
    """Initials that the text calls so."""
    for match in re.finditer(r"(?i)\binitials\b", seen.content):
        for found in _INITIALS.finditer(seen.content, match.end(), match.end() + 40):
            yield found.start(), found.end()
            break
