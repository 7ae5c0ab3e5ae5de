# /// script
# requires-python = ">=3.11"
# dependencies = ["tamis[pii,train]"]
# ///
"""A token model that finds personal data in tutoring sessions, from any encoder.

The packaged encoder, offline, on two cores; and a larger one on the GPUs of one machine:

accelerate launch --config_file training/accelerate_configs/cpu_2.yaml training/train_pii_detector.py \
    --config training/recipes/pii_detector.yaml --output_dir run/pii/detector

accelerate launch --config_file training/accelerate_configs/multi_gpu.yaml training/train_pii_detector.py \
    --dataset_name NationalTutoringObservatory/MathEd-PII --output_dir run/pii/deberta

It trains on synthetic sessions of the generator's `train` wording, and on annotated ones where they are named. One
session in ten takes no part: training stops by the loss there. The threshold is chosen on sessions of the `review`
wording; the card's numbers are of the `held_out` wording. No line and no name of one part is in another. The same
command goes on where it was stopped. `OUTPUT_DIR/model` is what `tamis redact --detector model`, a
`pipeline("token-classification")` and Presidio load.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tamis import cli, verbs
from tamis.errors import UsageError
from tamis.hub import cards
from tamis.hub.front_matter import HERE
from tamis.hub.human_facts import read_human_facts
from tamis.names import is_local
from tamis.pii import synthetic, training
from tamis.pii.detect.model import ModelDetector
from tamis.pii.reading import read_sessions
from tamis.pii.segments import PACKAGED_ENCODER
from tamis.pii.sessions import Annotated
from tamis.provenance import claim_folder, write_whole
from tamis.recipe import digest

_PACKAGED = "sentence-transformers/all-MiniLM-L6-v2"
_EXAMPLE = f"""
from tamis.pii.detect.model import ModelDetector  # reads whole sessions

detector = ModelDetector("{HERE}")

from transformers import pipeline  # reads a message alone

find = pipeline("token-classification", "{HERE}", aggregation_strategy="simple")
"""


@dataclass(frozen=True)
class DetectorRecipe:
    """Trains a token model that finds personal data in tutoring sessions.

    Args:
        output_dir: Where the checkpoints and the model go.
        model_name_or_path: The encoder, with a fast tokenizer; `packaged` is a small one from the package index.
        dataset_name: Annotated sessions, beside the synthetic ones. May be repeated.
        sessions: Synthetic sessions of each density.
        density: Spans a message in synthetic sessions. May be repeated.
        window: Most tokens of a window.
        overlap: Tokens that windows share.
        learning_rate: The highest one.
        epochs: Passes over the windows.
        batch_size: Whole windows of a step on each device; of shorter ones it takes more.
        eval_steps: Steps between checkpoints.
        patience: Checkpoints without a lower loss on the held sessions, after which training stops.
        measured: Synthetic sessions of each density that choose the threshold, and that the card's numbers are of.
        card: The card.yaml of what people know of the model.
        name: The name that its card has.
        seed: Of the sessions, the weights and the order.
    """

    output_dir: str
    model_name_or_path: str = "microsoft/deberta-v3-base"
    dataset_name: list[str] = field(default_factory=list)
    sessions: int = 1000
    density: list[float] = field(default_factory=lambda: [0.18, 0.017])
    window: int = 256
    overlap: int = 64
    learning_rate: float = 5e-5
    epochs: float = 2.0
    batch_size: int = 8
    eval_steps: int = 100
    patience: int = 3
    measured: int = 200
    card: str | None = None
    name: str = "MathEd-PII-detector-tamis"
    seed: int = 0


def annotated(recipe: DetectorRecipe) -> Iterator[Annotated]:
    """All sessions with gold: the synthetic ones of each density, then those of the data sets."""
    for i, density in enumerate(recipe.density):
        yield from synthetic.generate(
            sessions=recipe.sessions, seed=recipe.seed + i, density=density, templates="train"
        )
    for name in recipe.dataset_name:
        yield from (one for one in read_sessions(name) if one.spans is not None)


def train(recipe: DetectorRecipe) -> verbs.Report | None:
    """Trains, chooses the threshold, measures, and writes the folder with its card; what to print, if anything."""
    if not 0 < recipe.overlap < recipe.window:
        raise UsageError(f"--overlap {recipe.overlap}: has to be more than 0 and less than --window")
    sessions = [*annotated(recipe)]
    held = [one for one in sessions if training.is_held(one.session.session_id)]
    model, tokenizer = training.encoder(recipe.model_name_or_path, recipe.seed)
    if recipe.window + 2 > (most := int(getattr(model.config, "max_position_embeddings", 0) or 1 << 30)):
        raise UsageError(f"--window {recipe.window}: the encoder reads at most {most} tokens, with its own two")
    form = (tokenizer, recipe.window, recipe.overlap)
    rows = training.examples((one for one in sessions if not training.is_held(one.session.session_id)), *form)
    held_rows = training.examples(held, *form, alone=0)
    folder = claim_folder(recipe, _identity(recipe, rows), ignore=("checkpoints", "model"))
    names = ("window", "overlap", "learning_rate", "epochs", "batch_size", "eval_steps", "patience", "seed")
    settings = training.Settings(folder, **{name: getattr(recipe, name) for name in names})
    trainer = training.train(model, tokenizer, rows, held_rows, settings)
    if not trainer.is_world_process_zero():
        return None
    made = training.save(trainer, tokenizer, settings)
    # A name that stays is worse than a word that goes.
    threshold = training.best_threshold(ModelDetector(made), [*unread(recipe)], beta=2.0)
    training.save(trainer, tokenizer, settings, threshold)
    results = training.results(ModelDetector(made), "MathEd-PII-synthetic-tamis", measured(recipe))
    write_card(made, recipe, results)
    return {
        "wrote": str(made),
        "sessions": len(sessions) - len(held),
        "windows": len(rows),
        "steps": trainer.state.global_step,
        "threshold": threshold,
        "span F1": {result["dataset"]["name"]: result["metrics"][0]["value"] for result in results},
    }


def _identity(recipe: DetectorRecipe, rows: Sequence[training.Row]) -> str:
    """What decides the model's weights: checkpoints of anything else are not gone on from."""
    decides = {
        name: value for name, value in vars(recipe).items() if name not in ("output_dir", "card", "measured")
    }
    return digest({**decides, "rows": training.fingerprint(rows)})


def unread(recipe: DetectorRecipe) -> Iterator[Annotated]:
    """Sessions of wording that the model has not seen: on what it knows a threshold would be too low."""
    for i, density in enumerate(recipe.density):
        yield from synthetic.generate(
            sessions=recipe.measured, seed=recipe.seed + 500 + i, density=density, templates="review"
        )


def measured(recipe: DetectorRecipe) -> dict[str, list[Annotated]]:
    """The sessions that the card's numbers are of, by what it calls them: of the held-out wording."""
    return {
        f"synthetic sessions of the held-out wording, {density} spans a message": [
            *synthetic.generate(
                sessions=recipe.measured, seed=recipe.seed + 1000 + i, density=density, templates="held_out"
            )
        ]
        for i, density in enumerate(recipe.density)
    }


def write_card(folder: Path, recipe: DetectorRecipe, results: list[dict[str, Any]]) -> None:
    """The model's README.md: what its run says, and what people know."""
    base = _PACKAGED if recipe.model_name_or_path == PACKAGED_ENCODER else recipe.model_name_or_path
    facts = {
        "name": recipe.name,
        "library_name": "transformers",
        "pipeline_tag": "token-classification",
        **({} if is_local(base) else {"base_model": base}),
        "datasets": [name for name in recipe.dataset_name if not is_local(name)],
        "example": _EXAMPLE,
        "results": results,
    }
    human = read_human_facts(recipe.card, "model") if recipe.card else {}
    card = cards.render("model", {name: value for name, value in facts.items() if value}, human)
    write_whole(folder / "README.md", card.encode())


def main(argv: Sequence[str] | None = None) -> int:
    """Runs as a verb of `tamis` does; the same exit codes and messages."""
    verbs.VERBS["train"] = verbs.Verb(DetectorRecipe, train, "sessions -> a token model")
    return cli.main(["train", *(sys.argv[1:] if argv is None else argv)])


if __name__ == "__main__":
    raise SystemExit(main())
