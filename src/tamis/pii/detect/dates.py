"""Birth dates and ages, by the words around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from tamis.pii import contexts
from tamis.pii.detect.shapes import calculated
from tamis.pii.detect.views import View, table
from tamis.pii.spans import Span

_ONES = "one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SPANISH = (
    "cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis dieciséis diecisiete di"
    "eciocho diecinueve veinte"
)
_COUNT = (
    rf"(?:(?:{'|'.join(_TENS.split())})(?:[ -](?:{'|'.join(_ONES.split())}))?"
    rf"|{'|'.join(reversed((_ONES + ' ' + _TEENS + ' ' + _SPANISH).split()))}|\d{{1,2}})"
)
_ORDINAL = (
    r"(?:twenty[ -]|thirty[ -])?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)"
    r"|tenth|eleventh|twelfth|thirteenth|fourteenth"
    r"|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|thirtieth"
)
_YEAR_WORDS = (
    rf"(?:two thousand|twenty|nineteen)(?:[ -](?:and|oh|o|{'|'.join((_ONES + ' ' + _TEENS + ' ' + _TENS).split())}"
    rf")){{1,3}}"
)
_YEAR = rf"(?:\d{{4}}|['’]\d\d|\d\d(?!\d|:)|{_YEAR_WORDS})"
_FILL = (
    r"(?:(?:like|almost|about|only|just|now|um+|uh+|er|actually|gonna be|going to be|is|already"
    r"|still|really|ya|casi|apenas|solo|officially|also|only like|be|technically)[\s,]+){0,4}"
)
_OLD = r"\s*-?\s*(?:years?|yrs?|yr|años|anos)(?:[\s-]*(?:olds?|young))?(?!\w)|\s*(?:y/o|yo|y\.o\.?)(?!\w)"
_I_AM = re.compile(
    rf"(?<![\w'’])(?P<who>i\s?['’]?m|i am|im|i['’]?ve been|i just turned|i turned|i turn|i have turned"
    rf"|i am turning|i['’]?m turning|im turning|i['’]?ll be|ill be|i will be|imma be|i was|(?:y "
    rf"|and )?tengo|cumpl[ií]|cumplo|voy a cumplir|acabo de cumplir|my age is|my age|turning|me being"
    rf"|mi edad es)[\s,:]+{_FILL}(?P<n>{_COUNT})(?![\w.:/]\d|\w|\s*[-+*/=^×÷%°$]|,\d)(?P<old>{_OLD})?",
    re.IGNORECASE,
)
_NO_AGE = re.compile(
    r"\s*[-]?\s*(?:(?:years?|yrs?)\s+(?:\w+\s+)?(?:older|younger|ago|into|of|away|behind|ahead"
    r"|in|from|since|later)|older|younger|problems?|questions?|minutes?|mins?|hours?|hrs?|pages?"
    r"|points?|pts|percent|%|dollars?|miles?|off|away|behind|times|out of|of|more|less|short|steps?"
    r"|feet|ft|inches|days?|weeks?|months?|over|under|apples|plus|minus|x\b|st\b|nd\b|rd\b|th\b)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"\s*(?:\Z|[.,!?;:)\n—–]|[^\w\s'’\-+*/=^<>×÷%$(]|(?:and|but|so|lol|btw|in|now|y|n|rn|today"
    r"|tomorrow|this|next|haha|from|not|bro|on|tmr|soon|already|cuz|because|though|tho|too|if|or"
    r"|at|fr|years|pero|en|hoy|this|like|um|uh|yeah|ok|also|i|and)\b)",
    re.IGNORECASE,
)
_OLD_ANYWHERE = re.compile(rf"(?<![\w.$/])(?P<n>{_COUNT})(?:{_OLD})", re.IGNORECASE)
_AGE_WORD = re.compile(
    rf"(?<!\w)(?:age|aged|edad)\s*(?:is|es|:|=|of|de)?\s*(?P<n>{_COUNT})(?!\w|[./]\d)", re.IGNORECASE
)
_AT_AGE = re.compile(
    rf"(?<!\w)(?:at|being|since you(?:['’]re| are)|you(?:['’]re| are|r)|u r|ur)\s+(?:only\s+|just\s+)?(?"
    rf"P<n>{_COUNT})(?=\s*(?:,|you|and|u\b|that|\Z|[.!?]))",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"(?<!\w)(?:i|im|i['’]m|my|me|mi|soy|tengo|we|our|as a|here)(?!\w)", re.IGNORECASE)
_COMPARED = re.compile(r"\s*(?:older|younger|ago|from|away|later|of|in)\b", re.IGNORECASE)
_OWN = re.compile(
    r"(?<!\w)(?:(?:i|im|i['’]m|i am|my|mi|soy|tengo|es mi)(?!\w)[^.!?\d=]{0,30}|as an?\s+)\Z", re.IGNORECASE
)
_ASKS_AGE = re.compile(
    r"(?<!\w)(?:how old (?:are|r) (?:you|u)|how old (?:is|are) your|(?:your|ur) age|what age|cu[aá]ntos"
    r" a[nñ]os (?:tienes|tiene)|how old is (?:he|she))(?!\w)",
    re.IGNORECASE,
)
_ASKS_BIRTH = re.compile(
    r"(?<!\w)(?:when(?:['’]?s| is) (?:your|ur) (?:birthday|bday)|date of birth|(?:your|ur) (?:birthday"
    r"|bday|dob|birth ?date)|when were you born|cu[aá]ndo (?:naciste|es tu cumplea[nñ]os|cumples))(?!\w"
    r")",
    re.IGNORECASE,
)
_BIRTH_WORD = re.compile(
    r"(?<!\w)(?:birth\s?day|bday|b-day|dob|d\.o\.b|date of birth|birth\s?date|you born|cumplea[nñ]os"
    r"|naciste)(?!\w)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\?|(?<!\w)(?:what|when|confirm|verify|enter|type|give|need|tell|whats|your|ur)(?!\w)", re.IGNORECASE
)
_YOURS = re.compile(r"(?<!\w)(?:your|ur|his|her|their)(?!\w)", re.IGNORECASE)
_BORN_FIRST = re.compile(
    r"(?:\A|[.,!?:;\n]\s*)(?:born|b-day|bday|dob|birthday|cumple)(?: on| is|:)?\s*\Z", re.IGNORECASE
)
_BABY = re.compile(r"\s+(?:baby|kid|birthday|bday)\b", re.IGNORECASE)
_SAID_AGES = (
    rf"(?<![\w./])(?P<n>{_COUNT}) is (?:[a-z]+ ){{0,2}}(?:a|an) (?:[a-z]+ )?age\b",
    rf"\b(?:i['’]?m|i am|name is|me llamo"
    rf"|soy)\s+[^\W\d_]{{2,20}}(?: [^\W\d_]{{2,20}})?,\s*(?:and\s+)?(?:i['’]?m\s+)?"
    rf"(?P<n>{_COUNT})(?=\s*(?:[,.!]|and\b|y\b|\Z))",
    rf"\bat (?P<n>{_COUNT}),? i (?:could|was|had|did|still|moved|started|knew|hated|loved|thought|began"
    rf"|wanted|learned)",
    rf"\b(?:when|since) i was (?P<n>{_COUNT})(?=\s+(?:i\b|my\b|we\b)|\s*(?:[,.!?]|\Z))",
    rf"\bi['’]?m (?P<n>{_COUNT}),? (?:and (?:still|already|i\b|in|a\b)|i learned|i taught|been teaching)",
    rf"\bis only (?P<n>{_COUNT})(?=\s+(?:how|and|but|so|he|she|lol)\b|\s*(?:[,.!?]|\Z))",
    rf"\byou(?:['’]?re| are) (?:only |just |already )?(?P<n>{_COUNT}) and (?:you|already|still|doing|so|in)\b",
)
_SAID_AGE = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _SAID_AGES)
_MAY_SAY_AGE = re.compile(
    r" (?:age|are|at|was|only|i['’]?m)\b|\b(?:at|i['’]?m|i am|soy|llamo|you['’]re|my|our|name is)\s", re.IGNORECASE
)
_CHILDREN = re.compile(
    rf"\b(?:my|our) (?:kids|children|sons|daughters|sisters|brothers|siblings|twin|cousins|students"
    rf"|twin and i|brother and i|sister and i)"
    rf" are (?P<n>{_COUNT})(?: and (?P<m>{_COUNT}))?(?=\s*(?:[,.!?]|\Z|years|now\b|and\b))",
    re.IGNORECASE,
)
_FIRST_COUNT = re.compile(rf"(?<![\w./])(?P<n>{_COUNT})(?![\w/]|[.:]\d|\s*[-+*/=^×÷%])", re.IGNORECASE)


@cache
def _kin_age() -> re.Pattern[str]:
    kin = "|".join(sorted(table()["kin"].split(), key=len, reverse=True))
    return re.compile(
        rf"(?<!\w)(?:my|mi|our)\s+(?:[^\W\d_]+\s+){{0,2}}(?:{kin})(?:\s+(?!is\b|was\b|turn)[^\W\d_]+){{0,2}}?"
        rf"(?:\s+(?:is|es|was|turned|turns|is turning|tiene|cumple|will be|who is|whos|who's)|['’]s)\s+{_FILL}"
        rf"(?P<n>{_COUNT})(?!\w|[./:]\d|\s*[-+*/=^×÷%])",
        re.IGNORECASE,
    )


_PRONOUN_AGE = re.compile(
    rf"(?<!\w)(?:he|she|they|y|and|whos|who)(?:\s?['’]?(?:s|re)|\s+is|\s+are|\s+tiene|\s+just turned"
    rf"|\s+turned)\s+{_FILL}(?P<n>{_COUNT})(?!\w|[./:]\d|\s*[-+*/=^×÷%])(?P<old>{_OLD})?",
    re.IGNORECASE,
)


@cache
def _kin() -> re.Pattern[str]:
    kin = "|".join(sorted(table()["kin"].split(), key=len, reverse=True))
    return re.compile(
        rf"(?<!\w)(?:my|mi|our)\s+(?:[^\W\d_]+\s+){{0,2}}(?:{kin}"
        rf")(?!\w)",
        re.IGNORECASE,
    )


@cache
def _date() -> re.Pattern[str]:
    months = "|".join(sorted(contexts.words("months"), key=len, reverse=True))
    day = rf"(?:(?:the\s+)?(?:{_ORDINAL})|\d{{1,2}}(?:st|nd|rd|th)?)"
    return re.compile(
        rf"(?<![\w/.])(?:(?:{months})\.?\s+(?:the\s+)?{day}(?!\w)(?:(?:,|\s+of|\s+in)?\s*{_YEAR}(?!\w))?"
        rf"|(?:the\s+)?{day}\s+(?:of\s+|de\s+)?(?:{months})\.?(?!\w)(?:(?:,|\s+of|\s+in"
        rf"|\s+del?)?\s*{_YEAR}(?!\w))?"
        rf"|\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}\s?[-/.]\s?\d{{1,2}}\s?[-/.]\s?(?:\d{{4}}|\d{{2}})"
        rf"|\d{{1,2}}[/-]\d{{1,2}}"
        rf"|(?:{months})\.?\s+(?:of\s+)?(?:19|20)\d{{2}}|(?:19|20)\d{{2}}|{_YEAR_WORDS})(?!\w|/\d)",
        re.IGNORECASE,
    )


def find(views: Sequence[View], place: int) -> Iterator[Span]:
    """The birth dates and ages of a message."""
    seen = views[place]
    asked = next((v.content for v in reversed(views[max(0, place - 2) : place]) if v.role != seen.role), "")
    yield from _births(seen, asked)
    yield from _ages(seen, asked)


def _births(seen: View, asked: str) -> Iterator[Span]:
    content = seen.content
    called = contexts.pattern("DATE_OF_BIRTH")
    replied = bool(_ASKS_BIRTH.search(asked) or (_BIRTH_WORD.search(asked) and _REQUEST.search(asked)))
    if not replied and not called.search(content) and " baby" not in content.lower():
        return
    first_person, yours = bool(_FIRST_PERSON.search(content)), bool(_YOURS.search(content))
    for match in _date().finditer(content):
        start, end = match.span()
        before = list(called.finditer(content, max(0, start - 60), start))
        after = list(called.finditer(content, end, min(len(content), end + 36)))
        baby = bool(_BABY.match(content, end)) and first_person
        if not before and not after and not baby and not (replied and start < 40):
            continue
        word = before[-1] if before else after[0] if after else None
        weak = word is not None and word[0].lower() in ("turn", "birth")
        bare = match[0].isdigit()
        if bare and not (
            (word and "born" in word[0].lower())
            or (word and word[0].lower().startswith(("nac", "birth", "dob", "date")))
            or replied
        ):
            continue
        if calculated(content, start, end):
            continue
        lead = content[max(0, start - 24) : start]
        alone = not seen.problem[1] and bool(
            re.search(r"[^\W\d_]{3}|\d[/.-]\d", match[0]) and _BORN_FIRST.search(lead)
        )
        own = (
            first_person
            or alone
            or (not seen.problem[1] and yours)
            or (word and word[0].lower() not in ("born", "turn", "birth", "birthday"))
        )
        score = 0.85 if own or replied else 0.45
        if seen.told(start) and not (
            word
            and start - word.end() < 12
            and _FIRST_PERSON.search(content[max(0, word.start() - 20) : word.start()])
        ):
            score = 0.35
        if weak and not re.search(r"(?i)\bi(?:'ll)? turn|my birth", content):
            score = 0.35
        yield Span(start, end, "DATE_OF_BIRTH", score, "a date that is called a birthday")


def _ages(seen: View, asked: str) -> Iterator[Span]:
    content = seen.content
    yield from _own_ages(seen)
    yield from _kin_ages(seen)
    for pattern in (_OLD_ANYWHERE, _AGE_WORD):
        for match in pattern.finditer(content):
            yield from _years(seen, match, pattern is _AGE_WORD)
    for match in _AT_AGE.finditer(content):
        to_you = re.match(r"\s*,?\s*(?:you|u)\b", content[match.end() : match.end() + 8])
        young = to_you and _YOUNGEST <= _number(match["n"]) <= _OLDEST and seen.role != "student"
        score = 0.55 if young and not seen.told(match.start()) else 0.3
        yield Span(*match.span("n"), "AGE", score, "tells somebody their age")
    if len(content) < 60 and len(asked) < 90 and _ASKS_AGE.search(asked):
        answer = _FIRST_COUNT.search(content)
        if answer:
            yield Span(*answer.span("n"), "AGE", 0.85, "answers a question about age")
    yield from _said_ages(seen)


def _said_ages(seen: View) -> Iterator[Span]:
    """Ages that are told in passing, and those of children."""
    content = seen.content
    if not _MAY_SAY_AGE.search(content):
        return
    for match in _CHILDREN.finditer(content):
        for group in ("n", "m") if match["m"] else ("n",):
            yield Span(
                *match.span(group), "AGE", 0.35 if seen.told(match.start()) else 0.65, "the ages of relatives"
            )
    for pattern in _SAID_AGE:
        for match in pattern.finditer(content):
            yield Span(*match.span("n"), "AGE", 0.35 if seen.told(match.start()) else 0.65, "tells an age")


_YOUNGEST, _OLDEST = 5, 20
"""A number alone after "I am" is an age between these: who is tutored is of school age."""


def _own_ages(seen: View) -> Iterator[Span]:
    """Ages that people say of themselves."""
    content = seen.content
    for match in _I_AM.finditer(content):
        start, end = match.span("n")
        old = bool(match["old"])
        if not old and re.search(
            r"(?i)\b(?:if|let|suppose|say|assume|when)\s+\Z", content[max(0, start - 24) : match.start()]
        ):
            continue
        rest = content[match.end() : match.end() + 12]
        if _NO_AGE.match(content, end) and not (old and not _COMPARED.match(rest)):
            continue
        who = match["who"].lower()
        if seen.told(start):
            score = 0.45 if old else 0.4
        elif old:
            score = 0.9
        elif who in ("tengo", "me being", "i was", "i've been", "ive been") or not _CLAUSE.match(content, end):
            score = 0.35
        else:
            plain = _YOUNGEST <= _number(match["n"]) <= _OLDEST
            score = 0.75 if plain or re.search("turn|cumpl|age|edad", who) else 0.35
        yield Span(start, end, "AGE", score, "says how old somebody is")


def _kin_ages(seen: View) -> Iterator[Span]:
    """Ages of relatives and friends."""
    content, reason = seen.content, "the age of somebody's relative or friend"
    for match in _kin_age().finditer(content):
        if not _NO_AGE.match(content, match.end("n")):
            yield Span(*match.span("n"), "AGE", 0.4 if seen.told(match.start()) else 0.75, reason)
    kin = _kin().search(content)
    for match in _PRONOUN_AGE.finditer(content, kin.end()) if kin else ():
        ends = match["old"] or _CLAUSE.match(content, match.end("n"))
        if ends and not _NO_AGE.match(content, match.end("n")):
            yield Span(*match.span("n"), "AGE", 0.35 if seen.told(match.start()) else 0.65, reason)


def _years(seen: View, match: re.Match[str], called: bool) -> Iterator[Span]:
    """A number of years, if nothing makes it a part of a sum or of a comparison."""
    content, (start, end) = seen.content, match.span("n")
    if _COMPARED.match(content[match.end() : match.end() + 12]) or (called and _NO_AGE.match(content, end)):
        return
    if re.search(r"(?i)\bmy (?:dog|cat|pet|car|house|tree|horse)\b", content[max(0, start - 40) : start]):
        return
    if re.search(r"(?i)\b(?:if|let|suppose|then)\b", content[max(0, start - 60) : start]):
        return
    if calculated(content, start, start) or re.search(r"[-+*/=]\s*\Z", content[max(0, start - 4) : start]):
        return
    olds = called or "old" in match[0].lower() or "y" in match[0][-3:].lower()
    here = re.match(r"(?i)\s*here\b", content[match.end() : match.end() + 6])
    own = here or _OWN.search(content[max(0, start - 40) : start])
    score = 0.75 if own and olds and not seen.problem[1] else 0.4
    yield Span(start, end, "AGE", score, "a number of years that somebody is old")


def _number(text: str) -> int:
    """What a count in digits or words comes to; words in Spanish count as ten."""
    if text.isdigit():
        return int(text)
    parts = re.split(r"[ -]", text.lower())
    units, teens, tens = _ONES.split(), _TEENS.split(), _TENS.split()
    total = 0
    for part in parts:
        total += (
            units.index(part) + 1
            if part in units
            else teens.index(part) + 10
            if part in teens
            else (tens.index(part) + 2) * 10
            if part in tens
            else 10
        )
    return total
