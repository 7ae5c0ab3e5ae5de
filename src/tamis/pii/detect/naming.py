"""Where a name begins and ends in a message, once something says that there is one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from tamis.pii import lexicon
from tamis.pii.detect.views import OPERATOR, View, capital, soft, words
from tamis.pii.lexicon import BOTH, EPONYM, FAMILY, GIVEN, SURNAME, UNKNOWN, WORD

_JOINT = re.compile(r"[  ]|[-.] ?")
_GAP = re.compile(r"[ -]|['’] ?")
_SPELLED = re.compile(
    r"(?<![\w'’.-])[^\W\d_](?:([ .,–-]|, | - |\.\.\.)[^\W\d_](?![^\W_])(?:\1[^\W\d_](?![^\W_])){1,13})["
    r".]?(?![\w'’])"
)
_INITIALS = re.compile(r"(?<!\w)[A-Z]\.\s?[A-Z]\.?(?:\s?[A-Z]\.?)?(?!\w)|(?<!\w)[A-Z]{2,3}(?!\w)")


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
    if head.key in words("congruences") and "-" in head.text:
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
    if (
        kind == UNKNOWN
        and "-" in head.text
        and any(len(part) > 3 and lexicon.kind(lexicon.folded(part)) == WORD for part in head.text.split("-"))
    ):
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
    if (
        gap in (". ", " ")
        and len(after.key) > 2
        and capital(after)
        and lexicon.kind(after.key) in (GIVEN, FAMILY, UNKNOWN)
    ):
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
        if (
            token.text not in "IAUXY"
            and (rest == "" or rest[0] in ".,!?\n")
            and not OPERATOR.match(content, token.end)
        ):
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
    if token.key in lexicon.listed("particles"):
        after = following + 1
        while after < len(tokens) and tokens[after].key in lexicon.listed("particles"):
            after += 1
        steps = range(following, min(after, len(tokens) - 1))
        if after < len(tokens) and all(_GAP.fullmatch(content, tokens[p].end, tokens[p + 1].start) for p in steps):
            name = lexicon.kind(tokens[after].key)
            if (capital(tokens[after]) and raised) or (
                name in (GIVEN, FAMILY, *((SURNAME,) if strong else ()))
                and token.key not in ("y", "e", "a", "la", "los")
            ):
                return after
    return None


def spelled(seen: View) -> Iterator[tuple[int, int, str, bool]]:
    """Names that are spelled letter by letter: start, end, the letters together, whether the text says so."""
    for match in _SPELLED.finditer(seen.content):
        word = lexicon.folded(match[0])
        steps = {ord(b) - ord(a) for a, b in pairwise(word)}
        if len(word) < 3 or steps == {1} or steps == {0} or word in words("congruences"):
            continue
        said = re.search(
            r"(?i)\b(?:spel\w+|name|letters|deletre\w+|se escribe|initials)\b",
            seen.content[max(0, match.start() - 60) : match.start()],
        )
        yield match.start(), match.end() - (match[0][-1] == "."), word, bool(said)


def initials(seen: View) -> Iterator[tuple[int, int]]:
    """Initials that the text calls so."""
    for match in re.finditer(r"(?i)\binitials\b", seen.content):
        for found in _INITIALS.finditer(seen.content, match.end(), match.end() + 40):
            yield found.start(), found.end()
            break


def together(seen: View, last: int, cue: str, weight: float, real: bool, reason: str) -> Iterator[Candidate]:
    """The names that an "and" or a comma sets beside one."""
    tokens, content = seen.tokens, seen.content
    for _ in range(6):
        head = last + 1
        if (
            head < len(tokens)
            and tokens[head].norm in ("and", "y", "n", "et", "e", "or", "o")
            and soft(content, tokens[last].end, tokens[head].start)
        ):
            head += 1
        elif not (
            head < len(tokens) and content[tokens[last].end : tokens[head].start].strip() in (",", "&", "+", "/")
        ):
            return
        elif tokens[head].norm in ("and", "y"):
            head += 1
        if head >= len(tokens) or (
            lexicon.kind(tokens[head].key) not in (GIVEN, FAMILY)
            and not (capital(tokens[head]) and lexicon.kind(tokens[head].key) == UNKNOWN)
        ):
            return
        end = read_name(seen, head, strong=False)
        if end is None:
            return
        last = end
        yield Candidate(seen.place, head, last, cue + "_together", weight * 0.8, real, reason)
