"""The script from annotated sessions to its three files, and the negatives that it counts false positives on."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

from tamis.errors import UsageError
from tamis.pii.sessions import STUDENT, TUTOR

SCRIPTS = Path(__file__).parents[2] / "evaluation"
sys.path.insert(0, str(SCRIPTS))

negatives, script = (importlib.import_module(name) for name in ("negatives", "run_detection"))


def written(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_dialogue_has_no_move_labels_and_its_persona_is_a_person(tmp_path: Path) -> None:
    turns = "Teacher: (generic)Hi Mia, 3 (focus) or 4?|EOM|Mia: mia says: 4|EOM|Student: Miami"
    row = {"student_profile": "Mia is a 7th grade student.", "conversation": turns}
    (found,) = negatives.mathdial(written(tmp_path / "m.jsonl", row))
    assert [(line.role, line.content) for line in found.session] == [
        (TUTOR, "Hi Mia, 3 (focus) or 4?"),
        (STUDENT, "mia says: 4"),
        (STUDENT, "Miami"),
    ]
    assert [[(s.start, s.end) for s in spans] for spans in found.spans or ()] == [[(3, 6)], [(0, 3)], []]


def test_a_problem_has_its_question_and_its_answer_without_the_calculator(tmp_path: Path) -> None:
    row = {"question": "How many?", "answer": "2+2 = <<2+2=4>>4\n#### 4"}
    (found,) = negatives.gsm8k(written(tmp_path / "g.jsonl", row))
    assert [line.content for line in found.session] == ["How many?", "2+2 = 4\n#### 4"] and found.spans == ((), ())


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("detection")
    line = {
        "sequence_id": 0,
        "role": "student",
        "content": "my mail is ana@example.org, and x = 12/25",
        "spans": [],
    }
    line["spans"] = [{"start": 11, "end": 26, "label": "EMAIL_ADDRESS"}]
    gold = written(folder / "gold.jsonl", {"session_id": "s", "source": "test", "messages": [line]})
    spans = written(folder / "peer.jsonl", {"session_id": "s", "sequence_id": 0, "spans": line["spans"]})
    problems = written(folder / "g.jsonl", {"question": "How many?", "answer": "4"})
    wanted = script.DetectionRecipe(
        str(folder / "out"),
        gold=[f"own={gold}"],
        gsm8k=str(problems),
        detector=["presidio", "rules"],
        spans=[f"peer=own={spans}"],
        encoder="none",
        resamples=20,
    )
    report = script.compare(wanted)
    assert report == {"output": f"{folder}/out/detection.md", "own": "1 messages", "GSM8K": "2 messages"}
    return folder / "out"


def test_every_detector_has_its_rows_on_every_set(done: Path) -> None:
    sets = json.loads((done / "detection.json").read_text())["sets"]
    bare = "presidio without DATE_TIME and NRP"
    names = [f"{name}{more}" for name in ("presidio", bare, "rules") for more in ("", ", guarded")]
    assert [*sets["GSM8K"]["rows"]] == names and [*sets["own"]["rows"]] == [*names, "peer", "peer, guarded"]
    for name in ("presidio", "rules, guarded", "peer"):
        assert sets["own"]["rows"][name]["per_label"]["EMAIL_ADDRESS"]["found"] == 1
    assert sets["own"]["rows"]["peer"]["span"]["f1"] == 1


def test_the_page_shows_its_figure(done: Path) -> None:
    assert "(detection.png)" in (done / "detection.md").read_text()
    assert (done / "detection.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((), "no sessions: give --gold"),
        (("--gold", "dev"), "dev: write NAME=FILE"),
        (("--gold", "a=b", "--detector", "best"), "--detector"),
        (("--gold", "a=b", "--spans", "peer=c=d"), "no --gold has that name"),
    ],
)
def test_what_cannot_be_compared_is_refused(tmp_path: Path, flags: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        script.DetectionRecipe(str(tmp_path), **pairs(flags))
    assert words in str(refused.value)


def pairs(flags: tuple[str, ...]) -> dict[str, list[str]]:
    return {name[2:]: [value] for name, value in zip(flags[::2], flags[1::2], strict=True)}
