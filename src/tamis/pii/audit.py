"""The audit of a corpus that somebody redacted: assess every tag, let a person review, write surrogates."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tamis.errors import UsageError, WorkError
from tamis.pii.assess import DETECTOR, FALSE, MISSED, TRUE, assess, without_tags
from tamis.pii.columns import edited, unscanned
from tamis.pii.detect.detector import Detector
from tamis.pii.keyed import new_key, read_key
from tamis.pii.operators import applied
from tamis.pii.private import Corpus, fingerprint
from tamis.pii.reading import passages, sessions_of
from tamis.pii.recipe import DeidAuditRecipe
from tamis.pii.records import open_source
from tamis.pii.review import (
    ENOUGH,
    Review,
    Reviewed,
    agreement,
    is_over,
    merged,
    read_review,
    write_review,
)
from tamis.pii.segments import MATHS, NON_MATHS, named_embedder
from tamis.pii.sessions import Session
from tamis.pii.spans import Span
from tamis.pii.stand_ins import stand_ins
from tamis.pii.surrogates import Surrogates
from tamis.pii.writing import writer
from tamis.provenance import claim_folder, whole, write_whole
from tamis.recipe import digest

REVIEW, STATISTICS, WITH_SURROGATES = "review.jsonl", "statistics.json", "with_surrogates"

Find = Callable[[Session], Sequence[Sequence[Span]]]
"""A session to the spans of each message that count."""


@dataclass(frozen=True)
class Audited:
    """What an audit did.

    Attributes:
        folder: Where it wrote.
        review: The file to fill in.
        statistics: What `statistics.json` holds.
        with_surrogates: The corpus with surrogates, where it was asked for.
        unscanned: Its columns of text that nobody looked at.
    """

    folder: Path
    review: Path
    statistics: dict[str, Any]
    with_surrogates: Path | None = None
    unscanned: tuple[str, ...] = ()


def deid_audit(recipe: DeidAuditRecipe, detector: Detector | None = None) -> Audited:
    """One round of the audit; run again, it keeps the verdicts and goes on from them.

    Args:
        recipe: What is asked for.
        detector: Looks for what was missed, in place of the recipe's.

    Raises:
        UsageError: A row, a flag or a line of a review file is wrong; the sentence names it.
        WorkError: Surrogates were asked for before 95 % of the items are resolved.
    """
    corpus = fingerprint(recipe.dataset_name, sessions_of(recipe))
    folder = claim_folder(recipe, digest({"deid_audit": corpus.sha256, "column": recipe.text_column}))
    path = folder / REVIEW
    mine = read_review(path) if path.exists() else {}
    others = [read_review(Path(name)) for name in recipe.review]
    items, segments = [], Counter[str]()
    embed = named_embedder(recipe.encoder)
    find = finder(recipe, detector)
    for annotated in sessions_of(recipe):
        found, labels = assess(annotated, find(without_tags(annotated)), embed)
        items += found
        segments.update(labels)
    reviewed = merged(items, mine, others)
    if not path.exists() or [one for _, one in mine.values()] != reviewed:
        write_review(path, reviewed)
    told = _statistics(corpus, segments, reviewed, others, _rounds(folder, mine, reviewed))
    write_whole(folder / STATISTICS, json.dumps(told, indent=2).encode() + b"\n")
    if not recipe.surrogates:
        return Audited(folder, path, told)
    if not is_over(reviewed):
        left = sum(not one.resolved for one in reviewed)
        raise WorkError(
            f"{path}: {left} of {len(reviewed)} items are not resolved, and surrogates are made once {ENOUGH} % "
            "are; fill in their verdict"
        )
    return Audited(folder, path, told, *_write_surrogates(recipe, folder, reviewed))


def finder(recipe: DeidAuditRecipe, detector: Detector | None = None) -> Find:
    """What finds personal data as `tamis redact` would, guard and thresholds and all."""
    from tamis.pii.redact import build

    redactor = build(recipe.looked_for(), new_key(), detector)
    return lambda session: redactor.found(session)[0]


def _rounds(folder: Path, mine: Review, reviewed: Sequence[Reviewed]) -> list[dict[str, Any]]:
    """The rounds so far, this one among them where a verdict changed since the last."""
    path = folder / STATISTICS
    try:
        rounds: list[dict[str, Any]] = json.loads(path.read_bytes())["rounds"] if path.exists() else []
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path}: is not what an audit wrote; take it away, and the rounds are counted anew"
        ) from error
    verdicts = digest({one.item.item: one.verdict for _, one in mine.values() if one.verdict is not None})
    told = {
        "identified": len(reviewed),
        "resolved": sum(one.resolved for one in reviewed),
        "is_over": is_over(reviewed),
        "verdicts": verdicts,
    }
    said = any(one.verdict is not None for one in reviewed)
    if not said or (rounds and rounds[-1] == {"round": len(rounds), **told}):
        return rounds
    if rounds and rounds[-1]["verdicts"] == verdicts:  # other reviewers agree now, or there are new items
        rounds.pop()
    return [*rounds, {"round": len(rounds) + 1, **told}]


def _statistics(
    corpus: Corpus,
    segments: Counter[str],
    reviewed: Sequence[Reviewed],
    others: Sequence[Review],
    rounds: list[dict[str, Any]],
) -> dict[str, Any]:
    resolved = sum(one.resolved for one in reviewed)
    return {
        "corpus": {**asdict(corpus), "messages_by_segment": {name: segments[name] for name in (MATHS, NON_MATHS)}},
        "identified": len(reviewed),
        "resolved": resolved,
        "resolved_share": resolved / len(reviewed) if reviewed else 1.0,
        "is_over": is_over(reviewed),
        "rounds": rounds,
        "proposed": _counts([(one, one.item.proposed) for one in reviewed], segments),
        "reviewed": _counts([(one, one.outcome) for one in reviewed if one.resolved], segments),
        "agreement": agreement(reviewed, others),
    }


def _counts(said: Sequence[tuple[Reviewed, str]], segments: Counter[str]) -> dict[str, Any]:
    """How many are true, false and missed, by label, by segment and by what the original was."""
    labels = sorted({one.item.label for one, _ in said})
    false = [one for one, verdict in said if verdict == FALSE and one.item.origin != DETECTOR]
    in_maths = sum(one.item.segment == MATHS for one in false)
    messages = segments.total()
    return {
        "all": _tally(said),
        "by_label": {label: _tally([one for one in said if one[0].item.label == label]) for label in labels},
        "by_segment": {
            name: _tally([one for one in said if one[0].item.segment == name]) for name in (MATHS, NON_MATHS)
        },
        "false_by_original": dict(sorted(Counter(one.item.inferred for one in false).items())),
        "false_in_maths_share": in_maths / len(false) if false else None,
        "messages_in_maths_share": segments[MATHS] / messages if messages else None,
    }


def _tally(said: Sequence[tuple[Reviewed, str]]) -> dict[str, Any]:
    redacted = Counter(verdict for one, verdict in said if one.item.origin != DETECTOR)
    found = Counter(verdict for one, verdict in said if one.item.origin == DETECTOR)
    true, false = redacted[TRUE], redacted[FALSE]
    return {
        "true": true,
        "false": false,
        "false_to_true": false / true if true else None,
        "missed": found[MISSED],
        "found_by_mistake": found[FALSE],
    }


def _write_surrogates(
    recipe: DeidAuditRecipe, folder: Path, reviewed: Sequence[Reviewed]
) -> tuple[Path, tuple[str, ...]]:
    """Writes the corpus in the form that it has, with what `stand_ins` says in place of every item.

    Returns:
        The file, and its columns of text that nobody looked at.
    """
    skipped: set[str] = set()
    by_session: dict[str, list[Reviewed]] = {}
    for one in reviewed:
        by_session.setdefault(one.item.session_id, []).append(one)
    surrogates = Surrogates(read_key(recipe.key_file) or new_key())
    source = open_source(recipe.dataset_name, recipe.dataset_config, recipe.dataset_split, recipe.dataset_revision)
    path = folder / f"{WITH_SURROGATES}{source.suffix}"
    with whole(path) as stream:
        rows = None
        for passage in passages(source, recipe.text_column):
            rows = rows or writer(source, stream)
            skipped |= unscanned(passage, ())
            session = passage.annotated.session
            texts, offsets = [], []
            pieces = stand_ins(session, by_session.get(session.session_id, ()), surrogates)
            for message, found in zip(session, pieces, strict=True):
                text, moved = applied(message.content, [span for span, _ in found], [text for _, text in found])
                texts.append(text)
                offsets.append(moved)
            for record, fields in zip(passage.records, edited(passage, texts, offsets), strict=True):
                rows.write(record, fields)
        if rows:
            rows.close()
    return path, tuple(sorted(skipped))
