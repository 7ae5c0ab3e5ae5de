"""A token model: it learns, goes on after a kill as if undisturbed, and others can load it."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file

import tiny
from tamis.errors import UsageError
from tamis.pii import training
from tamis.pii.detect.model import ModelDetector
from tamis.pii.sessions import Annotated, Message, Session
from tamis.pii.spans import Span, settled

NAME = "zoqx"  # its letters stand nowhere else, so that the smallest encoder learns it


def sessions(number: int, seed: int = 0) -> Iterator[Annotated]:
    rng = random.Random(seed)
    for i in range(number):
        messages, spans = [], []
        for j in range(rng.randint(3, 6)):
            content = rng.choice(
                [f"hi {NAME}!", "what is 3 + 4 = 7", f"ask {NAME}, ok", "half of it", "add 12 then"]
            )
            messages.append(Message(j, rng.choice(["student", "tutor"]), content))
            start = content.find(NAME)
            spans.append((Span(start, start + len(NAME), "PERSON"),) if start >= 0 else ())
        yield Annotated(Session(f"s{i}", tuple(messages)), tuple(spans))


@pytest.fixture(scope="module")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny.saved_encoder(tmp_path_factory.mktemp("encoder"))


def run(folder: Path, encoder_folder: str) -> tuple[transformers.Trainer, Any]:
    """A short training; the windows are smaller than the sessions."""
    settings = training.Settings(
        folder, window=48, overlap=16, learning_rate=5e-3, epochs=8, batch_size=8, eval_steps=12
    )
    model, tokenizer = training.encoder(encoder_folder)
    rows = training.examples(sessions(60), tokenizer, 48, 16, alone=2)
    trainer = training.train(
        model, tokenizer, rows, training.examples(sessions(6, 1), tokenizer, 48, 16, 0), settings
    )
    training.save(trainer, tokenizer, settings, 0.5)
    return trainer, tokenizer


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, encoder_folder: str) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    run(folder, encoder_folder)
    return folder / "model"


@pytest.fixture(scope="module")
def detector(trained: Path) -> ModelDetector:
    return ModelDetector(trained)


def found(detector: ModelDetector, *contents: str) -> list[list[str]]:
    session = Session("s", tuple(Message(i, "student", content) for i, content in enumerate(contents)))
    spans = [settled(one, detector.threshold) for one in detector.detect(session)]
    return [[c[span.start : span.end] for span in of] for c, of in zip(contents, spans, strict=True)]


def test_a_name_is_found_wherever_it_stands(detector: ModelDetector) -> None:
    long = "add 12 then " * 40  # many windows of it
    contents = ("", f"hi {NAME}!", "half of it", f"{long}hi {NAME}! {long}", f"😀 hi {NAME}😀 \u200f", "3 + 4 = 7")
    assert found(detector, *contents) == [[], [NAME], [], [NAME], [NAME], []]


def test_after_a_kill_training_comes_to_the_same_weights(
    trained: Path, encoder_folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = transformers.DataCollatorForTokenClassification.__call__
    calls = iter(range(40))

    def dies(self: Any, *given: Any, **more: Any) -> Any:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return real(self, *given, **more)

    monkeypatch.setattr(transformers.DataCollatorForTokenClassification, "__call__", dies)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, encoder_folder)
    monkeypatch.undo()
    last = sorted((tmp_path / "checkpoints").glob("checkpoint-*"))[-1]
    torn = tmp_path / "checkpoints" / "checkpoint-900"
    shutil.copytree(last, torn)
    (torn / "trainer_state.json").unlink()
    trainer, _ = run(tmp_path, encoder_folder)
    assert trainer.state.global_step > int(last.name.rpartition("-")[2])
    mine, undisturbed = (load_file(folder / "model.safetensors") for folder in (tmp_path / "model", trained))
    assert all(torch.equal(mine[name], undisturbed[name]) for name in undisturbed)


def test_the_folder_holds_halves_and_loads_as_float32(trained: Path) -> None:
    assert {tensor.dtype for tensor in load_file(trained / "model.safetensors").values()} == {torch.float16}
    assert transformers.AutoModelForTokenClassification.from_pretrained(trained).dtype == torch.float32


def test_a_pipeline_loads_it(trained: Path) -> None:
    find = transformers.pipeline("token-classification", str(trained), aggregation_strategy="simple", device=-1)
    ((one),) = find(f"hi {NAME}!")
    assert one["entity_group"] == "PERSON" and 3 <= one["start"] < one["end"] == 3 + len(NAME)


def test_presidio_loads_it(trained: Path) -> None:
    from presidio_analyzer.predefined_recognizers.ner import HuggingFaceNerRecognizer

    recognizer = HuggingFaceNerRecognizer(
        model_name=str(trained), device="cpu", label_mapping={"PERSON": "PERSON"}
    )
    recognizer.load()
    (one,) = recognizer.analyze(f"hi {NAME}!", ["PERSON"], None)
    assert one.entity_type == "PERSON" and 3 <= one.start < one.end == 3 + len(NAME)


def test_only_tokens_that_a_window_owns_count(encoder_folder: str) -> None:
    _, tokenizer = training.encoder(encoder_folder)
    rows = training.examples(sessions(9), tokenizer, 24, 8, alone=0)
    counted = sum(tag >= 0 for row in rows for tag in row["labels"])
    whole = training.examples(sessions(9), tokenizer, 10_000, 8, alone=0)
    assert len(whole) == 9 < len(rows)
    assert counted == sum(tag >= 0 for row in whole for tag in row["labels"])


def test_the_word_embeddings_stay(trained: Path, encoder_folder: str) -> None:
    name = "embeddings.word_embeddings.weight"
    before = load_file(Path(encoder_folder) / "model.safetensors")[name]
    after = load_file(trained / "model.safetensors")[f"bert.{name}"]
    assert torch.equal(after[: len(before)], before.half())


def test_rare_tags_weigh_more_and_not_too_much(encoder_folder: str) -> None:
    _, tokenizer = training.encoder(encoder_folder)
    weights = training.class_weights(training.examples(sessions(20), tokenizer, 48, 16))
    assert weights[0] == 1 and 1 < weights[1] <= 2 and weights[3:].eq(2).all()


@pytest.mark.parametrize("settings", [None, {"window": 8, "overlap": 2}])
def test_another_model_is_refused_in_a_sentence(
    settings: dict[str, int] | None, trained: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(trained, other)
    config = json.loads((other / "config.json").read_text())
    config |= {"tamis_pii": settings}
    if settings:
        config["id2label"]["0"] = "NOTHING"
        config["label2id"] = {"NOTHING": 0}
    (other / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match=r"not a model of training/train_pii_detector\.py"):
        ModelDetector(other)


def test_what_cannot_be_trained_on_is_refused(tmp_path: Path, encoder_folder: str) -> None:
    with pytest.raises(UsageError, match="the encoder cannot be loaded"):
        training.encoder(str(tmp_path / "nothing"))
    _, tokenizer = training.encoder(encoder_folder)
    with pytest.raises(UsageError, match="session s0: has no spans"):
        training.examples([replace(next(sessions(1)), spans=None)], tokenizer, 48, 16)


def test_the_threshold_keeps_what_is_found_and_drops_the_rest() -> None:
    class Known:
        name, threshold = "known", 0.5

        def detect(self, session: Session) -> list[list[Span]]:
            return [
                [Span(one.start, one.end, one.label, 0.7) for one in spans] or [Span(0, 2, "AGE", 0.4)]
                for spans in by_id[session.session_id]
            ]

    gold = [*sessions(8)]
    by_id = {one.session.session_id: one.spans or () for one in gold}
    assert training.best_threshold(Known(), gold) == 0.7
