"""E-mail addresses, private links, handles and network addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from ipaddress import ip_address

from tamis.pii import contexts, lexicon
from tamis.pii.detect.shapes import calculated
from tamis.pii.spans import Span

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+'-]{1,64}@[^\W_](?:[\w-]{0,62}\.){1,5}[^\W\d_][\w-]{1,30}(?<![-_])")
_PLACEHOLDER = re.compile(
    r"\b(?:example|sample|fake|made[- ]up|placeholder|dummy) e?-?mail\b|\b(?:book|worksheet|textbook"
    r"|example)\b[^.!?\n]{0,30}\bis\s\Z",
    re.IGNORECASE,
)
_AT = r"(?:\s*[(\[{<]\s*(?:at|arroba)\s*[)\]}>]\s*|\s+(?:at|arroba)\s+|\s*@\s*)"
_DOT = r"(?:\s*[(\[{<]\s*(?:dot|punto)\s*[)\]}>]\s*|\s+(?:dot|punto)\s+|\s*\.\s*)"
_JOIN = r"\s+(?:dot|punto|underscore|dash|hyphen|guion|guion bajo)\s+"
_ENDS = r"(?:com|org|net|edu|gov|io|us|co|uk|mx|es|ca)"
_OBFUSCATED = re.compile(
    rf"(?<![\w.+@-])((?:[^\W_]\s){{0,24}}[\w.+-]{{1,40}}(?:{_JOIN}[\w+-]{{1,30}}){{0,4}})({_AT})([\w-]{{"
    rf"2,30}}(?:{_DOT}[\w-]{{2,30}}){{0,2}}?)({_DOT})({_ENDS})(?:{_DOT}(?:us|uk|mx))?\b",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"(?:mail|gmail|correo)(?:\s+(?:address|addy))?(?:\s+(?:is|es|its|it's|um|uh)|\s*:)+\s+((?:[^\s@]{1"
    r",30}\s+){1,12}?(?:at|arroba)\s+[^\s@]{2,30}(?:\s+(?:dot|punto)\s+[^\W_]{2,30}){1,3})",
    re.IGNORECASE,
)
_PROVIDER = re.compile(
    r"\b(?:gmail|yahoo|hotmail|outlook|icloud|aol|proton(?:mail)?|live|msn|ymail|googlemail|school|example)\b",
    re.IGNORECASE,
)
_BARE_PROVIDER = re.compile(
    r"(?<![\w.+@-])([\w.+-]{2,40}(?:\s+at\s+|\s*@\s*)(?:gmail|yahoo|hotmail|outlook|icloud|aol"
    r"|protonmail))(?![\w.])",
    re.IGNORECASE,
)
_LINK = re.compile(r"(?<!\w)(?:https?|ftp)://[^\s<>\"`{}|\\^]{3,2000}", re.IGNORECASE)
_SPOKEN_LINK = re.compile(
    rf"(?<!\w)[\w-]{{2,40}}(?:\s+dot\s+[\w-]{{2,30}}){{0,3}}\s+dot\s+{_ENDS}(?:\s+slash\s+[\w-]{{1,40}}(?"
    rf":\s+(?:dash|dot)\s+[\w-]{{1,30}}){{0,4}}){{0,5}}(?!\w)",
    re.IGNORECASE,
)
_HANDLE = re.compile(r"(?<![\w.@/\\])@[^\W\d][\w.-]{1,29}")
_NAME = r"[\w][\w.#-]{2,31}"
_SITE = (
    r"discord|insta(?:gram)?|ig|snap(?:chat)?|gamer\s?tag|user\s?name|user|handle|roblox|tik\s?tok"
    r"|twitter|twitch|steam|psn|xbox|fortnite|minecraft|epic(?:\s?games)?|usuario|screen\s?name"
    r"|ign|log(?:ged|s)?\s?in|sign(?:ed)?\s?in|find me|add me|search me|github|login|reddit|youtube|yt|finsta"
    r"|valorant|riot"
)
_NAMED = re.compile(
    rf"(?<!\w)(?:{_SITE})(?:\s+(?:name|user|username|handle|tag|id|account|acct|tag))?(?P<is>\s*(?:is"
    rf"|es|:|=|->|i'?m|its|it's|as|under)\s*(?:um+\s+|uh+\s+|like\s+)?|\s+)[\"'`“]?(?P<name>{_NAME}(?:\s+"
    rf"(?:underscore|dot|dash)\s+[\w-]{{1,30}}){{0,4}})",
    re.IGNORECASE,
)
_ON_SITE = re.compile(rf"(?<![\w@.])({_NAME})\s+(?:on|en)\s+(?:{_SITE})(?!\w)", re.IGNORECASE)
_ON_ACCOUNT = re.compile(
    rf"(?<!\w)(?:it['’]?s|i['’]?m|i am|user is|account is)\s+({_NAME})\s+on\s+(?:{_SITE}|khan(?: academy)?"
    rf"|kahoot|quizlet|prodigy"
    r"|blooket|scratch|zearn|desmos|ixl|gimkit)(?!\w)",
    re.IGNORECASE,
)
_DOTTED = re.compile(r"(?<![\w.@/\\-])[a-z]{2,16}[._][a-z]{2,16}\d{0,4}(?![\w@(/]|\.\w)")
_PLAYS = re.compile(
    r"(?<!\w)(?:joined|online|offline|first place|lobby|leaderboard|ign|user|username|account|log(?:ged"
    r"|s)? in|password|friend request"
    r"|invited?|add|added|handle|see|from the board)(?!\w)",
    re.IGNORECASE,
)
_STRANGE = re.compile(r"(?<![\w.@/\\$#=^-])(?=[^\W_]{0,30}[\d_])[^\W\d]{3,24}\w{0,24}(?![\w@(/=^]|\.\w|-\w)")
_IPV4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{1,4}(?![\w:])")
_MAC = re.compile(r"(?<![\w:-])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}(?![\w:-])")
_VERSION = re.compile(
    r"(?:\bexercises?|\bproblems?|\bquestions?|\blessons?|\bunit|\bstandard|\bpart|\bno\.|\bv|\bver|\bversion"
    r"|\bsection|\bchapter|\brelease|\bfirmware)\s*\Z",
    re.IGNORECASE,
)


@cache
def _domain() -> re.Pattern[str]:
    ends = "|".join(sorted(contexts.words("top_level") | contexts.words("top_level_words"), key=len, reverse=True))
    return re.compile(
        rf"(?<![\w@.-])(?P<host>(?:www\.)?(?:[^\W_](?:[\w-]{{0,62}})\.){{1,5}}(?P<end>{ends}))(?![\w-]"
        rf"|\.\w)(?P<path>(?::\d{{2,5}})?/[^\s<>\"`]{{0,2000}})?",
        re.IGNORECASE,
    )


def find(content: str) -> Iterator[Span]:
    """What points to somebody on the net."""
    lower = content.lower()
    if "@" in content:
        for match in _EMAIL.finditer(content):
            score = 0.4 if _PLACEHOLDER.search(content[max(0, match.start() - 60) : match.start()]) else 0.99
            yield Span(match.start(), match.end(), "EMAIL_ADDRESS", score, "the form of an e-mail address")
        yield from _handles(content)
    if (
        "@" in content
        or "dot" in lower
        or "arroba" in lower
        or "punto" in lower
        or "mail" in lower
        or "(at)" in lower
        or "[at]" in lower
    ):
        yield from _obfuscated(content)
    if "." in content:
        yield from _links(content)
        yield from _ipv4(content)
    if " dot " in lower:
        for match in _SPOKEN_LINK.finditer(content):
            if " slash " in match[0].lower() or contexts.distance("URL", content, *match.span()) is not None:
                yield Span(match.start(), match.end(), "URL", 0.6, "a link read out")
    if ":" in content or "-" in content:
        yield from _ipv6(content)
    yield from _named(content)
    yield from _accounts(content)
    if any(map(str.isdigit, content)) or "_" in content:
        yield from _strange(content)


def _obfuscated(content: str) -> Iterator[Span]:
    mail = contexts.distance("EMAIL_ADDRESS", content, 0, len(content), 0, 0) is not None or contexts.pattern(
        "EMAIL_ADDRESS"
    ).search(content)
    for match in _OBFUSCATED.finditer(content):
        plain = "@" in match[2]
        literal = match[4].strip() == "."
        if plain and literal and not any(space in match[0] for space in " \t"):
            continue
        if not (mail or _PROVIDER.search(match[3]) or plain or "(" in match[2] or "[" in match[2]):
            continue
        if contexts.is_public(f"{match[3]}.{match[5]}") and not mail:
            continue
        start = match.start(1)
        if match[2].strip() in ("at", "arroba"):
            start = _widened(content, start)
        yield Span(start, match.end(), "EMAIL_ADDRESS", 0.85, "an e-mail address in words")
    for match in _TOLD.finditer(content):
        yield Span(match.start(1), match.end(1), "EMAIL_ADDRESS", 0.85, "an e-mail address read out")
    for match in _BARE_PROVIDER.finditer(content):
        if mail or "@" in match[1]:
            yield Span(match.start(1), match.end(1), "EMAIL_ADDRESS", 0.7, "an e-mail address without its ending")


def _widened(content: str, start: int) -> int:
    """Where the name before a spoken "at" begins: up to three words that are no common words."""
    for _ in range(3):
        before = re.search(r"(?<!\S)([^\W_]{2,20}) \Z", content[max(0, start - 24) : start])
        if not before or lexicon.kind(lexicon.folded(before[1])) == lexicon.WORD:
            break
        start -= len(before[0])
    return start


def _links(content: str) -> Iterator[Span]:
    for match in _LINK.finditer(content):
        end = match.start() + len(_trimmed(match[0]))
        private = not contexts.is_public(match[0])
        yield Span(match.start(), end, "URL", 0.95 if private else 0.3, "a link" if private else "a public site")
    for match in _domain().finditer(content):
        host, ending, path = match["host"], match["end"], match["path"] or ""
        if ending != ending.lower() and host != host.upper():
            continue
        if (
            content[max(0, match.start() - 3) : match.start()] == "://"
            or content[match.start() - 1 : match.start()] == "/"
        ):
            continue
        www = host.lower().startswith("www.")
        if not path and not www and (ending in contexts.words("top_level_words") or host.split(".")[0].isdigit()):
            continue
        end = match.start() + len(_trimmed(host + path))
        whole = content[match.start() : end]
        if contexts.is_public(whole):
            yield Span(match.start(), end, "URL", 0.3, "a public site")
            continue
        context = contexts.distance("URL", content, match.start(), end, 40, 20) is not None
        score = 0.9 if len(path) > 1 else 0.75 if www or context else 0.45
        yield Span(match.start(), end, "URL", score, "a link without its scheme")


def _trimmed(link: str) -> str:
    """A link without the marks of the sentence around it."""
    while link and (link[-1] in ".,;:!?'’\"*]" or (link[-1] == ")" and "(" not in link)):
        link = link[:-1]
    return link


def _handles(content: str) -> Iterator[Span]:
    for match in _HANDLE.finditer(content):
        text = match[0].rstrip(".-")
        if len(text) < 3 or content[match.end() : match.end() + 1] == "@":
            continue
        word = text[1:].isalpha() and lexicon.kind(lexicon.folded(text[1:])) == lexicon.WORD
        yield Span(match.start(), match.start() + len(text), "USERNAME", 0.3 if word else 0.85, "a handle")


def _named(content: str) -> Iterator[Span]:
    for match in _NAMED.finditer(content):
        name = match["name"].rstrip(".-")
        said = bool(match["is"].strip())
        start = match.start("name")
        if not any(map(str.isalpha, name)) or calculated(content, start, start + len(name)):
            continue
        if _odd(name) or (
            said and not any(lexicon.kind(lexicon.folded(part)) == lexicon.WORD for part in name.split())
        ):
            yield Span(
                start, start + len(name), "USERNAME", 0.85 if said else 0.65, "follows the name of a site or game"
            )
    for match in _ON_SITE.finditer(content):
        if _odd(match[1]):
            yield Span(match.start(1), match.end(1), "USERNAME", 0.75, "a name on a site or in a game")


def _accounts(content: str) -> Iterator[Span]:
    """What somebody is called on a site, and two words with a dot where an account is spoken of."""
    for match in _ON_ACCOUNT.finditer(content):
        if lexicon.kind(lexicon.folded(match[1])) != lexicon.WORD:
            yield Span(*match.span(1), "USERNAME", 0.6, "a name on a site")
    for match in _DOTTED.finditer(content):
        parts = re.split(r"[._]", match[0].rstrip("0123456789"))
        words = [lexicon.kind(part) == lexicon.WORD for part in parts]
        if parts[1] in contexts.words("top_level") or all(words):
            continue
        if _PLAYS.search(
            content[max(0, match.start() - 40) : match.start()] + " " + content[match.end() : match.end() + 40]
        ):
            yield Span(*match.span(), "USERNAME", 0.6, "two words with a dot where an account is spoken of")


def _strange(content: str) -> Iterator[Span]:
    """Words with digits or underscores inside, as user names have and neither prose nor formulas."""
    for match in _STRANGE.finditer(content):
        parts = [part for part in re.split(r"[\d_]+", match[0]) if part]
        digits = sum(map(str.isdigit, match[0]))
        if sum(map(len, parts)) < 4 or (digits < 2 and "_" not in match[0]) or (digits and not parts):
            continue
        if all(lexicon.kind(lexicon.folded(part)) == lexicon.WORD for part in parts):
            continue
        yield Span(match.start(), match.end(), "USERNAME", 0.6, "a word with digits, as user names have")


def _odd(name: str) -> bool:
    """Whether a word has what user names have and words have not."""
    letters = any(letter.isalpha() for letter in name)
    inner = name[1:]
    mixed = inner != inner.lower() and inner != inner.upper()
    return letters and (
        any(c.isdigit() or c in "_#" for c in name) or "." in name.strip(".") or mixed or " underscore " in name
    )


def _ipv4(content: str) -> Iterator[Span]:
    for match in _IPV4.finditer(content):
        if any(int(part) > 255 or (len(part) > 1 and part[0] == "0") for part in match[0].split(".")):
            continue
        version = _VERSION.search(content[max(0, match.start() - 14) : match.start()]) or re.match(
            r"(?i)\W*(?:the\s|is\s)?(?:version|release)", content[match.end() : match.end() + 18]
        )
        context = contexts.distance("IP_ADDRESS", content, *match.span()) is not None
        yield Span(
            match.start(),
            match.end(),
            "IP_ADDRESS",
            0.2 if version else 0.95 if context else 0.8,
            "four parts of an IP address",
        )


def _ipv6(content: str) -> Iterator[Span]:
    for match in _IPV6.finditer(content):
        try:
            ip_address(match[0])
        except ValueError:
            continue
        if len(match[0]) > 7 or any(c.isalpha() for c in match[0]):
            yield Span(match.start(), match.end(), "IP_ADDRESS", 0.85, "the form of an IPv6 address")
    for match in _MAC.finditer(content):
        yield Span(match.start(), match.end(), "IP_ADDRESS", 0.8, "the form of a network card's address")
