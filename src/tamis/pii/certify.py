"""The residual risk of a redacted corpus: a random sample for review by a person, and what it allows to say."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import tamis
from tamis.errors import UsageError, WorkError
from tamis.metrics.bounds import clopper_pearson_upper, hypergeometric_upper
from tamis.names import printable, shown
from tamis.pages import environment
from tamis.pii.labels import LABELS
from tamis.pii.private import Corpus, fingerprint, read_private, write_private
from tamis.pii.reading import sessions_of
from tamis.pii.recipe import DeidAuditRecipe
from tamis.pii.sessions import Annotated
from tamis.provenance import claim_folder, write_whole
from tamis.recipe import digest

SAMPLE, PAGE, STATEMENT = "sample.jsonl", "statement.html", "statement.json"
OTHER = "OTHER"
"""What a reviewer calls an identifier that has none of our labels."""
CONFIDENCE = 0.95
_DEFAULT = 300  # of which none leaves at most 10 in 1,000
_SMALL = 0.05  # from this share of the corpus on, the sample's bound is that of a finite population
_BEFORE = 160  # characters of the message before, which a reviewer may need
_FIXED = ("message", "session_id", "sequence_id", "role", "before", "text")


@dataclass(frozen=True)
class Certified:
    """How far a statement is.

    Attributes:
        folder: Where everything lies.
        sample: The file to fill in.
        size: The messages drawn.
        left: Those that nobody has reviewed.
        statement: What `statement.json` holds; None as long as any is left.
    """

    folder: Path
    sample: Path
    size: int
    left: int
    statement: dict[str, Any] | None = None


def certify(recipe: DeidAuditRecipe) -> Certified:
    """The sample, when there is none in the folder yet; else the statement.

    Raises:
        UsageError: The corpus or a line of the sample is not right; the sentence names it.
        WorkError: The sample is not reviewed to its end: there is no statement yet.
    """
    corpus = fingerprint(recipe.dataset_name, sessions_of(recipe))
    if not corpus.messages:
        raise UsageError(f"{recipe.dataset_name}: there are no messages in it")
    size = _size(recipe, corpus.messages)
    identity = {"certify": corpus.sha256, "column": recipe.text_column, "size": size, "seed": recipe.seed}
    folder = claim_folder(recipe, digest(identity))
    path = folder / SAMPLE
    drawn = [*sample(sessions_of(recipe), corpus.messages, size, recipe.seed)]
    if not path.exists():
        write_private(path, ({**one, "missed": None, "reviewer": None} for one in drawn))
        return Certified(folder, path, size, size)
    reviewed = read_sample(path, drawn)
    left = [where for where, one in reviewed if one["missed"] is None]
    if left:
        for name in (PAGE, STATEMENT):  # one that was made of an earlier state of the review says what it did not
            (folder / name).unlink(missing_ok=True)
        raise WorkError(
            f"no statement yet: {len(left)} of {size} messages are not reviewed, the first is in {left[0]}; "
            "fill in `missed`: [] where nothing personal is left, or its labels"
        )
    names = [*recipe.reviewer, *(one["reviewer"] for _, one in reviewed if one["reviewer"])]
    statement = _statement(recipe, corpus, [one for _, one in reviewed], sorted({*names}))
    page = _page(statement)
    write_whole(folder / STATEMENT, json.dumps(statement, indent=2, ensure_ascii=False).encode() + b"\n")
    write_whole(folder / PAGE, page.encode())
    return Certified(folder, path, size, 0, statement)


def _size(recipe: DeidAuditRecipe, population: int) -> int:
    if recipe.bound is None:
        return min(recipe.sample_size or _DEFAULT, population)
    return sample_size(recipe.bound / 1000, population)


def sample_size(share: float, population: int) -> int:
    """The fewest messages of which none may hold anything for the upper bound to be at most this share.

    Args:
        share: Between 0 and 1.
        population: The messages of the corpus, at least 1.
    """
    large = math.ceil(math.log(1 - CONFIDENCE) / math.log1p(-share))
    if large < _SMALL * population:
        return large
    low, high = math.ceil(_SMALL * population) - 1, population
    while high - low > 1:
        middle = (low + high) // 2
        if hypergeometric_upper(0, middle, population, CONFIDENCE) <= share * population:
            high = middle
        else:
            low = middle
    return high


def sample(sessions: Iterable[Annotated], population: int, size: int, seed: int) -> Iterable[dict[str, Any]]:
    """The messages of a simple random sample without replacement, in the corpus's order."""
    places = {*np.random.default_rng(seed).choice(population, size, replace=False).tolist()}
    number = 0
    for annotated in sessions:
        before = ""
        for message in annotated.session:
            if number in places:
                name = f"{annotated.session.session_id}\0{message.sequence_id}".encode("utf-8", "surrogatepass")
                yield {
                    "message": hashlib.sha256(name).hexdigest()[:12],
                    "session_id": annotated.session.session_id,
                    "sequence_id": message.sequence_id,
                    "role": message.role,
                    "before": before[-_BEFORE:],
                    "text": message.content,
                }
            before = message.content
            number += 1


def read_sample(path: Path, drawn: Sequence[Mapping[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The reviewed sample, each line with its place.

    Raises:
        UsageError: A line is broken or was edited, a message stands twice or is gone, or a label is unknown.
    """
    known = {one["message"]: one for one in drawn}
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for where, fields in read_private(path):
        name = fields.get("message")
        if not isinstance(name, str) or name not in known:
            raise UsageError(f"{where}: is no message of this sample")
        if name in found:
            raise UsageError(f"{where}: the message {name} stands in {found[name][0].rpartition(': ')[2]} too")
        edited = [key for key in _FIXED if fields.get(key) != known[name][key]]
        if edited:
            raise UsageError(f"{where}: its {edited[0]} was edited; only missed and reviewer are to be filled in")
        missed, reviewer = fields.get("missed"), fields.get("reviewer")
        if missed is not None and not (
            isinstance(missed, list) and all(label in (*LABELS, OTHER) for label in missed)
        ):
            allowed = ", ".join((*LABELS, OTHER))
            raise UsageError(f"{where}: missed is not null, [] or a list of {allowed}, one for each identifier")
        if reviewer is not None and not isinstance(reviewer, str):
            raise UsageError(f"{where}: reviewer is not text in quotes, or null")
        found[name] = (where, {**known[name], "missed": missed, "reviewer": reviewer})
    gone = [name for name in known if name not in found]
    if gone:
        raise UsageError(f"{path}: {len(gone)} messages of the sample are gone, such as {gone[0]}; put them back")
    return [found[name] for name in known]


def risk(missed: Sequence[int], population: int) -> dict[str, Any]:
    """What a reviewed sample says of its corpus, in messages and in identifiers, each per 1,000 messages.

    A message is what was drawn, so the bound is exact for messages with something in them. For identifiers it
    holds as long as no message of the corpus has more of them than the fullest one of the sample, and than one.

    Args:
        missed: How many identifiers each message of the sample still holds.
        population: The messages of the corpus.
    """
    size, hit, most = len(missed), sum(n > 0 for n in missed), max(1, *missed)
    binomial = clopper_pearson_upper(hit, size, CONFIDENCE)
    finite = hypergeometric_upper(hit, size, population, CONFIDENCE) / population
    is_finite = size >= _SMALL * population
    upper = finite if is_finite else binomial
    return {
        "confidence": CONFIDENCE,
        "messages_with_missed": hit,
        "identifiers_missed": sum(missed),
        "most_in_one_message": max(missed),
        "messages_per_1000": 1000 * hit / size,
        "messages_per_1000_upper": 1000 * upper,
        "identifiers_per_1000": 1000 * sum(missed) / size,
        "identifiers_per_1000_upper": 1000 * upper * most,
        "method": "hypergeometric" if is_finite else "Clopper-Pearson",
        "clopper_pearson_per_1000_upper": 1000 * binomial,
        "hypergeometric_per_1000_upper": 1000 * finite,
    }


def laws() -> list[dict[str, Any]]:
    """The laws of `identifiers.yaml`, in its order."""
    return [*yaml.safe_load(files("tamis.pii").joinpath("identifiers.yaml").read_text(encoding="utf-8")).values()]


def _statement(
    recipe: DeidAuditRecipe, corpus: Corpus, reviewed: Sequence[Mapping[str, Any]], reviewers: Sequence[str]
) -> dict[str, Any]:
    labels = Counter(label for one in reviewed for label in one["missed"])
    return {
        "corpus": {"name": shown(recipe.dataset_name), **asdict(corpus)},
        "sample": {"size": len(reviewed), "seed": recipe.seed, "share": len(reviewed) / corpus.messages},
        "reviewers": [printable(name) for name in reviewers],
        "risk": risk([len(one["missed"]) for one in reviewed], corpus.messages),
        "missed_by_label": {label: labels[label] for label in (*LABELS, OTHER)},
        "laws": laws(),
        "tamis": tamis.__version__,
        "date": datetime.now(UTC).date().isoformat(),
    }


def _page(statement: Mapping[str, Any]) -> str:
    # An upper bound is rounded up: what is printed is never less than what is established.
    formats = {"upper": lambda value: f"{math.ceil(10 * value - 1e-9) / 10:,.1f}", "rate": "{:,.1f}".format}
    return str(environment(formats).get_template(f"{PAGE}.j2").render(**statement))
