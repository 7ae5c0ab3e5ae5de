"""A small classifier that says whether what detectors proposed is personal data, by features that one can read.

A feature is a name and a number from 0 to about 1. A weight belongs to a name; a feature without a weight counts
nothing. So the file of a reviewer is a table that anybody can read, and a score can be explained by its parts.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from tamis.errors import UsageError
from tamis.pii import lexicon, tokens
from tamis.pii.density import density
from tamis.pii.guard import guarded
from tamis.pii.labels import STRUCTURED
from tamis.pii.maths import expressions
from tamis.pii.segments import MATHS
from tamis.pii.sessions import Annotated, Session
from tamis.pii.spans import Span, overlapping

Features = dict[str, float]

_PROBLEM = re.compile(
    r"\b(?:how (?:many|much|far|long|old|fast|tall)|each|altogether|in total|total of|twice as|times as|per"
    r"|remaining|left over|cost|costs|earns?|spends?|spent|buys?|bought|sells?|sold|gives?|shares?"
    r"|has \d|had \d|have \d)\b",
    re.IGNORECASE,
)
_DOES = re.compile(
    r"\s+(?:has|had|buys?|bought|gives?|gave|sells?|sold|wants?|needs?|walks?|runs?|ran|drives?|drove|eats?|ate"
    r"|bakes?|makes?|made|earns?|saves?|spends?|spent|picks?|reads?|rides?|collects?|plants?|paints?"
    r"|and [A-Z]\w+ (?:have|are|share|each)|'s (?:age|height|weight|car|garden|farm|store|shop))\b"
)
_THIRD = re.compile(r"(?: and \w+)?\s+(?!is\b|was\b|yes\b|thanks\b|this\b|its\b)[a-z]{3,}s\b(?!['’])")
_SET = re.compile(
    r"\b(?:problem|question|exercise|book|story|example|number|no\.?|q|#)\W*\d*\W*"
    r"(?:says|dice|goes|is|that|lives in)?\W+(?:\w+\W+){0,3}$"
    r"|\b(?:model|graph|chart|table|picture|bar|problem|train|farmer|store|city) (?:\w+\W+){0,4}$",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\b(?:name|call(?:ed)?|who|email|e-mail|phone|number|address|live|school|old|birthday|reach|link)\b", re.I
)
_CALLED = re.compile(
    r"(?:\b(?:hi|hey|hello|hiya|yo|thanks|thank you|ty|thx|bye|night|morning|sorry|ok|okay|welcome|dear"
    r"|mrs?|ms|miss|mx|dr|prof|coach|name is|name's|i'?m|im|i am|this is|call me|it'?s|its|from|by|with|and|ask"
    r"|tell|my|at|in)\b[\s,.:!]*|@)$",
    re.IGNORECASE,
)


_NUMBER = re.compile(r"\d+")
_SURE = 0.5  # a proposal from this score on is one that its detector would make alone
_NEAR = 60  # characters around a candidate that are looked at
_OTHERS = 20  # occurrences of the same text that are looked at, those that were proposed with most certainty


@dataclass(frozen=True)
class Candidate:
    """What at least one detector proposed.

    Attributes:
        message: The index of its message.
        span: Where it is: over all proposals that their detectors are sure of, or the best one.
        proposals: The best span of each detector, by the detector's name.
    """

    message: int
    span: Span
    proposals: Mapping[str, Span]


def candidates(found: Mapping[str, Sequence[Sequence[Span]]], least: float = 0.0) -> list[Candidate]:
    """Overlapping spans of several detectors, joined, in order.

    Args:
        found: The spans of each message, by detector; of several that are sure, the first gives the label.
        least: The score below which a proposal is not looked at.
    """
    made: list[Candidate] = []
    for i in range(max(map(len, found.values()), default=0)):
        spans = (
            (span, name) for name, of_messages in found.items() for span in of_messages[i] if span.score >= least
        )
        made += [_joined(i, group, [*found]) for group in overlapping(spans, itemgetter(0))]
    return made


def _joined(message: int, group: Sequence[tuple[Span, str]], order: Sequence[str]) -> Candidate:
    proposals: dict[str, Span] = {}
    for span, name in group:
        if name not in proposals or span.score > proposals[name].score:
            proposals[name] = span
    best = max((span for span, _ in group), key=lambda span: (span.score, span.end - span.start))
    sure = [span for span, _ in group if span.score >= _SURE] or [best]
    said = next((proposals[name] for name in order if name in proposals and proposals[name].score >= _SURE), best)
    whole = Span(min(span.start for span in sure), max(span.end for span in sure), said.label, best.score)
    return Candidate(message, whole, proposals)


def features(session: Session, found: Sequence[Candidate]) -> list[Features]:
    """What is known of each candidate.

    Args:
        session: The session.
        found: Its candidates.
    """
    texts = [message.content for message in session]
    dense = density(texts)
    segments = tokens.segments(session)
    maths = [expressions(text) for text in texts]
    by_message: list[list[Span]] = [[] for _ in texts]
    for one in found:
        by_message[one.message].append(one.span)
    dropped = [{span for span, _ in of} for of in guarded(session, by_message)[1]]
    words = [len(_PROBLEM.findall(text)) + len(_NUMBER.findall(text)) / 2 for text in texts]
    # The numbers of a candidate itself make no word problem.
    story = [words[one.message] - len(_NUMBER.findall(_surface(texts, one))) / 2 for one in found]
    surfaces = [_surface(texts, one) for one in found]
    seen: defaultdict[str, list[int]] = defaultdict(list)
    for i in sorted(range(len(found)), key=lambda i: (-found[i].span.score, i)):
        seen[surfaces[i]].append(i)
    made = []
    for i, one in enumerate(found):
        text, span, role = texts[one.message], one.span, session.messages[one.message].role
        others = [j for j in seen[surfaces[i]][:_OTHERS] if j != i]
        known = _of_proposals(one) | _of_text(text, span) | _of_others([found[j] for j in others])
        inside = any(begin < span.end and span.start < end for begin, end in maths[one.message])
        before = texts[one.message - 1] if one.message else ""
        known |= {
            "density of the message": float(dense[one.message]),
            "maths segment": float(segments[one.message] == MATHS),
            "inside maths": float(inside),
            "the guard drops it": float(span in dropped[one.message]),
            "said by the tutor": float(role == "tutor"),
            "asked for before": float(bool(_ASKED.search(before))),
            "near either end of the session": float(one.message < 3 or one.message >= len(texts) - 3),
            "word problem": min(story[i] / 4, 1.0),
            "elsewhere in a word problem": max((min(story[j] / 4, 1.0) for j in others), default=0.0),
        }
        kind = "structured" if span.label in STRUCTURED else span.label
        crossed = ("word problem", "inside maths", "maths segment", "elsewhere, model", *one.proposals)
        crossed = (*crossed, *(name for name in known if name.endswith((", sure", " alone"))))
        known |= {f"{kind}: {name}": known[name] for name in crossed if known.get(name)}
        known[kind] = 1.0
        made.append({name: value for name, value in known.items() if value})
    return made


def _surface(texts: Sequence[str], one: Candidate) -> str:
    return texts[one.message][one.span.start : one.span.end].casefold()


def _of_proposals(one: Candidate) -> Features:
    known: Features = {}
    for name, span in one.proposals.items():
        odds = math.log((span.score + 1e-3) / (1 - span.score + 1e-3)) / 7
        known |= {name: span.score, f"{name}, doubtful": max(-odds, 0.0), f"{name}, sure": max(odds, 0.0)}
        known[f"{name}: {span.reason}"] = 1.0
        known[f"{name}: {span.label}"] = 1.0
    if len(one.proposals) == 1:
        known[f"{next(iter(one.proposals))} alone"] = 1.0
    return known


def _of_text(text: str, span: Span) -> Features:
    piece = text[span.start : span.end]
    words = lexicon.tokens(piece)
    letters = [c for c in piece if c.isalpha()]
    shape = "without letters"
    if letters:
        shape = "upper case" if all(c.isupper() for c in letters) else "lower case"
        shape = "title case" if shape == "lower case" and any(c.isupper() for c in letters) else shape
    before, after = text[max(span.start - _NEAR, 0) : span.start], text[span.end : span.end + _NEAR]
    begins = span.start < _NEAR and not re.search(r"\w", before)
    known = {
        shape: 1.0,
        f"{shape} at the beginning": float(begins),
        "holds a digit": float(any(c.isdigit() for c in piece)),
        "holds @": float("@" in piece),
        "one letter": float(len(letters) == 1 == len(piece)),
        "length": min(len(piece) / 20, 1.0),
        "several words": float(len(words) > 1),
        "called by a cue": float(bool(_CALLED.search(before))),
        "does what people in problems do": float(bool(_DOES.match(after))),
        "before a verb of the third person": float(bool(_THIRD.match(after))),
        "spoken of as in a problem": float(bool(_SET.search(before))),
        "the whole message": float(begins and len(after) < _NEAR and not re.search(r"\w", after)),
        "before a comma": float(after.startswith((",", " ,"))),
    }
    for name in {lexicon.kind(word.key) for word in words}:
        known[f"a word that is: {name}"] = 1.0
        known[f"{shape} word that is: {name}"] = 1.0
    return known


def _of_others(others: Sequence[Candidate]) -> Features:
    """What is known of the same text elsewhere in the session."""
    known: Features = {"elsewhere": min(len(others) / 4, 1.0)}
    for other in others:
        for name, span in other.proposals.items():
            known[f"elsewhere, {name}"] = max(span.score, known.get(f"elsewhere, {name}", 0.0))
    return known


@dataclass(frozen=True)
class Reviewer:
    """A logistic regression over named features.

    Attributes:
        weights: The weight of each feature.
        bias: What is there without any.
        threshold: The score from which on a candidate counts.
    """

    weights: Mapping[str, float]
    bias: float
    threshold: float = 0.5

    def review(self, session: Session, found: Sequence[Candidate]) -> list[Span]:
        """Each candidate's span with the reviewer's score; its reason names the features that decided most."""
        made = []
        for one, known in zip(found, features(session, found), strict=True):
            parts = {name: value * self.weights.get(name, 0.0) for name, value in known.items()}
            total = self.bias + sum(parts.values())
            score = 1 / (1 + math.exp(-max(-50.0, min(50.0, total))))
            most = sorted(parts, key=lambda name: -parts[name] * (1 if total > 0 else -1))[:3]
            made.append(Span(one.span.start, one.span.end, one.span.label, score, f"reviewer: {'; '.join(most)}"))
        return made

    def save(self, path: Path) -> None:
        """Writes the table."""
        table = {name: round(weight, 4) for name, weight in sorted(self.weights.items()) if round(weight, 4)}
        content = {"threshold": self.threshold, "bias": round(self.bias, 4), "weights": table}
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load(path: Path) -> Reviewer:
    """A reviewer from its table.

    Raises:
        UsageError: The file is not one.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Reviewer({**content["weights"]}, float(content["bias"]), float(content["threshold"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: not a reviewer of training/train_pii_reviewer.py: {error}") from error


def fit(rows: Sequence[Features], truth: Sequence[bool], strength: float = 1.0, least: int = 5) -> Reviewer:
    """The reviewer that tells these rows apart best.

    Args:
        rows: The features of candidates.
        truth: Which are personal data.
        strength: The inverse of the penalty on squared weights.
        least: A feature that fewer rows have gets no weight.

    Raises:
        UsageError: All are, or none is.
    """
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    if len({*truth}) < 2:
        raise UsageError("the candidates are all of one kind; give sessions with personal data and with traps")
    seen: defaultdict[str, int] = defaultdict(int)
    for row in rows:
        for name in row:
            seen[name] += 1
    kept = [{name: value for name, value in row.items() if seen[name] >= least} for row in rows]
    vectors = DictVectorizer()
    table = vectors.fit_transform(kept)
    model = LogisticRegression(C=strength, max_iter=2000).fit(table, list(truth))
    names = vectors.get_feature_names_out()
    return Reviewer(dict(zip(names, model.coef_[0].tolist(), strict=True)), float(model.intercept_[0]))


def truth(known: Annotated, found: Sequence[Candidate]) -> list[bool]:
    """Whether each candidate touches a gold span."""
    gold = known.spans or ((),) * len(known.session)
    return [
        any(one.start < each.span.end and each.span.start < one.end for one in gold[each.message])
        for each in found
    ]
