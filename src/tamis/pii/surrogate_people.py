"""Names for names: each word of a name has one stand-in in its session, so that all forms of a name agree."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib import import_module

from tamis.errors import missing_extra
from tamis.pii.keyed import Draw
from tamis.pii.surrogate_dates import cased
from tamis.pii.surrogate_words import LATIN, locale_of
from tamis.pii.surrogate_words import words as words_of

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SPELLED = re.compile(r"[^\W\d_](?:[-.\s·*_]{1,2}[^\W\d_]){2,}\.?")
_ATTEMPTS = 2000
_STRICT = 1000  # attempts in which the first letter has to be free too


@cache
def names(locale: str, kind: str) -> tuple[str, ...]:
    """Faker's names of one kind (`female`, `male`, `last`), sorted: single words only."""
    try:
        provider = import_module(f"faker.providers.person.{locale}").Provider
    except ImportError as error:
        raise missing_extra("pii", error) from error
    kinds = {"female": ("first_names_female",), "male": ("first_names_male",), "last": ("last_names",)}[kind]
    found = next((getattr(provider, name) for name in (*kinds, "first_names") if hasattr(provider, name)), ())
    words = {name for name in found if re.fullmatch(r"[^\W\d_]+", name) and len(name) > (locale == LATIN) * 2}
    return tuple(sorted(words))


@cache
def _listed(kind: str) -> frozenset[str]:
    return frozenset(plain(name) for name in names(LATIN, kind))


def plain(word: str) -> str:
    """A word as it is compared: lower case, no accents, no possessive, letters only."""
    word = re.sub(r"['’]s?$", "", word.casefold())
    return "".join(c for c in unicodedata.normalize("NFKD", word) if c.isalpha())


class People:
    """The people of one session.

    Args:
        draw: Draws under the session's key.
        avoid: Words that stand in the session, as `plain` gives them: no stand-in is one of them.
    """

    def __init__(self, draw: Draw, avoid: Iterable[str] = ()) -> None:
        self._draw = draw
        self._avoid = set(avoid)
        self._made: dict[str, str] = {}
        self._met: dict[str, str] = {}
        self._taken: set[str] = set()
        self._families: set[str] = set()
        self._initials: set[str] = set()

    def meet(self, persons: Iterable[str]) -> None:
        """Learns the names of a session before any is replaced: what is a family name, and which form is usual."""
        counts: Counter[str] = Counter()
        for text in persons:
            words = [plain(word) for word in _words(text)]
            longer = [word for word in words if len(word) > 1]
            self._families |= {*longer[1:]}
            self._initials |= {word for word in words if len(word) == 1}
            counts.update(longer)
        self._avoid |= {*counts}
        for word in sorted(counts, key=lambda word: (-counts[word], word)):
            self.word(word)
        self._met = {**self._made}

    def replaced(self, text: str) -> str:
        """A name with a stand-in for each of its words; titles, spaces, casing and possessives stay."""
        if _SPELLED.fullmatch(text):
            return self._spelled(text)
        words = _words(text)

        def stand_in(found: re.Match[str]) -> str:
            word = found[0]
            core = re.sub(r"['’][sS]?$", "", word)
            if plain(core) not in {plain(other) for other in words}:
                return word
            return cased(self.word(core), core) + word[len(core) :]

        made = WORD.sub(stand_in, text)
        made = re.sub(r"\d", lambda found: str(self._draw.below(10, "digit", plain(text), found.start())), made)
        return made if made != text else self.word(text)

    def word(self, word: str) -> str:
        """The stand-in for one word of a name, cased as a name is."""
        key = plain(word) or word
        if len(key) == 1 and key.isascii():
            return self._initial(key)
        key = key if key in self._made else self._near(key) or key
        if key not in self._made:
            self._made[key] = self._new(key)
        return self._made[key]

    def _initial(self, letter: str) -> str:
        whole = [made for word, made in self._met.items() if word[0] == letter and plain(made[0]) != letter]
        if whole and plain(whole[0][0]) not in self._initials:
            return plain(whole[0][0]).upper()
        free = [c for c in "ABCDEFGHIJKLMNOPRSTVWZ" if c.lower() not in (letter, *self._initials)]
        return self._draw.of(free or ["Q"], "initial", letter)

    def _spelled(self, text: str) -> str:
        letters = re.findall(r"[^\W\d_]", text)
        gap = re.search(r"[^\w]+|_+", text)
        made = cased(self.word("".join(letters)), "".join(letters))
        return (gap[0] if gap else "-").join(made) + ("." if text.endswith(".") else "")

    def _near(self, key: str) -> str | None:
        """The word that this one is a misspelling of; two names that are both listed are two names."""
        from rapidfuzz.distance import OSA

        def is_near(other: str) -> bool:
            if min(len(key), len(other)) < 4 or (is_listed and other in known):
                return False
            return OSA.distance(key, other) <= (1 if min(len(key), len(other)) < 8 else 2)

        known = _listed("female") | _listed("male") | _listed("last")
        is_listed = key in known
        return next((other for other in self._made if is_near(other)), None)

    def _new(self, key: str) -> str:
        script = unicodedata.name(key[0], "LATIN").partition(" ")[0]
        locale = locale_of(script)
        female, male = key in _listed("female"), key in _listed("male")
        either = (
            self._draw.of(("female", "male"), "kind", key) if female == male else "female" if female else "male"
        )
        kind = "last" if key in self._families else either
        pool = names(locale, kind) or names(LATIN, kind)
        for attempt in range(_ATTEMPTS):
            made = self._draw.of(pool, "name", key, attempt)
            low = plain(made) or made
            same_initial = low[0] == key[0] or low[0] in self._initials
            if low in self._avoid or low in self._taken or low == key:
                continue
            if same_initial and attempt < _STRICT and locale == LATIN:
                continue
            self._taken.add(low)
            return made
        made = f"{self._draw.of(pool, 'name', key)}{chr(97 + len(self._made) % 26)}"
        self._taken.add(plain(made))
        return made


def _words(text: str) -> list[str]:
    """The words of a name that are replaced: all but titles and particles, unless there are only those."""
    words = [re.sub(r"['’][sS]?$", "", found) for found in WORD.findall(text)]
    return [word for word in words if word.casefold() not in words_of("titles")] or words
