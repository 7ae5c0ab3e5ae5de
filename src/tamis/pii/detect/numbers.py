"""Phone, identity, social security and card numbers: by shape, checksum and the words around them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tamis.pii import contexts
from tamis.pii.detect.shapes import calculated, digits_of, luhn
from tamis.pii.detect.spoken import digit_words, said
from tamis.pii.spans import Span

_GAP = r"[ \u00a0().\-–—‐‑·•_]{0,3}"
_NUMBERISH = re.compile(rf"(?<![\w])[+(]{{0,2}}\d(?:{_GAP}\d){{6,18}}(?!\w)(?![.,]\d)")
_LOOSE = re.compile(
    r"(?<![\w])[+(]{0,2}\d(?:[^\w\n=+*<>^]{0,5}(?:(?:and|then|dash|hyphen|space|dot|y|um|uh|luego"
    r"|guion)[^\w\n=]{1,3}){0,2}\d){6,14}(?!\w)",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"(?<![\w.$€£])#?[A-Za-z]{0,5}-?\d[\dA-Za-z]{0,19}(?:[- ]\d[\dA-Za-z]{0,11}){0,5}(?![\w%°]|\.\d)"
)
_ID_CONTEXT = re.compile(
    r"(?<!\w)(?:(?:my|your|ur|his|her|our|student|school|lunch|library|zoom|meeting|portal|state"
    r"|district|member|patient|employee|login|badge|test(?:ing)?|mi)\s+(?:id|pin)\b"
    r"|id(?:['’]?s)?\s*(?:is|:|#|=|num(?:ber)?|no\b)|s\.i\.d\b)",
    re.IGNORECASE,
)


_ENTERED = re.compile(
    r"(?<!\w)(?:typed?|put in|put|enter(?:ed)?|join with(?: id)?|looked up|scan(?:ned)?|case"
    r"|lib(?:rary)? card|numbe?r(?: is)?"
    r"|numbr(?: is)?|code(?: is)?|license is|licence is"
    r"|id)\W{1,3}((?:[A-Za-z]{1,4}\d{0,3}-?)?\d(?:[ -]?\d){4,15})(?![\w%°]|[.,]\d)",
    re.IGNORECASE,
)
_ACCOUNT = re.compile(
    r"(?<!\w)(?:id|ids|meeting|portal|account|log ?in|invalid|case|badge|card|license|licence|lunch"
    r"|test number|numbr|looked up"
    r"|barcode|wrong|scann?(?:ed|er)?)(?!\w)",
    re.IGNORECASE,
)
_AS_PROBLEM = re.compile(
    r"\b(?:answer key says|answer key is|simplify|evaluate|compute|calculate|solve|subtract|find"
    r"|work out)(?::| this)?\s\Z|\\\(\s*\Z",
    re.IGNORECASE,
)
_MEANS = re.compile(r"\W{0,2}\s(?:means|is the same as) (?:to )?(?:subtract|minus|times|multiply)", re.IGNORECASE)
_SLASHED = re.compile(r"(?<![\w/.-])[2-9]\d\d/\d{3}-\d{4}(?![\w/-])")


def _groups(text: str) -> tuple[int, ...]:
    return tuple(len(part) for part in re.findall(r"\d+", text))


def find(content: str) -> Iterator[Span]:
    """Numbers that belong to somebody."""
    if sum(map(content.count, "0123456789")) > 2:
        for match in _NUMBERISH.finditer(content):
            span = _classified(content, *match.span())
            if span:
                yield span
        yield from _loose(content)
        yield from _identity(content)
        yield from _entered(content)
        for match in _LETTERED.finditer(content):
            yield Span(
                match.start(),
                match.end(),
                "ID_NUMBER",
                0.2 if calculated(content, *match.span()) else 0.55,
                "a letter and many digits",
            )
    if len(digit_words().findall(content[:20_000])) > 2:
        yield from _spoken(content)


def _near(content: str, start: int, end: int) -> tuple[str, int] | None:
    """The label whose context word stands nearest."""
    found = []
    for label in ("PHONE_NUMBER", "US_SSN", "CREDIT_CARD", "ID_NUMBER"):
        distance = contexts.distance(label, content, start, end)
        if distance is not None:
            found.append((distance, label))
    return (min(found)[1], min(found)[0]) if found else None


def _classified(content: str, start: int, end: int) -> Span | None:
    text = content[start:end]
    if text.count("(") != text.count(")"):
        while text[0] == "(" and ")" not in text:
            start, text = start + 1, text[1:]
    digits, groups = digits_of(text), _groups(text)
    if digits in "01234567890123456789" or (len(set(digits)) == 1 and len(groups) < 3):
        return None
    near = _near(content, start, end)
    label = near[0] if near else None
    worked = calculated(content, start, end) or bool(_MEANS.match(content, end))
    if len(digits) >= 13:
        valid = luhn(digits) and digits[0] in "3456" and len(digits) <= 19
        if valid and not worked:
            return Span(
                start,
                end,
                "CREDIT_CARD",
                0.95 if label == "CREDIT_CARD" or len(groups) > 2 else 0.75,
                "a card number that its check digit confirms",
            )
        if label == "CREDIT_CARD":
            return Span(start, end, "CREDIT_CARD", 0.6, "called a card number")
    if groups == (3, 2, 4):
        marks = set(text) - set("0123456789")
        worked = worked or bool(_AS_PROBLEM.search(content[max(0, start - 24) : start]))
        score = 0.3 if worked else 0.9 if label == "US_SSN" or marks <= {"-", "–", "‐", "‑"} else 0.5
        return Span(start, end, "US_SSN", score, "three, two and four digits")
    if label == "US_SSN" and len(digits) == 9:
        return Span(start, end, "US_SSN", 0.9, "nine digits called a social security number")
    score, reason = _phone(text, digits, groups, label == "PHONE_NUMBER")
    if worked and label != "PHONE_NUMBER":
        score = min(score, 0.2)
    if label in ("ID_NUMBER", "US_SSN", "CREDIT_CARD") and not worked and score < 0.85:
        return None
    return Span(start, end, "PHONE_NUMBER", score, reason) if score else None


def _phone(text: str, digits: str, groups: tuple[int, ...], called: bool) -> tuple[float, str]:
    """How much a number's shape says that it is a phone's."""
    count, marks = len(digits), set(text) - set("0123456789 \u00a0")
    if groups in ((4, 2, 2), (2, 2, 4), (1, 2, 4), (2, 1, 4), (1, 1, 4)) and not called:
        return 0.0, ""
    if text.startswith("+") and 8 <= count <= 15:
        return 0.9, "an international phone number"
    if groups[-3:] == (3, 3, 4) and (len(groups) == 3 or (len(groups) == 4 and groups[0] < 4)):
        return (0.95 if called else 0.85 if marks else 0.65), "a phone number's three groups"
    if groups == (3, 7) and "(" in marks:
        return 0.85, "a phone number with its area code"
    if groups in ((3, 4), (1, 3, 4)) and not (marks - set("-–—‐‑.·•_")):
        sure = re.split(r"\D+", text)[-1][0] == "0" and bool(marks)
        return (0.9 if called else 0.6 if sure else 0.3), "a phone number without its area code"
    if called and 7 <= count <= 13:
        return 0.8, "digits called a phone number"
    if text.startswith("0") and len(groups) > 1 and 9 <= count <= 11 and "." not in marks:
        return 0.65, "a phone number that begins with a zero"
    if groups in ((5, 5), (4, 3, 3), (3, 3, 3)) and count >= 9:
        return 0.35, "groups as of a phone number"
    return (0.2, "ten digits") if count in (10, 11) and len(groups) == 1 else (0.0, "")


def _loose(content: str) -> Iterator[Span]:
    """Phone numbers that are broken up by words or signs, where a context word says what they are."""
    if not contexts.pattern("PHONE_NUMBER").search(content):
        return
    for match in _LOOSE.finditer(content):
        digits = digits_of(match[0])
        if (
            7 <= len(digits) <= 13
            and digits not in "01234567890"
            and contexts.distance("PHONE_NUMBER", content, *match.span()) is not None
            and _near(content, *match.span()) != ("ID_NUMBER", 0)
            and not calculated(content, *match.span())
            and not _list(match[0])
        ):
            yield Span(*match.span(), "PHONE_NUMBER", 0.75, "digits in pieces, called a phone number")


_WEAK = frozenset({"id", "ids", "id is", "library", "insurance"})
"""Context words that need more beside them: `_ID_CONTEXT` says what."""


def _list(text: str) -> bool:
    """Whether digits are a list of numbers, each with its comma."""
    return text.count(", ") > 1 and all(size < 3 for size in _groups(text))


def _identity(content: str) -> Iterator[Span]:
    """Values that words beside them call a number of somebody."""
    places = [(match.start(), match.end()) for match in _ID_CONTEXT.finditer(content)]
    for label in ("ID_NUMBER", "US_SSN"):
        found = contexts.pattern(label).finditer(content)
        places += [match.span() for match in found if label == "US_SSN" or match[0].lower() not in _WEAK]
    for start, end in places:
        value = _VALUE.search(content, end, min(len(content), end + 48))
        if value and not re.search(
            r"[.!?]\s(?!\s*\Z|\s*(?:its|it['’]s|it is|is|here|mine)\b)|\n",
            content[end : value.start()],
            re.IGNORECASE,
        ):
            yield from _called(content, start, value)
            continue
        earlier = list(_VALUE.finditer(content, max(0, start - 44), start))
        if earlier and re.fullmatch(
            r"\W*(?:is|es|was|for|thats|that's|as)?\W*(?:my|the|his|her|our|mi)?\W*(?:\w+\W+)?",
            content[earlier[-1].end() : start],
        ):
            yield from _called(content, start, earlier[-1])


def _called(content: str, start: int, value: re.Match[str]) -> Iterator[Span]:
    digits = digits_of(value[0])
    own = re.search(
        r"(?i)(?<!\w)(?:my|your|ur|his|her|mi|our)\s+(?:\w+\s+){0,2}\Z", content[max(0, start - 30) : start]
    ) or re.match(r"(?i)my|your", content[start:])
    if len(digits) < 4 and not (
        len(digits) == 3 and value[0].strip("#").isdigit() and abs(value.start() - start) < 30 and own
    ):
        return
    if (
        calculated(content, value.start(), value.end())
        and "=" not in content[max(0, value.start() - 2) : value.start()]
    ):
        return
    near = _near(content, value.start(), value.end())
    if near and near[0] == "PHONE_NUMBER" and len(digits) >= 7:
        return
    label = "US_SSN" if near and near[0] == "US_SSN" else "ID_NUMBER"
    yield Span(value.start(), value.end(), label, 0.85 if len(digits) > 3 else 0.6, "called somebody's number")


def _entered(content: str) -> Iterator[Span]:
    """Long numbers that somebody types where an account or a meeting asks for them; phone numbers with a slash."""
    for match in _SLASHED.finditer(content):
        yield Span(*match.span(), "PHONE_NUMBER", 0.7, "a phone number with a slash behind its area code")
    for match in _ENTERED.finditer(content):
        near = content[max(0, match.start() - 30) : match.end() + 40]
        if len(digits_of(match[1])) > 4 and _ACCOUNT.search(near) and not calculated(content, *match.span(1)):
            yield Span(*match.span(1), "ID_NUMBER", 0.6, "typed where an account or a meeting asks for it")


_LETTERED = re.compile(r"(?<![\w.\\$-])[A-Z]{1,3}-?\d{5,9}(?![\w.]\d|\w)")


def _spoken(content: str) -> Iterator[Span]:
    for start, end, digits, words in said(content):
        if words < 2 or digits in "01234567891011121314" or (len(set(digits)) == 1 and len(digits) < 7):
            continue
        near = _near(content, start, end)
        label = near[0] if near else None
        if label in ("ID_NUMBER", "US_SSN", "CREDIT_CARD") and len(digits) >= 3:
            yield Span(start, end, label, 0.8, "digits read out, called somebody's number")
        elif label == "PHONE_NUMBER" and 7 <= len(digits) <= 13:
            yield Span(start, end, "PHONE_NUMBER", 0.9, "digits read out, called a phone number")
        elif len(digits) in (7, 10, 11):
            odd = re.search(r"(?i)\b(?:oh|o|double|triple)\b", content[start:end])
            yield Span(
                start,
                end,
                "PHONE_NUMBER",
                0.7 if odd or len(digits) > 7 else 0.4,
                "as many digits read out as a phone number has",
            )
