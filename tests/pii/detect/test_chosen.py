"""A recipe names its detector, and the redaction runs with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chat_endpoint import ChatEndpoint, finds
from tamis.errors import UsageError
from tamis.pii.recipe import RedactRecipe
from tamis.pii.redact import redact


def text(tmp_path: Path, said: str, **more: Any) -> str:
    """What comes out of one line."""
    (tmp_path / "chat.txt").write_text(said)
    out = tmp_path / f"out-{len([*tmp_path.iterdir()])}"
    return redact(
        RedactRecipe(str(tmp_path / "chat.txt"), str(out), **{"detector": "rules", **more})
    ).file.read_text()


def test_a_roster_names_people(tmp_path: Path) -> None:
    (tmp_path / "names").write_text("\ufeffQuillon\n\nXanthe Ode\n")
    assert (
        text(tmp_path, "did quillon finish 3 + 4?", roster=str(tmp_path / "names")) == "did <PERSON> finish 3 + 4?"
    )
    (tmp_path / "names").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="is not UTF-8"):
        text(tmp_path, "x", roster=str(tmp_path / "names"))


def test_a_chat_model_is_asked_where_text_may_be_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with ChatEndpoint(finds(("jamal", "PERSON"))) as endpoint:
        flags = {"detector": "llm", "llm": f"{endpoint.url}#some", "llm_prompt": "basic"}
        assert text(tmp_path, "hi jamal, 3 + 4 = 7", **flags) == "hi <PERSON>, 3 + 4 = 7"
        assert len(endpoint.requests) == 2  # the second looks at what was tagged
    with pytest.raises(UsageError, match=r"allow it with --allow_remote example\.org"):
        text(tmp_path, "hi", detector="llm", llm="https://example.org/v1#some")


def test_the_default_is_the_cascade_and_says_nothing_on_the_way(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert text(tmp_path, "my name is selam, 3 + 4 = 7", detector="cascade") == "my name is <PERSON>, 3 + 4 = 7"
    assert RedactRecipe("x", "y").detector == "cascade"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"detector": "llm"}, "needs --llm"),
        ({"detector": "rules", "llm": "packaged"}, "--llm: is for llm and cascade, not for rules"),
        ({"detector": "model", "allow_remote": ["x.org"]}, "model sends nothing anywhere"),
        (
            {"detector": "rules", "model_name_or_path": "x"},
            "--model_name_or_path: is for model and presidio, not for rules",
        ),
    ],
)
def test_flags_that_do_not_fit_the_detector_are_named(flags: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        RedactRecipe("x", "y", **flags)
