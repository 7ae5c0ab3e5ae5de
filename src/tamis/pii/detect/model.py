"""Personal data by a token model: whole sessions in packed windows, tags to spans with exact offsets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tamis.errors import UsageError, missing_extra
from tamis.models import quiet
from tamis.pii import tokens
from tamis.pii.sessions import Session
from tamis.pii.spans import Span

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = "tamis_pii"
"""The key of a model's `config.json` that says how it was trained: window, overlap, threshold."""

FLOOR = 0.05
"""A span below this probability is not reported at all; a reviewer never sees it."""

_SURE = 0.9
_BATCH = 8  # windows; more are no faster on a CPU


def shipped() -> str:
    """The folder of the model that comes with tamis."""
    return str(files("tamis.pii").joinpath("weights"))


class ModelDetector:
    """Finds personal data with a token classification model that `training/train_pii_detector.py` made.

    A session is read as one stream of tokens in overlapping windows (see `tokens`), so that the messages before
    and after one are its context, as in training. A name that the model is sure of somewhere in a session makes
    its other occurrences there more likely, in proportion to what the model thinks of them: the same name in a
    word problem stays unlikely. It computes in float32 on a CPU.

    Attributes:
        name: `model`.
        threshold: What training chose on sessions of its own.
        folder: Where the model lies.

    Args:
        folder: A model's folder; the one that comes with tamis, if None.
        device: Where it computes.

    Raises:
        UsageError: There is no such model there, or an extra is missing.
    """

    name = "model"

    def __init__(self, folder: str | Path | None = None, device: str = "cpu") -> None:
        try:
            import torch
            from transformers import AutoModelForTokenClassification, AutoTokenizer
        except ImportError as error:
            raise missing_extra("pii", error) from error
        quiet()
        self.folder = str(folder or shipped())
        if device == "cpu":
            torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(self.folder)
            model = AutoModelForTokenClassification.from_pretrained(
                self.folder, dtype=torch.float32, use_safetensors=True
            )
        except (OSError, ValueError) as error:
            said = " ".join(str(error).split())
            raise UsageError(f"{self.folder}: the model cannot be loaded: {said}") from error
        settings = getattr(model.config, SETTINGS, None)
        tags = tuple(model.config.id2label[i] for i in range(model.config.num_labels))
        if settings is None or tags != tokens.TAGS:
            raise UsageError(f"{self.folder}: not a model of training/train_pii_detector.py; train one with it")
        self._model = model.to(device).eval()
        self._device = device
        self.window, self.overlap = int(settings["window"]), int(settings["overlap"])
        self.threshold = float(settings.get("threshold", 0.5))

    def detect(self, session: Session) -> list[list[Span]]:
        """The spans of each message; see `detector.Detector`."""
        stream = tokens.stream(session, tokens.segments(session), self._tokenizer)
        probabilities = self._probabilities(stream)
        first = np.searchsorted(stream.message, np.arange(len(session) + 1))
        found = []
        for i, message in enumerate(session):
            own = slice(first[i] + 1, first[i + 1])  # behind the marker
            found.append(tokens.spans(message.content, stream.start[own], probabilities[own], FLOOR))
        return _repeated(session, found)

    def _probabilities(self, stream: tokens.Stream) -> NDArray[np.float32]:
        """`[tokens, TAGS]`."""
        import torch

        made = np.zeros((len(stream.ids), len(tokens.TAGS)), np.float32)
        for batch in _batches(tokens.windows(len(stream.ids), self.window, self.overlap)):
            ids, mask = tokens.padded([stream.ids[one.begin : one.end] for one in batch], self._tokenizer)
            with torch.inference_mode():
                logits = self._model(
                    input_ids=torch.from_numpy(ids).to(self._device),
                    attention_mask=torch.from_numpy(mask).to(self._device),
                ).logits
            found = logits.float().softmax(-1).cpu().numpy()
            for i, one in enumerate(batch):
                behind = 1 - one.begin  # the model's own first token
                own = found[i, one.owned_from + behind : one.owned_to + behind]
                made[one.owned_from : one.owned_to] = own
        return made


def _batches(windows: list[tokens.Window]) -> Iterator[list[tokens.Window]]:
    for i in range(0, len(windows), _BATCH):
        yield windows[i : i + _BATCH]


def _repeated(session: Session, found: list[list[Span]]) -> list[list[Span]]:
    """The spans, those of a name that is sure elsewhere in the session with a higher score."""
    best: dict[str, float] = {}
    for message, spans in zip(session, found, strict=True):
        for span in spans:
            if span.label == "PERSON" and span.score >= _SURE:
                key = message.content[span.start : span.end].casefold()
                best[key] = max(span.score, best.get(key, 0.0))
    if not best:
        return found

    def raised(content: str, span: Span) -> Span:
        sure = best.get(content[span.start : span.end].casefold(), 0.0)
        if span.label != "PERSON" or sure <= span.score:
            return span
        return replace(span, score=float(np.sqrt(sure * span.score)), reason="token model, name of the session")

    return [[raised(m.content, span) for span in spans] for m, spans in zip(session, found, strict=True)]
