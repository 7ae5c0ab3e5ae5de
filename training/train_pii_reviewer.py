# /// script
# requires-python = ">=3.11"
# dependencies = ["tamis[pii,train]"]
# ///
"""The reviewer of the cascade: which proposals of the rules and of a token model are personal data.

python training/train_pii_reviewer.py --model run/pii/detector/model --output_dir run/pii/detector/model

It is a logistic regression over features with names (`tamis.pii.reviewer`), written as a table that anybody can
read. A model knows the wording that it was trained on better than it will know others; so the reviewer learns also
on wording that is kept from the model (`review` of the generator). What it says is a probability, and from .5 on a
proposal counts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from tamis import cli, verbs
from tamis.pii import reviewer, synthetic
from tamis.pii.detect.cascade import REVIEWER, CascadeDetector
from tamis.pii.detect.model import ModelDetector
from tamis.pii.detect.rules import RulesDetector
from tamis.pii.reading import read_sessions
from tamis.pii.sessions import Annotated


@dataclass(frozen=True)
class ReviewerRecipe:
    """Trains the reviewer of the cascade.

    Args:
        output_dir: Where `reviewer.json` goes; the model's folder, for `tamis redact` to find it.
        model: The folder of the token model that proposes; the one that comes with tamis, if None.
        dataset_name: Annotated sessions that the model was not trained on, beside synthetic ones. May be repeated.
        sessions: Synthetic sessions of each density and part of the wording.
        density: Spans a message in synthetic sessions. May be repeated.
        templates: The parts of the generator's wording, first one that the model has not seen. May be repeated.
        strength: The inverse of the penalty on squared weights.
        seed: Of the sessions.
    """

    output_dir: str
    model: str | None = None
    dataset_name: list[str] = field(default_factory=list)
    sessions: int = 300
    density: list[float] = field(default_factory=lambda: [0.18, 0.017])
    templates: list[str] = field(default_factory=lambda: ["review", "train"])
    strength: float = 1.0
    seed: int = 2000


def annotated(recipe: ReviewerRecipe) -> Iterator[Annotated]:
    """All sessions with gold."""
    for i, (templates, density) in enumerate(product(recipe.templates, recipe.density)):
        yield from synthetic.generate(
            sessions=recipe.sessions, seed=recipe.seed + i, density=density, templates=templates
        )
    for name in recipe.dataset_name:
        yield from (one for one in read_sessions(name) if one.spans is not None)


def train(recipe: ReviewerRecipe) -> verbs.Report:
    """Proposes, fits, writes the table; what to print."""
    proposers = [RulesDetector(), ModelDetector(recipe.model)]
    untrained = CascadeDetector(proposers, reviewer.Reviewer({}, 0.0))
    rows: list[reviewer.Features] = []
    truth: list[bool] = []
    for one in annotated(recipe):
        proposed = untrained.propose(one.session)
        rows += reviewer.features(one.session, proposed)
        truth += reviewer.truth(one, proposed)
    made = reviewer.fit(rows, truth, recipe.strength)
    path = Path(recipe.output_dir) / REVIEWER
    made.save(path)
    return {"wrote": str(path), "candidates": len(rows), "true": sum(truth)}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs as a verb of `tamis` does; the same exit codes and messages."""
    verbs.VERBS["train"] = verbs.Verb(ReviewerRecipe, train, "sessions -> a reviewer of proposals")
    return cli.main(["train", *(sys.argv[1:] if argv is None else argv)])


if __name__ == "__main__":
    raise SystemExit(main())
