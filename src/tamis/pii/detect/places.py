"""Where somebody lives, and which school they go to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from tamis.pii import contexts, lexicon
from tamis.pii.detect import cues
from tamis.pii.detect.cues import View, capital
from tamis.pii.lexicon import BOTH, FAMILY, GIVEN, UNKNOWN, WORD
from tamis.pii.spans import Span

_HOUSE = re.compile(r"(?<![\w.$/+*=-])\d{1,5}(?:-\d{1,3}|[A-Za-z](?!\w))?[ \t]{1,3}(?=[^\W_])")
_STEP = re.compile(r"(?:[^\W\d_][\w.'’-]{0,24}|\d{1,3}(?:st|nd|rd|th))(?:[ \t]{1,3}|(?=\W|\Z))", re.IGNORECASE)
_CALLE = re.compile(r"(?<!\w)(?:calle|avenida|av\.|carrera|colonia|rua|rue|via|calz\.?|calzada|callejon|callejón|paseo|boulevard)\s+(?:[^\W_][\w.'’]{0,24}\s+){0,4}?(?:#|no\.?|n[uú]mero|num\.?)?\s*\d{1,5}[A-Za-z]?(?!\w)", re.IGNORECASE)
_UNIT = re.compile(r",?\s*(?:apt|apartment|unit|suite|ste|#|no|depto|piso)\.?\s*#?\s*\w{1,6}(?!\w)", re.IGNORECASE)
_ZIP = re.compile(r",?\s*\d{5}(?:-\d{4})?(?!\w)")
_ZIP_SAID = re.compile(r"(?<!\w)(?:zip|zip ?code|postal code|postcode)\s*(?:is|:|=)?\s*(\d{5}(?:-\d{4})?|[A-Z]\d[A-Z]\s?\d[A-Z]\d|[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2})(?!\w)", re.IGNORECASE)
_SPACE = re.compile(r"[ \u00a0]{1,2}|[-.] ?")


@cache
def _lives() -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'])(?:{contexts.phrases('lives')})\s+(?:the\s+)?(?=[^\W_])", re.IGNORECASE)


@cache
def _goes() -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(phrase.split()) for phrase in contexts.phrases("school_goes").replace("\\s", " ").replace("\\", "").split("|"))


@cache
def _gazetteer() -> frozenset[tuple[str, ...]]:
    named = contexts.phrases("places") + "|" + contexts.phrases("states")
    return frozenset(tuple(name.split()) for name in named.replace("\\s", " ").replace("\\", "").split("|"))


def find(views: Sequence[View], place: int) -> Iterator[Span]:
    """The places and schools of a message."""
    seen = views[place]
    if len(seen.tokens) < 1:
        return
    before = views[max(0, place - 2) : place]
    yield from _addresses(seen)
    yield from _towns(seen, before)
    yield from _schools(seen, before)


def _inside(seen: View, start: int) -> bool:
    return seen.problem[0] <= start < seen.problem[1]


def _addresses(seen: View) -> Iterator[Span]:
    content = seen.content
    types, sure = contexts.words("street_types"), contexts.words("street_sure")
    for match in _HOUSE.finditer(content):
        at, capitals, words = match.end(), 0, 0
        while words < 6 and (step := _STEP.match(content, at)):
            word = step[0].strip().rstrip(".,").lower()
            if words and word in types and not (word == "st" and words == 1 and False):
                end = at + len(step[0].rstrip().rstrip(","))
                yield from _street(seen, match.start(), end, word in sure, capitals == words)
                break
            if lexicon.kind(lexicon.folded(word)) == WORD and word not in _COMPASS and not capital_at(content, at):
                break
            capitals += content[at].isupper() or content[at].isdigit()
            words += 1
            at = step.end()
    for match in _CALLE.finditer(content):
        yield Span(match.start(), _onward(content, match.end()), "LOCATION", 0.4 if _inside(seen, match.start()) else 0.8, "a street and its number")
    for match in _ZIP_SAID.finditer(content):
        yield Span(*match.span(1), "LOCATION", 0.7 if seen.personal and not _inside(seen, match.start()) else 0.4, "called a postal code")


_COMPASS = frozenset("n s e w north south east west nw ne sw se oak elm pine maple main park lake hill high church school mill spring river".split())


def capital_at(content: str, at: int) -> bool:
    """Whether a capital or a digit stands at a place."""
    return content[at].isupper() or content[at].isdigit()


def _street(seen: View, start: int, end: int, sure: bool, capitals: bool) -> Iterator[Span]:
    context = contexts.distance("LOCATION", seen.content, start, end, 40, 10) is not None
    score = 0.9 if sure or (capitals and context) else 0.75 if capitals else 0.6 if context else 0.3
    if _inside(seen, start):
        score = 0.4
    yield Span(start, _onward(seen.content, end), "LOCATION", score, "a house number and a street")


def _onward(content: str, end: int) -> int:
    """The end of an address: with its flat, town, state and postal code."""
    if content[end : end + 1] == "." and content[end + 1 : end + 2] in (",", " ") and content[end + 1 : end + 3].strip(" ")[:1].islower() is False and re.match(r"\.,", content[end:]):
        end += 1
    if unit := _UNIT.match(content, end):
        end = unit.end()
    town = re.compile(r",\s*((?:[A-Z][\w.'’]{1,20}(?:[ ](?=[A-Z]))?){1,4})").match(content, end)
    lower = None if town else re.compile(r",?\s+((?:[a-z]{2,20} ?){1,3})").match(content, end)
    if town:
        end = town.end()
    elif lower:
        words = lower[1].split()
        for size in (3, 2, 1):
            if tuple(words[:size]) in _gazetteer():
                end = lower.start(1) + len(" ".join(words[:size]))
                break
    state = re.compile(r",?\s+([A-Za-z]{2})(?!\w)").match(content, end)
    if state and state[1].upper() in contexts.words("state_codes") and (state[1].isupper() or state[0][0] == ","):
        end = state.end()
    if code := _ZIP.match(content, end):
        end = code.end()
    return end


def _towns(seen: View, before: Sequence[View]) -> Iterator[Span]:
    content, tokens = seen.content, seen.tokens
    starts = {token.start: place for place, token in enumerate(tokens)}
    for match in _lives().finditer(content):
        place = starts.get(match.end())
        if place is None:
            continue
        last, listed = _town(seen, place)
        if last is None:
            continue
        phrase = match[0].lower()
        home = any(word in phrase for word in ("live", "address", "viv", "moved", "soy de", "from", "grew", "born", "stay", "raised", "hometown", "downtown", "visiting", "town", "here in"))
        score = 0.85 if home and listed else 0.75 if home else 0.65 if listed else 0.5
        if phrase.startswith(("im ", "i am ")) and not listed and "from" not in phrase:
            score = 0.55 if capital(tokens[place]) and not seen.shouted else 0.3
        if not capital(tokens[place]) and not listed and not any(word in phrase for word in ("live", "viv", "from", "moved", "address", "stay")):
            score = 0.35
        if _inside(seen, match.end()) or not (seen.personal or phrase.startswith(("here", "over here"))) or (seen.problem[1] and not home):
            score = 0.35
        yield Span(tokens[place].start, _with_state(content, tokens[last].end), "LOCATION", score, "says where somebody lives or is")
    if before and re.search(r"(?i)where (?:do|are|r) (?:you|u) (?:live|from|at)|where(?:abouts)? are you(?: located| calling| joining)?\W*\Z|donde vives|de donde eres|what (?:city|town|state)|your (?:address|zip)", before[-1].content) and before[-1].role != seen.role:
        place = 0
        while place < len(tokens) - 1 and lexicon.kind(tokens[place].key) == WORD and (tokens[place].key,) not in _gazetteer():
            place += 1
        last, listed = _town(seen, place)
        if last is not None and (listed or capital(tokens[place])):
            yield Span(tokens[place].start, _with_state(content, tokens[last].end), "LOCATION", 0.75 if listed else 0.6, "answers a question about a place")
    yield from _listed_places(seen)


def _listed_places(seen: View) -> Iterator[Span]:
    """Known towns and countries that stand behind "in" or "from" in plain chat."""
    tokens = seen.tokens
    for place in range(1, len(tokens)):
        if tokens[place - 1].norm not in ("in", "from", "near", "en", "de", "to", "at", "around"):
            continue
        last, listed = _town(seen, place)
        if last is None or _inside(seen, tokens[place].start):
            continue
        raised = capital(tokens[place]) and not seen.shouted
        known = listed and (raised or len(tokens[place].key) > 4)
        personal = not seen.numbers and any(t.norm in _PERSONAL for t in tokens) and tokens[last].norm == tokens[last].key
        if known or raised:
            score = (0.55 if personal else 0.4) if known else 0.4 if personal else 0.2
            yield Span(tokens[place].start, _with_state(seen.content, tokens[last].end), "LOCATION", score, "a place in plain chat")


_PERSONAL = frozenset("i im my me we our us mi yo nuestra ill ive".split())


def _with_state(content: str, end: int) -> int:
    state = re.compile(r",?\s+([A-Z]{2})(?!\w)|,\s*([A-Za-z]{2})(?!\w)|,\s*([A-Z][a-z]{3,14}(?: [A-Z][a-z]{3,12})?)(?!\w)").match(content, end)
    if not state:
        return end
    code = state[1] or state[2]
    if code:
        return state.end() if code.upper() in contexts.words("state_codes") else end
    return state.end() if tuple(state[3].lower().split()) in _gazetteer() else end


_PLACE_ENDS = frozenset("city beach springs falls heights park valley hills county island village bay rapids forge grove creek".split())


def _town(seen: View, place: int) -> tuple[int | None, bool]:
    """The last token of the place that begins at a token, and whether it is a listed one."""
    tokens, content = seen.tokens, seen.content
    if place >= len(tokens):
        return None, False
    for size in (3, 2, 1):
        if tuple(t.key for t in tokens[place : place + size]) in _gazetteer() and len(tokens) >= place + size:
            last = place + size - 1
            if last + 1 < len(tokens) and capital(tokens[last + 1]) and tokens[last + 1].norm in _PLACE_ENDS and content[tokens[last].end : tokens[last + 1].start] == " ":
                last += 1
            return last, True
    head = tokens[place]
    raised = capital(head) and not seen.shouted
    kind = lexicon.kind(head.key)
    if len(head.key) < 3 and not (raised and head.key in ("el", "st", "la", "mt", "ft")):
        return None, False
    if kind == WORD and not raised:
        return None, False
    if not raised and kind not in (UNKNOWN, FAMILY, GIVEN):
        return None, False
    last = place
    while last - place < 3 and last + 1 < len(tokens) and _SPACE.fullmatch(content, tokens[last].end, tokens[last + 1].start):
        token = tokens[last + 1]
        if raised and capital(token) and len(token.text) > 1:
            last += 1
        elif token.key in _PLACE_ENDS and token.text.islower():
            last += 1
        else:
            break
    if tokens[last].norm in ("school", "high", "middle", "elementary", "academy", "college", "university"):
        return None, False
    return last, False


def _schools(seen: View, before: Sequence[View]) -> Iterator[Span]:
    tokens, content = seen.tokens, seen.content
    ends, types = contexts.words("school_ends"), contexts.words("school_types")
    asked = bool(before) and before[-1].role != seen.role and bool(_asks_school().search(" ".join(t.norm for t in before[-1].tokens[-30:])))
    taken = -1
    for place, token in enumerate(tokens):
        if token.norm in ("escuela", "colegio", "instituto", "liceo", "primaria", "secundaria", "preparatoria", "prepa") and place > taken:
            span, taken = _spanish(seen, place)
            if span:
                yield span
        if token.norm not in ends or place <= taken or not place or (token.norm == "ms" and token.text != "MS"):
            continue
        last = place
        while last + 1 < len(tokens) and tokens[last + 1].norm in types | {"for", "of"} and _SPACE.fullmatch(content, tokens[last].end, tokens[last + 1].start):
            last += 1
        while tokens[last].norm not in ends:
            last -= 1
        first = _school_start(seen, place)
        if first is None or tokens[first].norm in _ONLINE:
            continue
        taken = last
        yield from _school(seen, first, place, last, asked)
    yield from _called_school(seen, asked)
    for match in re.finditer(r"(?<!\w)(?:P\.?S\.?|I\.?S\.?|M\.?S\.?|H\.?S\.?|ps)\s?#?\s?\d{1,3}(?!\w)", content):
        yield Span(*match.span(), "SCHOOL", 0.35 if _inside(seen, match.start()) or match[0][0] in "I" else 0.6, "a numbered school")


def _school_start(seen: View, place: int) -> int | None:
    """The first token of a school's name whose kind of school stands at a token; None if no name goes before."""
    tokens, content, first = seen.tokens, seen.content, place
    raised = capital(tokens[place]) and not seen.shouted
    types = contexts.words("school_types")
    while first and place - first < 6:
        token = tokens[first - 1]
        gap = content[token.end : tokens[first].start]
        if not (_SPACE.fullmatch(gap) or gap in ("'s ", "’s ", "' ", ". ")):
            break
        word = lexicon.kind(token.key) == WORD or token.norm in _NOT_SCHOOLS
        if capital(token) and not seen.shouted and token.norm not in _NOT_SCHOOLS and not (first - 1 in seen.heads and word and token.norm not in types and not raised):
            first -= 1
        elif token.norm in types and not word or (token.norm in types and first < place + 1 and not raised):
            first -= 1
        elif raised and token.norm in ("of", "the", "for", "de", "la", "and") and first > 1 and capital(tokens[first - 2]) and not seen.shouted:
            first -= 1
        elif not raised and not word and token.norm not in ("is", "im"):
            first -= 1
        elif not raised and word and token.norm in _COMPASS | {"saint", "st", "mount", "washington", "lincoln", "creek", "valley", "view", "ridge", "bay"}:
            first -= 1
        else:
            break
    while first < place and (tokens[first].norm in _NOT_SCHOOLS or (first in seen.heads and lexicon.kind(tokens[first].key) == WORD and tokens[first].norm not in _COMPASS | types) or (first in seen.heads and tokens[first].norm in ("at", "in", "from", "my", "the"))):
        first += 1
    if all(tokens[p].norm in types for p in range(first, place)):
        return None
    return first


_ONLINE = frozenset({"khan", "prodigy", "outschool"})
_NOT_SCHOOLS = frozenset(
    "i im my your our his her their the a an this that in at to from of for is was and or but go goes attend old new same whole public private local "
    "after before during all no not what which every each some any other next last first only just like how so too very really is are be by on with "
    "hi hey hello yes ok its it he she we you they u mi tu la el de en una un own left right upper".split()
)


def _school(seen: View, first: int, place: int, last: int, asked: bool) -> Iterator[Span]:
    tokens = seen.tokens
    before = [t.norm for t in tokens[max(0, first - 4) : first]]
    goes = asked or any(tuple(before[-size:]) in _goes() for size in (1, 2, 3, 4))
    raised = capital(tokens[place]) and capital(tokens[first]) and not seen.shouted
    name = [lexicon.kind(tokens[p].key) for p in range(first, place)]
    vague = tokens[place].norm in ("high", "middle", "primary", "intermediate", "secondary", "ms", "hs", "prep", "jr", "school", "grammar", "institute", "magnet", "academy", "college", "elem", "university") and tokens[last].norm == tokens[place].norm
    after = tokens[last + 1].norm if last + 1 < len(tokens) else ""
    if raised:
        score = 0.85
    elif goes and all(kind != WORD for kind in name):
        score = 0.75
    elif all(kind in (GIVEN, FAMILY, BOTH) for kind in name) and (not vague or after in ("", "school", "and", "is", "has", "in", "but", "rn", "so")):
        score = 0.6
    else:
        score = 0.55 if goes else 0.3
    if seen.shouted and not goes:
        score = min(score, 0.55 if all(kind in (GIVEN, FAMILY, BOTH, UNKNOWN) for kind in name) and not vague else 0.35)
    if _inside(seen, tokens[first].start) or (seen.numbers and not seen.personal) or (not seen.personal and not goes and len(seen.content) > 80):
        score = 0.4
    yield Span(tokens[first].start, tokens[last].end, "SCHOOL", score, "a school by its name")


def _spanish(seen: View, place: int) -> tuple[Span | None, int]:
    tokens = seen.tokens
    head = place + 1
    while head < len(tokens) and tokens[head].norm in ("primaria", "secundaria", "preparatoria", "tecnica", "superior", "publica", "nacional", "de", "elemental"):
        head += 1
    last = head
    while last < len(tokens) and last - head < 4 and _SPACE.fullmatch(seen.content, tokens[last - 1].end, tokens[last].start) and ((capital(tokens[last]) and not seen.shouted) or (lexicon.kind(tokens[last].key) in (GIVEN, FAMILY, BOTH)) or (last > head and tokens[last].norm in ("de", "la", "del", "los"))):
        last += 1
    if last == head or seen.tokens[last - 1].norm in ("de", "la", "del", "los"):
        return None, place
    return Span(tokens[place].start, tokens[last - 1].end, "SCHOOL", 0.4 if _inside(seen, tokens[place].start) else 0.75, "a school by its name"), last - 1


@cache
def _asks_school() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{contexts.phrases('school_asks')})\b")


def _called_school(seen: View, asked: bool) -> Iterator[Span]:
    """A school without its kind: "i go to lincoln", or the answer to a question."""
    tokens = seen.tokens
    for place in range(2 if not asked else 0, len(tokens)):
        phrase = tuple(t.norm for t in tokens[max(0, place - 2) : place])
        attends = phrase in (("go", "to"), ("goes", "to"), ("voy", "a")) or phrase[-1:] in (("attend",), ("attends",))
        if not (attends or (asked and place < 6)):
            continue
        token = tokens[place]
        kind = lexicon.kind(token.key)
        if kind in (FAMILY, GIVEN, BOTH, UNKNOWN) and len(token.key) > 3 and (capital(token) or kind != UNKNOWN):
            last = place
            while last - place < 3 and last + 1 < len(tokens) and capital(tokens[last + 1]) and _SPACE.fullmatch(seen.content, tokens[last].end, tokens[last + 1].start):
                last += 1
            score = 0.7 if asked else 0.55 if seen.personal and not seen.numbers and not _inside(seen, token.start) else 0.3
            yield Span(token.start, tokens[last].end, "SCHOOL", score, "where somebody goes to school")
            break
