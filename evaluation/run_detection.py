# /// script
# requires-python = ">=3.11"
# dependencies = ["tamis[pii,report]"]
# ///
"""Every way of finding personal data in one table: privacy, utility and speed, on the same sessions.

python evaluation/run_detection.py --gold dev=../shared/data/pii/dev.jsonl --output_dir run/detection

python evaluation/run_detection.py --gold dev=dev.jsonl --synthetic 500 --mathdial test.jsonl --gsm8k test.jsonl \
    --detector presidio --detector rules --detector model --detector cascade --output_dir run/detection

Writes detection.json (every figure), detection.md (tables) and detection.png. What ran elsewhere stands in the
table by its spans.jsonl, such as a model of another environment or `tamis redact --detector llm` (see README.md).
Detectors read the messages alone, never the gold.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import json

import numpy as np
from negatives import gsm8k, mathdial

from tamis import cli, verbs
from tamis.errors import UsageError
from tamis.figures import privacy_and_utility
from tamis.pii import comparison
from tamis.pii.comparison_page import page
from tamis.pii.detect import chosen
from tamis.pii.detect.chat_models import open_chat
from tamis.pii.detect.detector import Detector
from tamis.pii.detect.llm_choice import all_prompts, choose
from tamis.pii.guard import guarded
from tamis.pii.reading import read_sessions
from tamis.pii.recipe import RedactRecipe
from tamis.pii.segments import MATHS, PACKAGED_ENCODER, named_embedder, segment, segment_all
from tamis.pii.sessions import Annotated
from tamis.provenance import write_whole
from tamis.recipe import at_least, one_of

BESIDE = "presidio+rules"
DETECTORS = ("presidio", BESIDE, "rules", "model", "cascade")
DENSITIES = {"generated": None, "generated, realistic": 0.017}
"""Spans a message; None is the generator's default."""


@dataclass(frozen=True)
class DetectionRecipe:
    """Compares detectors of personal data.

    Args:
        output_dir: Where the three files go.
        gold: Annotated sessions, as NAME=FILE. May be repeated.
        synthetic: How many sessions to generate, once at the default density and once at a realistic one.
        mathdial: MathDial's dialogues, to count false positives on.
        gsm8k: GSM8K's problems, for the same.
        detector: `presidio`, `presidio+rules` (our rules beside Presidio's), `rules`, `model` or `cascade`. May be
            repeated.
        model_name_or_path: The token model of `model`; the one that comes with tamis, by default.
        llm: A chat model, as `tamis redact` takes it. May be repeated: the one that does best on `llm_split` with
            the basic prompt is asked with all three.
        llm_split: Annotated sessions for that choice; none of them may be in a set.
        allow_remote: A host that text may be sent to. May be repeated.
        spans: Spans that were made elsewhere, as DETECTOR=NAME=FILE with a name of `gold`. May be repeated.
        encoder: Embeds messages for the maths segments; `none` goes by their density alone.
        max_sessions: Takes only the first sessions of each set.
        resamples: How often the bootstrap draws.
        seed: Of the bootstrap and the generator.
    """

    output_dir: str
    gold: list[str] = field(default_factory=list)
    synthetic: int = 0
    mathdial: str | None = None
    gsm8k: str | None = None
    detector: list[str] = field(default_factory=lambda: ["presidio", "rules"])
    model_name_or_path: str | None = None
    llm: list[str] = field(default_factory=list)
    llm_split: str | None = None
    allow_remote: list[str] = field(default_factory=list)
    spans: list[str] = field(default_factory=list)
    encoder: str = PACKAGED_ENCODER
    max_sessions: int | None = None
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        for name in self.detector:
            one_of("detector", name, DETECTORS)
        at_least(self, 0, "synthetic", "resamples")
        if not (self.gold or self.synthetic or self.mathdial or self.gsm8k):
            raise UsageError("there are no sessions: give --gold, --synthetic, --mathdial or --gsm8k")
        if self.llm and not self.llm_split:
            raise UsageError("--llm: give --llm_split too, sessions to choose a model on")
        known = [_named(text, 2)[0] for text in self.gold]
        for text in self.spans:
            if _named(text, 3)[1] not in known:
                raise UsageError(f"--spans {text}: no --gold has that name")


def _named(text: str, parts: int) -> list[str]:
    found = text.split("=", parts - 1)
    if len(found) != parts or not all(found):
        raise UsageError(f"{text}: write {'NAME=FILE' if parts == 2 else 'DETECTOR=NAME=FILE'}")
    return found


def opened(name: str, model: str | None = None) -> Detector:
    """The detector of a name; Presidio under its own labels, which the comparison maps."""
    if name.startswith("presidio"):
        from tamis.pii.detect.presidio import PresidioDetector

        return PresidioDetector(beside=[opened("rules")] if name == BESIDE else [], labels={})
    folder = model if name == "model" else None
    return chosen.detector(RedactRecipe("", "", detector=name, model_name_or_path=folder))


def sets(recipe: DetectionRecipe) -> Iterator[tuple[str, str, list[Annotated]]]:
    """Name, kind and sessions of every set that is asked for."""
    for text in recipe.gold:
        name, path = _named(text, 2)
        yield name, "annotated", list(read_sessions(path))
    if recipe.synthetic:
        from tamis.pii.synthetic import generate

        for name, density in DENSITIES.items():
            found = generate(recipe.synthetic, seed=recipe.seed, density=density, templates="held_out")
            yield name, "annotated", list(found)
    for name, path, read in (("MathDial", recipe.mathdial, mathdial), ("GSM8K", recipe.gsm8k, gsm8k)):
        if path:
            yield name, "negative", read(Path(path))


def compare(recipe: DetectionRecipe) -> verbs.Report:
    """Runs every detector on every set, and writes the three files."""
    embed = named_embedder(recipe.encoder)
    detectors = [opened(name, recipe.model_name_or_path) for name in recipe.detector]
    chats = [open_chat(name, allow_remote=recipe.allow_remote) for name in recipe.llm]
    choice = choose(chats, list(read_sessions(str(recipe.llm_split)))) if chats else None
    made = {}
    for name, kind, gold in sets(recipe):
        gold = gold[: recipe.max_sessions]
        segments = segment_all([known.session for known in gold], embed)
        maths = np.array([line.label == MATHS for session in segments for line in session], bool)
        runs = [comparison.run(detector, gold) for detector in detectors]
        if choice:
            sessions = [known.session for known in gold]
            said = all_prompts(chats[choice.chosen], sessions, partial(segment, embed=embed))
            runs += [comparison.judged(one) for one in said]
        for detector, where, path in (_named(text, 3) for text in recipe.spans):
            runs += [comparison.read_run(detector, Path(path), gold)] if where == name else []
        stock = next((found for found in runs if found.name == comparison.BASELINE), None)
        made[name] = {
            "kind": kind,
            "about": comparison.about(gold),
            "rows": comparison.rows(gold, runs, maths, guarded, seed=recipe.seed, resamples=recipe.resamples),
            "baseline_entities": comparison.baseline_entities(stock, gold) if stock else {},
        }
    folder = Path(recipe.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    result = {"sets": made, "llm": asdict(choice) if choice else None}
    write_whole(folder / "detection.json", (json.dumps(result, indent=1) + "\n").encode())
    shown = next((part["rows"] for part in made.values() if part["kind"] == "annotated"), None)
    if shown:
        points = [(name, row["character"]["recall"], row["maths"]["preserved"]) for name, row in shown.items()]
        write_whole(folder / "detection.png", privacy_and_utility(points).light)
    write_whole(folder / "detection.md", page(result, "detection.png" if shown else None).encode())
    sizes = {name: f"{part['about']['messages']:,} messages" for name, part in made.items()}
    return {"output": f"{folder}/detection.md", **sizes}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs as a verb of `tamis` does; the same exit codes and messages."""
    verbs.VERBS["compare"] = verbs.Verb(DetectionRecipe, compare, "annotated sessions -> detectors side by side")
    return cli.main(["compare", *(sys.argv[1:] if argv is None else argv)])


if __name__ == "__main__":
    raise SystemExit(main())
