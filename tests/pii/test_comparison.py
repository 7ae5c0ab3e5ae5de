"""Rows of the comparison by hand: what counts in each, what the baseline is, and the page that shows them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tamis.errors import UsageError
from tamis.figures import privacy_and_utility
from tamis.pii.comparison import Run, about, baseline_entities, counting, judged, read_run, rows
from tamis.pii.comparison_page import page
from tamis.pii.detect.llm_choice import Judged
from tamis.pii.sessions import Annotated, Message, Session
from tamis.pii.spans import Span

TEXTS = ("I am Ana Lee", "so 12/25 = .48", "born 3/4/2012")
GOLD = [
    Annotated(
        Session("s", tuple(Message(place, "student", text) for place, text in enumerate(TEXTS))),
        ((Span(5, 12, "PERSON"),), (), (Span(5, 13, "DATE_OF_BIRTH"),)),
    )
]
MATHS = np.array([False, True, False])
DATE = Span(3, 8, "DATE_TIME", 0.85)
PRESIDIO = Run(
    "presidio",
    [
        [
            [Span(5, 8, "PERSON", 0.85)],
            [DATE, Span(3, 8, "US_DRIVER_LICENSE", 0.3)],
            [Span(5, 13, "DATE_TIME", 0.85)],
        ]
    ],
    0.5,
    1.5,
)
OURS = Run(
    "rules",
    [[[Span(5, 8, "PERSON"), Span(7, 12, "PERSON")], [Span(3, 8, "ID_NUMBER")], [Span(5, 13, "DATE_OF_BIRTH")]]],
    0.5,
)


def no_fractions(session: Session, spans: Sequence[Sequence[Span]]) -> tuple[list[list[Span]], list[list[Span]]]:
    """A guard that drops what stands before an equals sign, by a label of Presidio's or ours."""

    def is_maths(content: str, span: Span) -> bool:
        return span.label in ("DATE_TIME", "ID_NUMBER") and content[span.end :].startswith(" =")

    pairs = list(zip(session, spans, strict=True))
    kept, dropped = (
        [[span for span in found if is_maths(line.content, span) == maths] for line, found in pairs]
        for maths in (False, True)
    )
    return kept, dropped


def test_what_counts_reaches_the_threshold_under_our_labels() -> None:
    kept = counting(PRESIDIO, GOLD)
    assert [[span.label for span in spans] for spans in kept[0]] == [
        ["PERSON"],
        ["DATE_OF_BIRTH"],
        ["DATE_OF_BIRTH"],
    ]
    assert [len(spans) for spans in counting(PRESIDIO, GOLD, without=["DATE_TIME"])[0]] == [1, 0, 0]
    assert [len(spans) for spans in counting(PRESIDIO, GOLD, guard=no_fractions)[0]] == [1, 0, 1]


def test_spans_that_overlap_are_one_only_where_they_are_joined() -> None:
    (joined, *_), (apart, *_) = counting(OURS, GOLD)[0], counting(OURS, GOLD, joined=False)[0]
    assert [(span.start, span.end) for span in joined] == [(5, 12)] and len(apart) == 2


def test_rows_are_the_detectors_alone_and_guarded() -> None:
    made = rows(GOLD, [PRESIDIO, OURS], MATHS, no_fractions, resamples=20)
    stock, bare = "presidio", "presidio without DATE_TIME and NRP"
    assert [*made] == [stock, f"{stock}, guarded", bare, f"{bare}, guarded", "rules", "rules, guarded"]
    assert [made[name]["span"]["found"] for name in made] == [1, 1, 0, 0, 2, 2]
    assert [made[name]["span"]["false_positives"] for name in made] == [1, 0, 0, 0, 1, 0]
    assert [made[name]["maths"]["preserved"] for name in made] == [0, 1, 1, 1, 0, 1]
    assert [made[name]["leaked_characters"] for name in made] == [3, 3, 11, 11, 0, 0]
    assert made["rules"]["leaked_against_baseline"] == 0 and made[bare]["leaked_against_baseline"] == 3.6667
    assert made[stock]["messages_per_cpu_second"] == 2 and made["rules"]["messages_per_cpu_second"] is None
    assert made[stock]["segments"]["false_in_maths"]["value"] == 1
    assert made["rules"]["person"]["recall"] == 1 and made["rules"]["structured"]["gold"] == 0


def test_the_baseline_is_told_by_its_own_entities_also_below_the_threshold() -> None:
    found = baseline_entities(PRESIDIO, GOLD)
    assert found["DATE_TIME"] == {"label": "DATE_OF_BIRTH", "false": 1, "false_at_any_score": 1}
    assert found["US_DRIVER_LICENSE"] == {"label": "ID_NUMBER", "false": 0, "false_at_any_score": 1}


def test_a_set_is_told_by_its_size_and_density() -> None:
    assert about(GOLD) == {"sessions": 1, "messages": 3, "gold_spans": 2, "labels_per_1000_messages": 666.7}


def test_spans_that_were_made_elsewhere_are_read_and_all_count(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    row = {
        "session_id": "s",
        "sequence_id": 0,
        "spans": [{"start": 5, "end": 12, "label": "PERSON", "score": 0.1}],
    }
    path.write_text(json.dumps(row) + "\n")
    found = read_run("peer", path, GOLD)
    assert [len(spans) for spans in counting(found, GOLD)[0]] == [1, 0, 0] and found.seconds is None


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (['{"session_id": "s", "sequence_id": 0}'], "line 1 is not an object with session_id"),
        (["{"], "line 1 is not an object"),
        (['{"session_id": "t", "sequence_id": 0, "spans": []}'], "session t message 0 is not in the gold"),
        (['{"session_id": "s", "sequence_id": 0, "spans": []}'] * 2, "line 2: session s message 0 .* came before"),
        (['{"session_id": "s", "sequence_id": 0, "spans": [[0, 99, "PERSON"]]}'], "from 0 to 99"),
    ],
)
def test_a_line_that_does_not_fit_has_its_sentence(tmp_path: Path, lines: list[str], words: str) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_text("\n".join(lines))
    with pytest.raises(UsageError, match=words):
        read_run("peer", path, GOLD)


def test_the_page_holds_a_table_a_set_its_mapping_and_what_is_not_established() -> None:
    made = rows(GOLD, [PRESIDIO, OURS], MATHS, no_fractions, resamples=20)
    part = {"about": about(GOLD), "rows": made, "baseline_entities": baseline_entities(PRESIDIO, GOLD)}
    text = page({"sets": {"dev": part | {"kind": "annotated"}, "real": part | {"kind": "negative"}}}, "f.png")
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) == 8 and all(len({line.count("|") for line in table}) == 1 for table in tables)
    dates = next(line for table in tables for line in table if line.startswith("| DATE_OF_BIRTH |"))
    assert "DATE_TIME 1 (1 at any score)" in dates and "1 | 0 (-100.0%)" in dates and "+0.0%" not in dates
    assert "DATE_TIME -> DATE_OF_BIRTH" in text and "## Not established" in text and "![" in text
    assert text.count("| detector | span P") == 1  # of the annotated set alone


def test_a_chat_model_has_a_row_a_prompt_and_says_what_it_did_not_answer() -> None:
    spans = [[[Span(5, 12, "PERSON", 0.9)], [], []]]
    run = judged(Judged("small", "basic", spans, 1, {}))
    made = rows(GOLD, [run], MATHS, no_fractions, resamples=20)
    assert made["llm basic"]["span"]["found"] == 1 and made["llm basic"]["leaked_against_baseline"] is None
    basic = [{"model": "small", "f1": 0.5, "messages": 3, "unscored": 1, "counts": {}}]
    choice = {"chosen": 0, "basic": basic, "spread": {"least": 0.5, "greatest": 0.5, "models": 1}}
    part = {"about": about(GOLD), "rows": made, "baseline_entities": {}, "kind": "annotated"}
    text = page({"sets": {"dev": part}, "llm": choice})
    assert "as nothing found: llm basic 1, llm basic, guarded 1." in text and "| small | 0.500 | 1 of 3 |" in text


def test_the_figure_is_the_same_at_every_run() -> None:
    points = [("presidio", 0.67, 0.54), ("rules", 1.0, 1.0)]
    assert privacy_and_utility(points) == privacy_and_utility(points)
