"""The model that comes with tamis, and the cascade over it: what is shipped works as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from tamis.pii.detect.cascade import CascadeDetector
from tamis.pii.detect.model import ModelDetector, shipped
from tamis.pii.detect.rules import RulesDetector
from tamis.pii.sessions import Message, Session
from tamis.pii.spans import settled

TALK = Session(
    "s",
    tuple(
        Message(i, role, content)
        for i, (role, content) in enumerate(
            [
                ("tutor", "Hi! Who am I working with today?"),
                ("student", "im oluwaseun 😀 my email is olu.b@example.org"),
                ("tutor", "Hi Oluwaseun! Solve 3x + 5 = 20. " + "Take your time. " * 300),
                ("student", "x = 5, and Ben has 12 apples. He gives 4 to Ana. How many are left?"),
                ("student", "f(x) = max(x, 3), 12/25, 100000"),
                ("student", "thanks ms. castellanos!"),
            ]
        )
    ),
)


@pytest.fixture(scope="module")
def model() -> ModelDetector:
    return ModelDetector()


def found(detector: ModelDetector | CascadeDetector) -> list[list[str]]:
    spans = [settled(of, detector.threshold) for of in detector.detect(TALK)]
    return [[m.content[one.start : one.end] for one in of] for m, of in zip(TALK, spans, strict=True)]


def test_people_are_found_and_those_of_problems_stay(model: ModelDetector) -> None:
    cascade = CascadeDetector([RulesDetector(), model])
    for detector in (model, cascade):
        assert found(detector) == [
            [],
            ["oluwaseun", "olu.b@example.org"],
            ["Oluwaseun"],
            [],
            [],
            ["castellanos"],
        ]


def test_a_session_is_found_alike_alone_and_after_another(model: ModelDetector) -> None:
    first = found(model)
    model.detect(Session("t", (Message(0, "student", "hi"),)))
    assert found(model) == first
    assert model.detect(Session("empty", ())) == []


def test_what_is_shipped_is_small_safe_and_has_its_card() -> None:
    folder = Path(shipped())
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "README.md",
        "config.json",
        "model.safetensors",
        "reviewer.json",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert sum(path.stat().st_size for path in folder.iterdir()) < 50_000_000
    card = ModelCard.load(folder / "README.md")
    assert card.data.base_model == "sentence-transformers/all-MiniLM-L6-v2" and card.data.eval_results
    assert "/tmp" not in card.content
