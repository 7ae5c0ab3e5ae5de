"""Where somebody lives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from tamis.pii import contexts, lexicon
from tamis.pii.detect import schools
from tamis.pii.detect.views import SPACE, View, capital
from tamis.pii.lexicon import FAMILY, GIVEN, UNKNOWN, WORD
from tamis.pii.spans import Span

_HOUSE = re.compile(r"(?<![\w.$/+*=-])\d{1,5}(?:-\d{1,3}|[A-Za-z](?!\w))?[ \t]{1,3}(?=[^\W_])")
_STEP = re.compile(r"(?:[^\W\d_][\w.'’-]{0,24}|\d{1,3}(?:st|nd|rd|th))(?:[ \t]{1,3}|(?=\W|\Z))", re.IGNORECASE)
_CALLE = re.compile(
    r"(?<!\w)(?:calle|avenida|av\.|carrera|colonia|rua|rue|via|calz\.?|calzada|callejon|callejón"
    r"|paseo|boulevard)\s+(?:[^\W_][\w.'’]{0,24}\s+){0,4}?(?:#|no\.?|n[uú]mero|num\.?)?\s*\d{1,5}[A-Za-"
    r"z]?(?!\w)",
    re.IGNORECASE,
)
_UNIT = re.compile(r",?\s*(?:apt|apartment|unit|suite|ste|#|no|depto|piso)\.?\s*#?\s*\w{1,6}(?!\w)", re.IGNORECASE)
_ZIP = re.compile(r",?\s*\d{5}(?:-\d{4})?(?!\w)")
_ZIP_SAID = re.compile(
    r"(?<!\w)(?:zip|zip ?code|postal code|postcode)\s*(?:is|:|=)?\s*(\d{5}(?:-\d{4})?|[A-Z]\d[A-Z]\s?\d"
    r"[A-Z]\d|[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2})(?!\w)",
    re.IGNORECASE,
)


_ASKS_PLACE = re.compile(
    r"where (?:do|are|r) (?:you|u) (?:live|from|at)|where(?:abouts)? are you(?: located| calling| joining)?\W*\Z"
    r"|donde vives|de donde eres|what (?:city|town|state)|your (?:address|zip)",
    re.IGNORECASE,
)


@cache
def _lives() -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'])(?:{contexts.phrases('lives')})\s+(?:the\s+)?(?=[^\W_])", re.IGNORECASE)


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
    yield from schools.find(seen, before)


def _addresses(seen: View) -> Iterator[Span]:
    content = seen.content
    types, sure = contexts.words("street_types"), contexts.words("street_sure")
    for match in _HOUSE.finditer(content):
        at, capitals, words = match.end(), 0, 0
        while words < 6 and (step := _STEP.match(content, at)):
            word = step[0].strip().rstrip(".,").lower()
            if words and word in types:
                end = at + len(step[0].rstrip().rstrip(","))
                yield from _street(seen, match.start(), end, word in sure, capitals == words)
                break
            if (
                lexicon.kind(lexicon.folded(word)) == WORD
                and word not in contexts.words("street_words")
                and not capital_at(content, at)
            ):
                break
            capitals += content[at].isupper() or content[at].isdigit()
            words += 1
            at = step.end()
    for match in _CALLE.finditer(content):
        yield Span(
            match.start(),
            _onward(content, match.end()),
            "LOCATION",
            0.4 if seen.told(match.start()) else 0.8,
            "a street and its number",
        )
    for match in _ZIP_SAID.finditer(content):
        yield Span(
            *match.span(1),
            "LOCATION",
            0.7 if seen.personal and not seen.told(match.start()) else 0.4,
            "called a postal code",
        )


def capital_at(content: str, at: int) -> bool:
    """Whether a capital or a digit stands at a place."""
    return content[at].isupper() or content[at].isdigit()


def _street(seen: View, start: int, end: int, sure: bool, capitals: bool) -> Iterator[Span]:
    context = contexts.distance("LOCATION", seen.content, start, end, 40, 10) is not None
    score = 0.9 if sure or (capitals and context) else 0.75 if capitals else 0.6 if context else 0.3
    if seen.told(start):
        score = 0.4
    yield Span(start, _onward(seen.content, end), "LOCATION", score, "a house number and a street")


def _onward(content: str, end: int) -> int:
    """The end of an address: with its flat, town, state and postal code."""
    if (
        content[end : end + 1] == "."
        and content[end + 1 : end + 2] in (",", " ")
        and content[end + 1 : end + 3].strip(" ")[:1].islower() is False
        and re.match(r"\.,", content[end:])
    ):
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
        last, listed = _town(seen, place) if place is not None else (None, False)
        if place is None or last is None:
            continue
        score = _how_home(seen, match[0].lower(), place, listed)
        end = _with_state(content, tokens[last].end)
        yield Span(tokens[place].start, end, "LOCATION", score, "says where somebody lives or is")
    if before and before[-1].role != seen.role and _ASKS_PLACE.search(before[-1].content):
        place = 0
        while place < len(tokens) - 1 and lexicon.kind(tokens[place].key) == WORD:
            if (tokens[place].key,) in _gazetteer():
                break
            place += 1
        last, listed = _town(seen, place)
        if last is not None and (listed or capital(tokens[place])):
            end, score = _with_state(content, tokens[last].end), 0.75 if listed else 0.6
            yield Span(tokens[place].start, end, "LOCATION", score, "answers a question about a place")
    yield from _listed_places(seen)
    yield from _with_codes(seen)


_HOME = re.compile(
    r"greetings|good |students|pm in|am in|center in|centre in|office|famil|teach|taught|live|address|viv"
    r"|moved|soy de|from|grew|born|stay|raised|hometown|downtown|visiting|town"
    r"|here in"
)
_OF_HERE = re.compile(
    r"here|over here|greetings|good|shout|students|pm in|am in|near|say|center|centre|office|our|vivo|vivimos"
    r"|soy|somos|famil|weather|snowing|raining|teach|taught"
    r"|logging|joining|calling|tornado|moved|storm|fire|power"
)
_OWN_HOME = re.compile(r"live|viv|from|moved|address|stay")


def _how_home(seen: View, phrase: str, place: int, listed: bool) -> float:
    """How sure it is that a phrase ("i live in") says where somebody is, before the place that a token begins."""
    home, raised = bool(_HOME.search(phrase)), capital(seen.tokens[place]) and not seen.shouted
    spoken_of = seen.personal or bool(_OF_HERE.match(phrase)) or (listed and raised and not seen.numbers)
    if seen.told(seen.tokens[place].start) or not spoken_of or (seen.problem[1] and not home):
        return 0.35
    if not capital(seen.tokens[place]) and not listed and not _OWN_HOME.search(phrase):
        return 0.35
    if phrase.startswith(("im ", "i am ")) and not listed and "from" not in phrase:
        return 0.55 if raised else 0.3
    return 0.85 if home and listed else 0.75 if home else 0.65 if listed else 0.5


def _listed_places(seen: View) -> Iterator[Span]:
    """Known towns and countries that stand behind "in" or "from" in plain chat."""
    tokens = seen.tokens
    own = not seen.numbers and any(token.norm in _PERSONAL for token in tokens)
    for place in range(1, len(tokens)):
        if tokens[place - 1].norm not in ("in", "from", "near", "en", "de", "to", "at", "around"):
            continue
        last, listed = _town(seen, place)
        if last is None or seen.told(tokens[place].start):
            continue
        raised = capital(tokens[place]) and not seen.shouted
        known = listed and (raised or len(tokens[place].key) > 4)
        personal = own and tokens[last].norm == tokens[last].key
        if known or raised:
            score = (0.55 if personal else 0.4) if known else 0.4 if personal else 0.2
            yield Span(
                tokens[place].start,
                _with_state(seen.content, tokens[last].end),
                "LOCATION",
                score,
                "a place in plain chat",
            )


_CITY_STATE = re.compile(
    r"(?<![\w-])([A-Z][a-z]{2,14}(?: [A-Z][a-z]{2,14}){0,2}), ([A-Z]{2})(?=\s*(?:[.,;!?)\n]|\Z| \d{5}| [a-z]))"
)
_ALSO_WORDS = frozenset(["OK", "HI", "ME", "IN", "OR", "OH", "PA", "MA", "AL", "ID", "DE", "LA", "MS", "MD"])
"""Codes of states that are words, titles or Spanish besides: a state only behind "in", "from" or the like."""


def _with_codes(seen: View) -> Iterator[Span]:
    """Towns with the code of their state."""
    for match in _CITY_STATE.finditer(seen.content):
        led = re.search(
            r"\b(?:in|from|near|to|at|of|de|en)\s\Z", seen.content[max(0, match.start() - 6) : match.start()]
        )
        known = tuple(match[1].lower().split()) in _gazetteer()
        if match[2] not in contexts.words("state_codes") or (match[2] in _ALSO_WORDS and not (led or known)):
            continue
        told = seen.told(match.start()) or (seen.numbers and not seen.personal)
        yield Span(*match.span(), "LOCATION", 0.4 if told else 0.65, "a town and the code of its state")


_PERSONAL = frozenset(["i", "im", "my", "me", "we", "our", "us", "mi", "yo", "nuestra", "ill", "ive"])


def _with_state(content: str, end: int) -> int:
    state = re.compile(
        r",?\s+([A-Z]{2})(?!\w)|,\s*([A-Za-z]{2})(?!\w)|,\s*([A-Z][a-z]{3,14}(?: [A-Z][a-z]{3,12})?)(?!\w)"
    ).match(content, end)
    if not state:
        return end
    code = state[1] or state[2]
    if code:
        return state.end() if code.upper() in contexts.words("state_codes") else end
    return state.end() if tuple(state[3].lower().split()) in _gazetteer() else end


_PLACE_ENDS = frozenset(
    [
        "city",
        "beach",
        "springs",
        "falls",
        "heights",
        "park",
        "valley",
        "hills",
        "county",
        "island",
        "village",
        "bay",
        "rapids",
        "forge",
        "grove",
        "creek",
    ]
)


def _town(seen: View, place: int) -> tuple[int | None, bool]:
    """The last token of the place that begins at a token, and whether it is a listed one."""
    tokens, content = seen.tokens, seen.content
    if place >= len(tokens):
        return None, False
    for size in (3, 2, 1):
        if tuple(t.key for t in tokens[place : place + size]) in _gazetteer() and len(tokens) >= place + size:
            last = place + size - 1
            if (
                last + 1 < len(tokens)
                and capital(tokens[last + 1])
                and tokens[last + 1].norm in _PLACE_ENDS
                and content[tokens[last].end : tokens[last + 1].start] == " "
            ):
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
    while (
        last - place < 3
        and last + 1 < len(tokens)
        and SPACE.fullmatch(content, tokens[last].end, tokens[last + 1].start)
    ):
        token = tokens[last + 1]
        if (raised and capital(token) and len(token.text) > 1) or (
            token.key in _PLACE_ENDS and token.text.islower()
        ):
            last += 1
        else:
            break
    if tokens[last].norm in ("school", "high", "middle", "elementary", "academy", "college", "university"):
        return None, False
    return last, False
