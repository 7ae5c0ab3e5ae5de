"""Messages as the search for names sees them: words, sentences, and what tells of a word problem."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from tamis.pii import lexicon
from tamis.pii.lexicon import GIVEN, WORD, Token
from tamis.pii.sessions import Session

NUMBER = re.compile(r"\d")
_BREAK = re.compile(r"[.!?:;\n]+(?=\s|\Z)|\n")
_TEXTESE = re.compile(
    r"(?<=[a-z/] )(?:2 (?=(?:the|u|me|my|class|b|do|it|go|get|school|bed|day)\b)|4 (?=(?:the|u"
    r"|me|this|that|my|it|ur|real|sure)\b))|\b(?:gr8|l8r|b4|2day|2moro|2nite|w8|m8|h8)\b",
    re.IGNORECASE,
)
_SOFT = re.compile(r"[^\w.!?\n]*(?:\.{2,}|…)?[^\w.!?\n]*")
OPERATOR = re.compile(r"\s*[=+*/^<>×÷]")
_LEAST_LONG = 60
SPACE = re.compile(r"[ \u00a0]{1,2}|[-.] ?")


class View(NamedTuple):
    """A message as the search for names sees it.

    Attributes:
        place: Its place in the session.
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

    place: int
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

    def told(self, start: int) -> bool:
        """Whether a place in the text lies in what reads like a word problem."""
        return self.problem[0] <= start < self.problem[1]


@cache
def table() -> dict[str, Any]:
    """What `cues.yaml` holds."""
    return lexicon.data("cues")


@cache
def words(name: str) -> frozenset[str]:
    """One of the word lists of `cues.yaml`."""
    return frozenset(table()[name].split())


@cache
def titles() -> frozenset[str]:
    """What stands before a surname: "ms", "coach" and the like."""
    return frozenset(table()["cues"]["title"]["phrases"]) - {"don"}


@cache
def _asks() -> re.Pattern[str]:
    phrases = "|".join(re.escape(" ".join(phrase.split())) for phrase in table()["asks"].split("|"))
    return re.compile(rf"\b(?:{phrases})\b", re.IGNORECASE)


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
    personal = any(token.norm in words("pronouns") for token in tokens)
    numbers = bool(NUMBER.search(_TEXTESE.sub("", content) if len(content) < 400 else content)) or any(
        token.norm in words("number_words") for token in tokens
    )
    problem, narrated = _problem(content, tokens, breaks, personal, numbers)
    narrated |= _storied(content, tokens)
    return View(
        index, turn, role, content, tokens, shouted, frozenset(heads), problem, narrated, personal, numbers
    )


_STORY = re.compile(
    r"\b(?:problem|question|story|exercise|example|worksheet|textbook|book)\b[^.!?\n]{0,60}?"
    r"\b(?:named|called|about|name is|names are)\s+(?=[^\W\d_])",
    re.IGNORECASE,
)


_IN_STORY = re.compile(
    r" (?:in|from) the (?:word |maths? )?(?:problem|story|question|exercise|example)\b", re.IGNORECASE
)


def _storied(content: str, tokens: list[Token]) -> frozenset[int]:
    """The tokens that a message says are the names of a word problem's people."""
    named = {match.end() for match in _STORY.finditer(content)}
    told = {match.start() for match in _IN_STORY.finditer(content)}
    if not named and not told:
        return frozenset()
    return frozenset(place for place, token in enumerate(tokens) if token.start in named or token.stop in told)


def _problem(
    content: str, tokens: list[Token], breaks: list[int], personal: bool, numbers: bool
) -> tuple[tuple[int, int], frozenset[int]]:
    """Where a message tells of a word problem: from its first sentence that does to its last, and of whom."""
    if len(content) < 12:
        return (0, 0), frozenset()
    asks = [match.start() for match in _asks().finditer(content)] if len(tokens) > 3 else []
    if not numbers and not asks:
        return (0, 0), frozenset()
    verbs = words("narrative")
    firm: set[int] = set()
    loose: set[int] = set()
    for place, token in enumerate(tokens):
        if not capital(token) and lexicon.kind(token.key) != GIVEN:
            continue
        titled = place and tokens[place - 1].norm in titles() and capital(tokens[place - 1])
        if (lexicon.kind(token.key) == WORD and not titled) or len(token.key) < 2:
            continue
        if token.norm != token.key and len(token.norm) == len(token.key) + 1:
            (firm if numbers and not personal else loose).add(place)
            continue
        if place + 1 < len(tokens) and content[token.end : tokens[place + 1].start].isspace():
            after = tokens[place + 1].norm
            then = tokens[place + 2].norm if place + 2 < len(tokens) else ""
            if after in verbs and then not in words("second_person"):
                (loose if after in words("loose_verbs") else firm).add(place)
        if place and tokens[place - 1].norm in words("asking"):
            loose.add(place)
    spots = asks + [tokens[place].start for place in firm]
    if not (
        len(spots) > 1
        or (asks and (firm or loose or (numbers and not personal)))
        or (firm and len(content) > _LEAST_LONG)
    ):
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
            said_to = (
                tokens[place + 1].norm in words("addressing")
                and content[tokens[place + 1].stop : tokens[place + 1].stop + 1] != ","
            )
            return tokens[place].end + 1 if said_to else start
    return start


def soft(content: str, start: int, end: int) -> bool:
    """Whether nothing between two words ends a sentence."""
    return (end - start == 1 and content[start] == " ") or (
        end - start < 12 and _SOFT.fullmatch(content, start, end) is not None
    )


def ends_clause(seen: View, last: int) -> bool:
    """Whether a clause ends behind a token."""
    tokens = seen.tokens
    if last + 1 >= len(tokens):
        rest = seen.content[tokens[last].end :]
        return not OPERATOR.match(rest) and not NUMBER.search(rest[:6])
    gap = seen.content[tokens[last].end : tokens[last + 1].start]
    return (
        any(mark in gap for mark in ",.!?;\n")
        or tokens[last + 1].norm in words("clause_openers")
        or (len(gap.strip()) > 0 and not gap.strip().isalnum() and "'" not in gap and "=" not in gap)
    )
