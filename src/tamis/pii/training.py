"""Annotated sessions to a token classification model: windows, weights, training, threshold, the folder."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers import (
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForTokenClassification,
    EarlyStoppingCallback,
    Trainer,
    TrainingArguments,
)

from tamis.errors import UsageError
from tamis.metrics.spans import count, score, shares
from tamis.models import quiet
from tamis.pii import tokens
from tamis.pii.detect.detector import Detector
from tamis.pii.detect.model import SETTINGS
from tamis.pii.segments import PACKAGED_ENCODER, packaged_encoder
from tamis.pii.sessions import Annotated, Session
from tamis.pii.spans import Span, settled

Row = dict[str, list[int]]
_GREATEST_WEIGHT = 2.0
_ALONE = 8
"""Each so many-th session is also shown message by message and without markers, as a `pipeline` shows them."""


@dataclass(frozen=True)
class Settings:
    """How a model is trained.

    Attributes:
        folder: Where checkpoints and the model go.
        window: Most tokens of a window.
        overlap: Tokens that windows share.
        learning_rate: The highest, after a warm-up over a twentieth of the steps; it falls to zero.
        epochs: Passes over the windows.
        batch_size: Whole windows of a step, on each device; of shorter ones it takes more.
        eval_steps: Steps between checkpoints; at each, the loss on the held sessions is taken.
        patience: Checkpoints without a better loss, after which training stops.
        seed: Of weights, order and dropout.
    """

    folder: Path
    window: int = 256
    overlap: int = 64
    learning_rate: float = 1e-4
    epochs: float = 2.0
    batch_size: int = 8
    eval_steps: int = 100
    patience: int = 3
    seed: int = 0


def is_held(session_id: str) -> bool:
    """Whether a session is of the split that no gradient sees: one in ten, by its id alone."""
    return int(hashlib.sha256(session_id.encode()).hexdigest()[:8], 16) % 10 == 0


def encoder(name: str, seed: int = 0) -> tuple[Any, Any]:
    """An encoder with a new head over our tags and its tokenizer, which holds the markers.

    The word embeddings stay as they are: names that no training session holds then stay near those that they were
    near in pretraining.

    Raises:
        UsageError: There is no such encoder, or it has no fast tokenizer.
    """
    path = str(packaged_encoder()) if name == PACKAGED_ENCODER else name
    transformers.set_seed(seed)
    try:
        tokenizer = AutoTokenizer.from_pretrained(path)
        model = AutoModelForTokenClassification.from_pretrained(
            path,
            dtype=torch.float32,
            use_safetensors=True,
            num_labels=len(tokens.TAGS),
            id2label=dict(enumerate(tokens.TAGS)),
            label2id={tag: i for i, tag in enumerate(tokens.TAGS)},
            # With it a CPU takes the slow way through attention; the other dropout stays.
            attention_probs_dropout_prob=0.0,
        )
    except (OSError, ValueError, ImportError) as error:
        raise UsageError(f"{name}: the encoder cannot be loaded: {' '.join(str(error).split())}") from error
    if not tokenizer.is_fast:
        raise UsageError(f"{name}: its tokenizer gives no offsets; take an encoder with a fast tokenizer")
    tokenizer.add_tokens([*tokens.MARKERS], special_tokens=True)
    model.resize_token_embeddings(len(tokenizer))
    model.get_input_embeddings().weight.requires_grad_(False)
    return model, tokenizer


def examples(
    annotated: Iterable[Annotated], tokenizer: Any, window: int, overlap: int, alone: int = _ALONE
) -> list[Row]:
    """Windows with their tags, of which only those of the tokens that a window owns count.

    Args:
        annotated: Sessions with gold spans.
        tokenizer: As `tokens.stream` wants it.
        window: Most tokens of a window.
        overlap: Tokens that windows share.
        alone: Each so many-th session is also shown message by message; none, if 0.

    Raises:
        UsageError: A session has no gold.
    """
    made = []
    for i, one in enumerate(annotated):
        if one.spans is None:
            raise UsageError(f"session {one.session.session_id}: has no spans to train on")
        made += _windows(one.session, one.spans, tokens.segments(one.session), tokenizer, window, overlap)
        if alone and i % alone == 0:
            for message, spans in zip(one.session, one.spans, strict=True):
                single = Session(one.session.session_id, (message,))
                made += _windows(single, [spans], None, tokenizer, window, overlap)
    return made


def _windows(
    session: Session,
    spans: Sequence[Sequence[Span]],
    segments: Sequence[str] | None,
    tokenizer: Any,
    window: int,
    overlap: int,
) -> list[Row]:
    stream = tokens.stream(session, segments, tokenizer)
    gold = tokens.tags(stream, spans)
    made = []
    for one in tokens.windows(len(stream.ids), window, overlap):
        labels = np.full(one.end - one.begin, tokens.IGNORED)
        labels[one.owned_from - one.begin : one.owned_to - one.begin] = gold[one.owned_from : one.owned_to]
        if (labels == tokens.IGNORED).all():
            continue
        ids = [tokenizer.cls_token_id, *stream.ids[one.begin : one.end].tolist(), tokenizer.sep_token_id]
        made.append(
            {
                "input_ids": ids,
                "attention_mask": [1] * len(ids),
                "labels": [tokens.IGNORED, *labels.tolist(), tokens.IGNORED],
            }
        )
    return made


def batches(rows: Sequence[Row], size: int, seed: int) -> list[list[Row]]:
    """The rows in groups of about the same length and of as many tokens as so many of the longest rows have."""
    order = np.random.default_rng(seed).permutation(len(rows))
    by_length = sorted((rows[i] for i in order), key=lambda row: len(row["input_ids"]))
    most = size * len(by_length[-1]["input_ids"]) if by_length else 0
    made: list[list[Row]] = []
    for row in by_length:
        if made and (len(made[-1]) + 1) * len(row["input_ids"]) <= most:
            made[-1].append(row)
        else:
            made.append([row])
    return made


def class_weights(rows: Sequence[Row]) -> torch.Tensor:
    """`[TAGS]` float32: the root of how much rarer a tag is than `O`, from 1 to 2: rare ones are learnt too."""
    seen = np.bincount([tag for row in rows for tag in row["labels"] if tag >= 0], minlength=len(tokens.TAGS))
    weights = np.sqrt(seen[0] / np.maximum(seen, 1)).clip(1.0, _GREATEST_WEIGHT)
    return torch.tensor(weights, dtype=torch.float32)


def fingerprint(rows: Sequence[Row]) -> str:
    """Twelve hexadecimal digits that name what is trained on."""
    total = hashlib.sha256()
    for row in rows:
        total.update(json.dumps([row["input_ids"], row["labels"]]).encode())
    return total.hexdigest()[:12]


def train(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Row],
    held: Sequence[Row],
    settings: Settings,
) -> Trainer:
    """The trainer after training, its model the one with the least loss on the held windows.

    A run goes on from the last checkpoint that is whole, and comes to what it would have come to undisturbed.
    """
    weights = class_weights(rows)
    collate = DataCollatorForTokenClassification(tokenizer)
    quiet()
    arguments = TrainingArguments(
        output_dir=str(settings.folder / "checkpoints"),
        learning_rate=settings.learning_rate,
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=1,  # an example is a whole batch
        per_device_eval_batch_size=1,
        warmup_steps=0.05,
        weight_decay=0.01,
        train_sampling_strategy="random",  # the order by length is another one after a stop
        eval_strategy="steps",
        save_strategy="steps",
        eval_steps=settings.eval_steps,
        save_steps=settings.eval_steps,
        logging_steps=max(settings.eval_steps // 4, 1),
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
        seed=settings.seed,
        use_cpu=not torch.cuda.is_available(),
        dataloader_pin_memory=torch.cuda.is_available(),
        disable_tqdm=not sys.stderr.isatty(),
        report_to="none",
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=batches(rows, settings.batch_size, settings.seed),
        eval_dataset=batches(held, settings.batch_size, settings.seed),
        data_collator=lambda given: collate([row for batch in given for row in batch]),
        compute_loss_func=_weighted(weights),
        callbacks=[EarlyStoppingCallback(settings.patience)],
    )
    trainer.train(resume_from_checkpoint=_last_whole(Path(str(arguments.output_dir))))
    return trainer


def _last_whole(folder: Path) -> str | None:
    """The last checkpoint; its state is written behind all else, so that one without it was cut short."""
    whole = [path.parent for path in folder.glob("checkpoint-*/trainer_state.json")]
    return str(max(whole, key=lambda path: int(path.name.rpartition("-")[2]))) if whole else None


def save(trainer: Trainer, tokenizer: Any, settings: Settings, threshold: float | None = None) -> Path:
    """The model's folder, `settings.folder / "model"`, its weights in float16.

    What loads it computes in float32, as its configuration says.
    """
    model, folder = trainer.accelerator.unwrap_model(trainer.model), settings.folder / "model"
    known = {"window": settings.window, "overlap": settings.overlap, "threshold": threshold}
    setattr(model.config, SETTINGS, {name: value for name, value in known.items() if value is not None})
    halves = {name: tensor.half() for name, tensor in model.state_dict().items()}
    model.save_pretrained(folder, state_dict=halves)
    tokenizer.save_pretrained(folder)
    return folder


def best_threshold(detector: Detector, held: Sequence[Annotated], beta: float = 1.0) -> float:
    """The threshold with the best F-score over spans on sessions that were held back; the highest of several.

    Args:
        detector: The detector.
        held: The sessions, with gold.
        beta: How much more recall counts than precision.
    """
    found = [detector.detect(one.session) for one in held]

    def f(threshold: float) -> float:
        kept = [[settled(spans, threshold) for spans in session] for session in found]
        sums = count(held, kept).by_session().sum(0)
        precision, recall = (float(shares(sums)["span"][name]) for name in ("precision", "recall"))
        below = beta**2 * precision + recall
        return (1 + beta**2) * precision * recall / below if below > 0 else 0.0

    return max((round(step * 0.05, 2) for step in range(2, 20)), key=lambda threshold: (f(threshold), threshold))


def _weighted(weights: torch.Tensor) -> Callable[..., torch.Tensor]:
    """The loss of a batch: cross entropy by class weights, a mean over the tokens that count."""

    def loss(outputs: Any, labels: torch.Tensor, num_items_in_batch: Any = None) -> torch.Tensor:
        logits = outputs["logits"].float().flatten(0, 1)
        total = torch.nn.functional.cross_entropy(
            logits, labels.flatten(), weights.to(logits.device), ignore_index=tokens.IGNORED, reduction="sum"
        )
        return total / (num_items_in_batch if num_items_in_batch is not None else (labels >= 0).sum().clamp(min=1))

    return loss


def results(detector: Detector, data: str, sets: Mapping[str, Sequence[Annotated]]) -> list[dict[str, Any]]:
    """A card's results.

    Args:
        detector: The detector, at its own threshold.
        data: The data set's name on the Hub.
        sets: Annotated sessions by what the card calls them.
    """
    made = []
    for name, gold in sets.items():
        found = [[settled(spans, detector.threshold) for spans in detector.detect(one.session)] for one in gold]
        scores = score(gold, found, resamples=0)
        false = 1000 * scores["span"]["false_positives"] / scores["messages"]
        values = [
            ("f1", "span F1", scores["span"]["f1"]),
            ("precision", "span precision", scores["span"]["precision"]),
            ("recall", "span recall", scores["span"]["recall"]),
            ("recall", "recall of PERSON", scores["per_label"].get("PERSON", {}).get("recall")),
            ("false_positives", "false positives per thousand messages", round(false, 2)),
            ("maths_preserved", "maths preserved", scores["maths"]["preserved"]),
        ]
        known = [{"type": kind, "name": what, "value": value} for kind, what, value in values if value is not None]
        task = {"type": "token-classification", "name": "Personal data in tutoring chat"}
        made.append({"task": task, "dataset": {"type": data, "name": name}, "metrics": known})
    return made
