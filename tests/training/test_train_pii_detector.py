"""The scripts that train the detector and its reviewer, with the smallest encoder: a folder that tamis can use."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
import yaml
from huggingface_hub import ModelCard

import tiny
from tamis.pii.detect.cascade import CascadeDetector
from tamis.pii.detect.model import ModelDetector
from tamis.pii.detect.rules import RulesDetector
from tamis.pii.reviewer import load
from tamis.pii.sessions import Message, Session

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def the_scripts_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "training"))


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("detector")
    return {
        "output_dir": str(folder / "run"),
        "model_name_or_path": tiny.saved_encoder(folder / "encoder"),
        "sessions": 12,
        "density": [0.3],
        "window": 96,
        "overlap": 32,
        "epochs": 1.0,
        "eval_steps": 20,
        "measured": 3,
        "card": str(ROOT / "model_cards" / "MathEd-PII-detector-tamis" / "card.yaml"),
    }


def call(
    name: str, recipe: dict[str, object], folder: Path, capsys: pytest.CaptureFixture[str]
) -> dict[str, object]:
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    assert importlib.import_module(name).main(["--config", str(folder / "recipe.yaml"), "--format", "json"]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith('{"wrote"')]
    return dict(json.loads(said[-1]))


def test_a_detector_and_its_reviewer_are_made_and_used(
    recipe: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = call("train_pii_detector", recipe, tmp_path, capsys)
    model = Path(str(report["wrote"]))
    detector = ModelDetector(model)
    assert detector.threshold == report["threshold"] and (detector.window, detector.overlap) == (96, 32)
    card = ModelCard.load(model / "README.md")
    assert card.data.license == "apache-2.0" and card.data.pipeline_tag == "token-classification"
    assert card.data.eval_results and "0.3 spans a message" in card.content
    assert str(tmp_path) not in card.content and str(recipe["model_name_or_path"]) not in card.content
    asked = {"output_dir": str(tmp_path), "model": str(model), "sessions": 12, "density": [0.3]}
    report = call("train_pii_reviewer", asked, tmp_path, capsys)
    cascade = CascadeDetector([RulesDetector(), detector], load(Path(str(report["wrote"]))))
    found = cascade.detect(Session("s", (Message(0, "student", "hi my name is Emma"), Message(1, "tutor", ""))))
    assert len(found) == 2 and cascade.threshold == 0.5


def test_the_same_command_again_trains_no_step(
    recipe: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    once = call("train_pii_detector", recipe, tmp_path, capsys)
    assert call("train_pii_detector", recipe, tmp_path, capsys) == once


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"overlap": 96}, "--overlap 96: has to be more than 0 and less than --window"),
        ({"window": 400}, "--window 400: the encoder reads at most 130 tokens"),
        ({"seed": 1}, "holds something else"),
    ],
)
def test_a_wrong_call_is_refused_in_a_sentence(
    changed: dict[str, object],
    said: str,
    recipe: dict[str, object],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump({**recipe, **changed}))
    assert importlib.import_module("train_pii_detector").main(["--config", str(tmp_path / "recipe.yaml")]) == 2
    assert said in capsys.readouterr().err
