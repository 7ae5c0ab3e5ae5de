"""Who a session's persons are, by what is said to and about them, and where their names stand."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from rapidfuzz.distance import OSA

from tamis.pii import lexicon
from tamis.pii.detect import cues, naming
from tamis.pii.detect.evidence import Known, curriculum, impersonal, prior, renowned
from tamis.pii.detect.naming import Candidate
from tamis.pii.detect.views import View, capital, table
from tamis.pii.lexicon import BOTH, EPONYM, FAMILY, GIVEN, SURNAME, UNKNOWN, WORD, Token
from tamis.pii.spans import Span

_MOST_KNOWN, _MOST_STRANGE = 200, 20_000


_SUFFIX = re.compile(r",? (?:[JS]r\.?|I{2,3}|IV)(?![\w'’])(?! *[=+*/^<>])")
_GLUE = re.compile(r"[ \u00a0-]|[-.] ?| ?[’'] ?")


def find(views: Sequence[View], roster: Sequence[str], threshold: float) -> list[list[Span]]:
    """The spans of names in each message, those below the threshold too."""
    found = [
        candidate
        for place, seen in enumerate(views)
        for candidate in cues.candidates(seen, views[max(0, place - 3) : place])
    ]
    people = _People(views, found, roster, threshold)
    return [people.spans(seen) for seen in views]


class _People:
    """The persons of one session.

    Args:
        views: Its messages.
        found: What cues speak for.
        roster: Names that the caller knows.
        threshold: The score from which on a person counts as known.
    """

    def __init__(
        self, views: Sequence[View], found: Sequence[Candidate], roster: Sequence[str], threshold: float
    ) -> None:
        self._threshold = threshold
        self._weights = table()
        self._narrated = self._of_problems(views, found)
        self._known: dict[str, Known] = {}
        self._local: dict[tuple[int, int], Candidate] = {}
        self._roster = {token.key for name in roster for token in lexicon.tokens(name) if len(token.key) > 1}
        self._roster -= lexicon.listed("particles")
        for candidate in found:
            self._learn(views[candidate.message], candidate)
        for seen in views:
            for candidate in self._mentions(seen):
                self._learn(seen, candidate)
        for key in self._roster:
            known = self._known.setdefault(key, Known(prior=self._weights["lists"].get(lexicon.kind(key), 0.0)))
            known.add(self._weights["roster"])
            known.real, known.reason = True, "on the roster"
        self._spelled = {seen.place: self._by_letter(seen) for seen in views}
        self._kin = self._relatives(views)

    def _mentions(self, seen: View) -> list[Candidate]:
        """Listed names with a capital inside a sentence of plain chat, that no cue speaks for."""
        found = []
        for place, token in enumerate(seen.tokens):
            if not self._chat(seen, place) or lexicon.kind(token.key) != GIVEN or len(token.key) < 3:
                continue
            asked = seen.tokens[place - 1].norm in ("did", "does", "do", "has", "by", "if", "that", "is")
            if (
                (seen.place, place) in self._local
                or asked
                or token.key in self._narrated
                or curriculum(seen, place)
            ):
                continue
            found.append(
                Candidate(
                    seen.place,
                    place,
                    place,
                    "mention",
                    self._weights["chat"],
                    False,
                    "a listed name in plain chat",
                )
            )
        return found

    def _of_problems(self, views: Sequence[View], found: Sequence[Candidate]) -> set[str]:
        """The names that word problems use, unless only a short remark tells of a person whom a cue speaks for."""
        real = {
            views[c.message].tokens[place].key
            for c in found
            if c.real
            and (c.cue != "title" or not views[c.message].numbers)
            and c.weight >= self._threshold - 0.1
            and not self._in_problem(views[c.message], c.first)
            for place in range(c.first, c.last + 1)
        }
        names: set[str] = set()
        for seen in views:
            told = {seen.tokens[place].key for place in seen.narrated}
            if seen.problem[1]:
                names |= told
                inside = (t for place, t in enumerate(seen.tokens) if self._in_problem(seen, place) and capital(t))
                names |= {
                    t.key
                    for t in inside
                    if not seen.shouted and lexicon.kind(t.key) == GIVEN and t.key not in real
                }
            else:
                names |= told - real
        return names

    @staticmethod
    def _in_problem(seen: View, place: int) -> bool:
        return seen.told(seen.tokens[place].start)

    def _learn(self, seen: View, candidate: Candidate) -> None:
        weight = self._weight(seen, candidate)
        likely = max(prior(seen, place) for place in range(candidate.first, candidate.last + 1))
        for place in range(candidate.first, candidate.last + 1):
            token = seen.tokens[place]
            best = self._local.get((seen.place, place))
            if best is None or weight > self._weight(seen, best):
                self._local[seen.place, place] = candidate
            if len(token.key) < 2 or (token.key in lexicon.listed("particles") and place < candidate.last):
                continue
            known = self._known.setdefault(token.key, Known())
            narrated = (token.key in self._narrated and not self._real(seen, candidate)) or impersonal(
                seen, candidate
            )
            known.prior = max(known.prior, 0.0 if narrated else likely)
            if not known.weights or weight > max(known.weights):
                known.reason = candidate.reason
            known.add(weight)
            if weight == candidate.weight and candidate.cue != "mention" and self._chat(seen, place):
                known.add(self._weights["chat"])
            known.real = known.real or self._real(seen, candidate)

    @staticmethod
    def _chat(seen: View, place: int) -> bool:
        """Whether a word with a capital stands inside a sentence of plain chat."""
        return (
            seen.personal
            and not seen.numbers
            and not seen.problem[1]
            and place not in seen.heads
            and capital(seen.tokens[place])
            and not seen.shouted
        )

    def _real(self, seen: View, candidate: Candidate) -> bool:
        """Whether a cue speaks for a person of the chat: not one in a word problem, nor a title in one."""
        if self._in_problem(seen, candidate.first) or not candidate.real:
            return False
        return not impersonal(seen, candidate) and (
            candidate.cue != "title" or not (seen.numbers and self._told(seen, candidate))
        )

    def _told(self, seen: View, candidate: Candidate) -> bool:
        return any(
            seen.tokens[place].key in self._narrated for place in range(candidate.first, candidate.last + 1)
        )

    def _weight(self, seen: View, candidate: Candidate) -> float:
        """A cue's weight; less where the name is a word problem's."""
        if self._in_problem(seen, candidate.first) and candidate.cue not in ("name_is", "greeting"):
            return candidate.weight * float(self._weights["narrated"])
        told = (self._told(seen, candidate) and not self._real(seen, candidate)) or impersonal(seen, candidate)
        return candidate.weight * (float(self._weights["narrated"]) if told else 1.0)

    def _by_letter(self, seen: View) -> list[Span]:
        spans = []
        for start, end, word, said in naming.spelled(seen):
            score = self._weights["lists"]["given"] if lexicon.kind(word) == GIVEN else 0.0
            score = 1 - (1 - score) * (1 - (self._weights["spelled_weight"] if said else 0.2))
            if word in self._known and self._known[word].score() >= self._threshold:
                score = max(score, 0.9)
            elif said:
                self._known.setdefault(word, Known()).add(self._weights["spelled_weight"])
                self._known[word].reason = "spelled letter by letter"
            spans.append(Span(start, end, "PERSON", round(score, 3), "spelled letter by letter"))
        spans += [Span(start, end, "PERSON", 0.8, "called initials") for start, end in naming.initials(seen)]
        return spans

    def _relatives(self, views: Sequence[View]) -> dict[str, tuple[str, float, str]]:
        """Words that are a known name misspelt or cut short -> that name, the weight and the reason."""
        sure = [key for key, known in self._known.items() if len(key) > 2 and known.score() >= self._threshold]
        sure = sorted(sure, key=lambda key: -self._known[key].score())[:_MOST_KNOWN]
        if not sure:
            return {}
        strange: dict[str, None] = {}
        for seen in views:
            for token in seen.tokens:
                if 2 < len(token.key) < 30 and lexicon.kind(token.key) != WORD and len(strange) < _MOST_STRANGE:
                    strange[token.key] = None
                if token.key.endswith("s") and token.key[:-1] in self._known:
                    strange[token.key] = None
        by_first: dict[str, list[str]] = defaultdict(list)
        for key in sure:
            by_first[key[0]].append(key)
        found = {}
        for word in strange:
            for key in by_first.get(word[0], ()):
                relation = self._relation(word, key)
                if relation:
                    found[word] = (key, *relation)
                    break
        return found

    def _relation(self, word: str, key: str) -> tuple[float, str] | None:
        kind, listed_short = lexicon.kind(word), lexicon.short_forms()
        if word == key or kind == WORD:
            return None
        if word == key + "s" and lexicon.kinds().get(word) not in (GIVEN, WORD):
            return self._weights["repeat"], "a known name with an s"
        if word in listed_short.get(key, ()) or key in listed_short.get(word, ()):
            return self._weights["short"], "a short form of a known name"
        if (
            kind != BOTH
            and len(word) > 2
            and (key.startswith(word) or word.startswith(key))
            and min(len(word), len(key)) > 2
        ):
            return (self._weights["short"] if kind != FAMILY else 0.3), "a short form of a known name"
        if kind == UNKNOWN and len(word) > 3 and len(key) > 3:
            allowed = 1 if len(key) < 7 else 2
            if OSA.distance(word, key, score_cutoff=allowed) <= allowed:
                return self._weights["repeat"], "a known name, misspelt"
        return None

    def spans(self, seen: View) -> list[Span]:
        """The names of one message."""
        groups: list[list[tuple[int, float, str]]] = []
        for place, token in enumerate(seen.tokens):
            score, reason = self._occurrence(seen, place, token)
            if score <= 0:
                continue
            if groups and self._joined(seen, groups[-1][-1], (place, score, reason)):
                groups[-1].append((place, score, reason))
            else:
                groups.append([(place, score, reason)])
        found = list(self._spelled[seen.place])
        for group in groups:
            first, last = group[0][0], group[-1][0]
            best = max(group, key=lambda item: item[1])
            end = seen.tokens[last].end
            if best[2] == "a known name with an s":
                end -= 1
            if best[2] != "a known name with an s" and (suffix := _SUFFIX.match(seen.content, end)):
                end = suffix.end()
            if (
                len(seen.tokens[last].text) == 1
                and last > first
                and re.match(r"\. [a-z]", seen.content[end : end + 3])
            ):
                end += 1
            found.append(Span(self._start(seen, first), end, "PERSON", round(best[1], 3), best[2]))
        return sorted(found)

    def _start(self, seen: View, first: int) -> int:
        """Where a name begins: with its initial, where a cue took that in."""
        while (
            first and (seen.place, first - 1) in self._local and self._local[seen.place, first - 1].last >= first
        ):
            first -= 1
        return seen.tokens[first].start

    def _joined(self, seen: View, left: tuple[int, float, str], right: tuple[int, float, str]) -> bool:
        """Whether two tokens are parts of one name."""
        if (left[1] >= self._threshold) != (right[1] >= self._threshold) or right[0] - left[0] > 4:
            return False
        tokens = seen.tokens
        if any(
            tokens[place].key not in lexicon.listed("particles") and len(tokens[place].key) > 1
            for place in range(left[0] + 1, right[0])
        ):
            return False
        if right[0] - left[0] > 1 and any(tokens[p].key in ("y", "e") for p in range(left[0] + 1, right[0])):
            local = self._local.get((seen.place, left[0]))
            if local is None or local.last < right[0]:
                return False
        pairs = zip(tokens[left[0] : right[0]], tokens[left[0] + 1 : right[0] + 1], strict=True)
        return all(_GLUE.fullmatch(seen.content, a.end, b.start) for a, b in pairs)

    def _occurrence(self, seen: View, place: int, token: Token) -> tuple[float, str]:
        """How sure one may be that a token is a name here, and why."""
        local = self._local.get((seen.place, place))
        if local and (len(token.key) < 2 or token.key in lexicon.listed("particles")):
            if place == local.last and len(token.key) < 2:
                return self._score(seen, local), local.reason
            if not (token.key in self._known and place == local.last):
                return (self._score(seen, local), local.reason) if place == local.first else (0, "")
        known = self._known.get(token.key)
        exposed = float(self._weights["exposed"])
        if known is None:
            return self._stranger(seen, place, token)
        kind = lexicon.kind(token.key)
        total = known.score()
        if renowned(seen, place) or (curriculum(seen, place) and not (local and local.real)):
            return 0, ""
        if self._in_problem(seen, place):
            if local and local.cue in ("name_is", "greeting", "speaker"):
                return total, known.reason
            return min(exposed, total), "a name of a word problem"
        if place in seen.narrated and seen.numbers and not seen.personal and not (local and local.real):
            return min(exposed, total), "a name of a word problem"
        if token.key in self._narrated:
            if local and (self._real(seen, local) or known.real):
                return max(total, self._score(seen, local)), local.reason
            return min(exposed, total), "a name of a word problem"
        if kind in (BOTH, SURNAME, WORD, EPONYM) or len(token.key) < 3:
            raised = capital(token) and not seen.shouted and place not in seen.heads
            if not local and not raised:
                return min(exposed, total), known.reason
        return total, known.reason

    def _score(self, seen: View, local: Candidate) -> float:
        priors = max(prior(seen, place) for place in range(local.first, local.last + 1))
        return 1 - (1 - priors) * (1 - self._weight(seen, local))

    def _stranger(self, seen: View, place: int, token: Token) -> tuple[float, str]:
        """What is left for a word that no cue speaks for: a form of a known name, or a listed name alone."""
        kind = lexicon.kind(token.key)
        inside = self._in_problem(seen, place) or token.key in self._narrated or curriculum(seen, place)
        relative = self._kin.get(token.key)
        if relative and not inside and relative[0] not in self._narrated:
            key, weight, reason = relative
            raised = capital(token) and not seen.shouted
            bonus = self._weights["lists"]["capital"] if raised else 0.0
            return min(1 - (1 - weight) * (1 - bonus), self._known[key].score()), reason
        if kind != GIVEN or len(token.key) < 3 or curriculum(seen, place):
            return 0, ""
        if inside or not capital(token) or seen.shouted:
            return float(self._weights["doubtful"]), "a listed name in a word problem or without a capital"
        return float(self._weights["lists"]["given"]), "a listed name that no cue speaks for"
