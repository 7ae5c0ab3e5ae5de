"""Segments: which neighbours join, where they stop, and what the verb writes of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tamis.cli import main
from tamis.errors import UsageError
from tamis.pii.density import vocabulary
from tamis.pii.recipe import SegmentRecipe
from tamis.pii.segments import MATHS, NON_MATHS, Embed, segment, segment_all, sentence_embedder, write_segments
from tamis.pii.sessions import Message, Session

SAMPLE = Path(__file__).with_name("segment_sample.jsonl")
ANGLES = {"on": 0.0, "near": 0.9, "far": 1.2, "off": 3.0}


def session(*texts: str) -> Session:
    return Session("s", tuple(Message(i, "student", text) for i, text in enumerate(texts)))


def angled(texts: Sequence[str]) -> np.ndarray:
    """A unit vector a text, at the angle of its first word; maths is at 0."""
    angles = np.array([ANGLES.get(text.partition(" ")[0], 0.0) for text in texts])
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def numbers(*texts: str, similarity: float = 0.5, embed: Embed | None = angled) -> list[int | None]:
    return [one.segment for one in segment(session(*texts), embed, similarity=similarity)]


@pytest.fixture(scope="module")
def minilm() -> Embed:
    return sentence_embedder()


def test_without_embeddings_the_anchors_are_the_maths() -> None:
    assert numbers("hi", "3 + 4 = 7", "ok", "7 / 2", "8 / 2", embed=None) == [None, 0, None, 1, 1]


def test_neighbours_join_on_both_sides_until_one_is_too_far() -> None:
    assert numbers("near", "off", "near", "3 + 4 = 7", "near", "off", "near") == [None, None, 0, 0, 0, None, None]


def test_the_centroid_runs_so_that_a_neighbour_lets_the_next_one_in() -> None:
    """The third is too far from the anchor alone, and near enough to it and its neighbour together."""
    assert np.cos(1.2) < 0.5 < np.cos(1.2 - 0.45)
    assert numbers("3 + 4 = 7", "far") == [0, None]
    assert numbers("3 + 4 = 7", "near", "far") == [0, 0, 0]
    assert numbers("far", "near", "3 + 4 = 7") == [0, 0, 0]


def test_segments_that_meet_are_one_and_others_are_not() -> None:
    assert numbers("1 + 1", "near", "2 + 2", "off", "3 + 3") == [0, 0, 0, None, 1]
    assert numbers("near", "1 + 1", "off", "near", "2 + 2") == [0, 0, None, 1, 1]


def test_a_session_without_maths_and_one_without_messages_have_no_segment() -> None:
    assert numbers("hi", "near") == [None, None]
    assert segment_all([session(), session("3 + 4 = 7"), session()], angled)[0::2] == [[], []]


def test_many_sessions_are_segmented_as_each_alone(minilm: Embed) -> None:
    texts = [["hi", "3 + 4 = 7", "how did you get the second one"], ["solve it", "ok", "lone \ud800 surrogate"]]
    sessions = [session(*one) for one in texts]
    together, alone = segment_all(sessions, minilm), [segment(one, minilm) for one in sessions]
    assert [[one.label for one in found] for found in together] == [
        [one.label for one in found] for found in alone
    ]


def test_the_segments_agree_with_labels_by_hand(minilm: Embed) -> None:
    """On the half that the thresholds were not chosen by; evaluation/run_segments.py reports the number."""
    records = [json.loads(line) for line in SAMPLE.read_text().splitlines()][1::2]
    sessions = [
        Session(r["session_id"], tuple(Message(m["sequence_id"], m["role"], m["content"]) for m in r["messages"]))
        for r in records
    ]
    found = [one.label for labels in segment_all(sessions, minilm) for one in labels]
    gold = [message["label"] for record in records for message in record["messages"]]
    assert np.mean([a == b for a, b in zip(found, gold, strict=True)]) > 0.8


def test_the_verb_shows_a_session_and_writes_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.jsonl"
    rows = [
        {"session_id": name, "messages": [{"sequence_id": i, "role": "tutor", "content": text} for i, text in one]}
        for name, one in {"a": [(3, "hi Zelda")], "b": [(0, "Zelda, 3 + 4 = 7\n\x1b[31m?"), (1, "bye")]}.items()
    ]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    output = tmp_path / "out"
    flags = ["--dataset_name", str(file), "--output_dir", str(output), "--encoder", "none"]
    assert main(["segment", *flags, "--session_id", "b", "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["maths"] == "1 of 3 messages, in 1 segments" and shown["session"] == "b"
    assert [line.split()[:2] for line in shown["messages_with_density"]] == [["0", MATHS], ["1", NON_MATHS]]
    assert "\x1b" not in shown["messages_with_density"][0]
    written = [json.loads(line) for line in (output / "segments.jsonl").read_text().splitlines()]
    assert [(one["session_id"], one["sequence_id"], one["label"]) for one in written] == [
        ("a", 3, NON_MATHS),
        ("b", 0, MATHS),
        ("b", 1, NON_MATHS),
    ]
    assert not any(b"Zelda" in path.read_bytes() for path in output.rglob("*"))


def test_a_session_that_is_not_there_and_thresholds_that_none_can_pass_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"session_id": "a", "messages": [{"role": "tutor", "content": "hi"}]}\n')
    recipe = SegmentRecipe(str(file), str(tmp_path / "out"), session_id="z", encoder="none")
    with pytest.raises(UsageError, match="holds no session z"):
        write_segments(recipe)
    assert not (tmp_path / "out" / "segments.jsonl").exists()
    with pytest.raises(UsageError, match="--density"):
        SegmentRecipe("rows", "out", density=0.0)
    with pytest.raises(UsageError, match="--similarity"):
        SegmentRecipe("rows", "out", similarity=2.0)


def test_an_encoder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        sentence_embedder(str(tmp_path / "nowhere"))


def test_the_shipped_thresholds_stand_in_the_results_of_the_evaluation() -> None:
    results = json.loads((Path(__file__).parents[2] / "evaluation/results/segments.json").read_text())
    assert results["thresholds"] == vocabulary()["thresholds"]
    best = results["best_on_the_choosing_half"]
    assert {name: best[name] for name in results["thresholds"]} == results["thresholds"]


def test_densities_and_anchors_need_no_torch() -> None:
    code = (
        "import sys; from tamis.pii.segments import segment; from tamis.pii.sessions import Message, Session; "
        "segment(Session('s', (Message(0, 'tutor', '3 + 4'),))); "
        "assert not {'torch', 'sentence_transformers', 'transformers', 'datasets'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
