"""The scores of spans: by hand on small cases, and equal to the reference scorer where that is there."""

from __future__ import annotations

import importlib.util
import json
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tamis.errors import UsageError
from tamis.metrics.maths import pieces
from tamis.metrics.spans import count, pooled, score
from tamis.pii.labels import LABELS, STRUCTURED
from tamis.pii.sessions import Annotated, Message, Session
from tamis.pii.spans import Span

SHARED = Path("/work/shared")
DEV = SHARED / "data" / "pii" / "dev.jsonl"
shared = pytest.mark.skipif(not DEV.exists(), reason=f"{DEV} is not here")


def annotated(name: str, *messages: tuple[str, list[Span]]) -> Annotated:
    lines = tuple(Message(place, "student", content) for place, (content, _) in enumerate(messages))
    return Annotated(Session(name, lines), tuple(tuple(spans) for _, spans in messages))


def span(start: int, end: int, label: str = "PERSON") -> Span:
    return Span(start, end, label)


ONE = [annotated("a", ("Ana Lee: 9351 / 7", [span(0, 7)]), ("x^2+3x-28", []))]
TWICE = [annotated("a", ("Michael met Michael", [span(0, 7)]))]


def f1s(found: dict[str, Any]) -> list[float | None]:
    return [found[way]["f1"] for way in ("span", "exact", "character")]


def test_all_found_and_nothing_else_is_one_everywhere() -> None:
    found = score(ONE, [[[span(0, 7)], []]])
    assert f1s(found) == [1, 1, 1]
    assert found["maths"] == {"messages": 2, "preserved": 1, "maths_intact": 1}


def test_nothing_predicted_has_no_precision_and_leaks_every_character() -> None:
    found = score(ONE, [[[], []]])
    assert (found["span"]["precision"], found["span"]["recall"], found["span"]["f1"]) == (None, 0, 0)
    assert found["leaked_characters"] == 6


def test_pieces_that_cover_all_but_the_space_find_a_name_and_none_of_them_is_false() -> None:
    found = score(ONE, [[[span(0, 3, "X"), span(4, 7)], []]])
    assert (found["span"]["recall"], found["span"]["precision"], found["exact"]["f1"]) == (1, 1, 0)


def test_one_letter_that_leaks_is_a_miss_but_no_false_positive() -> None:
    found = score(ONE, [[[span(0, 6)], []]])
    assert (found["span"]["recall"], found["span"]["precision"], found["leaked_characters"]) == (0, 1, 1)


def test_a_span_too_wide_changes_the_message_and_not_yet_its_maths() -> None:
    maths = score(ONE, [[[span(0, 8)], []]])["maths"]
    assert (maths["preserved"], maths["maths_intact"]) == (0.5, 1)


def test_maths_taken_for_personal_data_is_neither_preserved_nor_intact() -> None:
    found = score(ONE, [[[span(0, 7), span(9, 17, "ID_NUMBER")], [span(0, 9)]]])
    assert (found["span"]["false_positives"], found["span"]["precision"]) == (2, 0.3333)
    assert (found["maths"]["preserved"], found["maths"]["maths_intact"]) == (0, 0)


def test_a_span_over_a_space_in_maths_breaks_the_maths_only() -> None:
    found = score([annotated("a", ("12 / 7", []))], [[[span(2, 3)]]])
    assert (found["maths"]["preserved"], found["maths"]["maths_intact"]) == (1, 0)


def test_the_other_michael_is_not_this_one() -> None:
    found = score(TWICE, [[[span(12, 19)]]])
    assert (found["span"]["found"], found["span"]["false_positives"]) == (0, 1)


def test_a_wrong_label_counts_in_exact_only_and_a_duplicate_once() -> None:
    found = score(TWICE, [[[span(0, 7, "SCHOOL"), Span(0, 7, "SCHOOL", 0.4)]]])
    assert (found["span"]["f1"], found["exact"]["f1"], found["predicted_spans"]) == (1, 0, 1)
    assert found["per_label"] == {"PERSON": {"gold": 1, "found": 1, "recall": 1, "exact_recall": 0}}


def test_offsets_are_code_points() -> None:
    found = score([annotated("a", ("👋 Emma 12/25", [span(2, 6)]))], [[[span(3, 7)]]])
    assert (found["span"]["found"], found["leaked_characters"]) == (0, 1)


def test_without_anything_to_find_there_is_no_f1() -> None:
    found = score([annotated("a", ("2+2", []))], [[[]]])
    assert (found["span"]["f1"], found["ci95"]["span"], found["maths"]["preserved"]) == (None, None, 1)


def test_maths_inside_a_gold_span_is_not_looked_at() -> None:
    assert (
        score([annotated("a", ("call 555-0123", [span(5, 13, "PHONE_NUMBER")]))], [[[]]])["maths"]["messages"] == 0
    )


def test_the_bootstrap_draws_sessions_and_repeats() -> None:
    many = [annotated(f"s{i}", ("hi Ana", [span(3, 6)]), ("hi Bo", [span(3, 5)])) for i in range(20)]
    guessed = [[[span(3, 6)], [span(3, 5)] if i < 10 else []] for i in range(20)]
    first = score(many, guessed, seed=5)
    assert first["ci95"] == score(many, guessed, seed=5)["ci95"] != score(many, guessed, seed=6)["ci95"]
    low, high = first["ci95"]["span"]
    assert low < first["span"]["f1"] < high
    whole = [many[0], many[0]]  # sessions that are alike: drawn whole, they leave no spread
    assert score(whole, [[[span(3, 6)], []]] * 2)["ci95"]["span"] == [0.6667, 0.6667]


def test_pooled_recall_counts_spans_of_several_labels() -> None:
    rows = {"URL": {"gold": 3, "found": 3}, "US_SSN": {"gold": 5, "found": 4}, "PERSON": {"gold": 9, "found": 0}}
    found = pooled(rows, STRUCTURED)
    assert (found["gold"], found["found"], found["recall"]) == (8, 7, 0.875)
    assert found["interval"][0] < 0.875 < found["interval"][1]
    assert pooled({}, STRUCTURED) == {"gold": 0, "found": 0, "recall": None, "interval": None}


@pytest.mark.parametrize(
    ("gold", "predicted", "words"),
    [
        (ONE, [], "1 sessions and predictions for 0"),
        (ONE, [[[]]], "session a has 2 messages, gold for 2 and predictions for 1"),
        ([Annotated(ONE[0].session)], [[[], []]], "no gold spans"),
        (ONE, [[[span(0, 18)], []]], "session a message 0, predicted: a span from 0 to 18"),
        (TWICE, [[[span(7, 0)]]], "from 7 to 0"),
        ([annotated("b", ("Ana", [span(0, 9)]))], [[[]]], "session b message 0, gold"),
        ([annotated("b", ("Ana Lee", [span(0, 7), span(4, 7)]))], [[[]]], "gold spans at 0 and 4 overlap"),
    ],
)
def test_what_does_not_fit_is_refused(gold: list[Annotated], predicted: list[Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        count(gold, predicted)


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("score_pii", SHARED / "tools" / "score_pii.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def dev() -> list[Annotated]:
    rows = [json.loads(line) for line in DEV.read_text().splitlines()]
    return [
        Annotated(
            Session(
                row["session_id"],
                tuple(Message(m["sequence_id"], m["role"], m["content"]) for m in row["messages"]),
            ),
            tuple(tuple(Span(s["start"], s["end"], s["label"]) for s in m["spans"]) for m in row["messages"]),
        )
        for row in rows
    ]


def guesses(gold: list[Annotated], chance: random.Random) -> list[list[list[Span]]]:
    """Gold spans kept, dropped, shifted, relabelled and cut, and others anywhere, some more than once."""

    def message(content: str, spans: tuple[Span, ...]) -> list[Span]:
        found = []
        for known in spans:
            start = max(0, known.start + chance.choice([0, 0, 0, 0, -1, 1]))
            end = min(len(content), max(start + 1, known.end + chance.choice([0, 0, 0, 0, -1, 2])))
            found += [span(start, end, chance.choice([known.label, known.label, "NRP"]))] * chance.choice(
                [0, 1, 1, 2]
            )
        for _ in range(chance.choice([0, 0, 0, 1, 2]) if content else 0):
            start = chance.randrange(len(content))
            found.append(
                span(start, chance.randint(start + 1, min(len(content), start + 9)), chance.choice(LABELS))
            )
        return found

    return [
        [message(line.content, spans) for line, spans in zip(known.session, known.spans or (), strict=True)]
        for known in gold
    ]


@shared
@pytest.mark.parametrize("seed", range(4))
def test_equals_the_reference_on_dev_with_random_predictions(
    reference: ModuleType, dev: list[Annotated], seed: int
) -> None:
    gold = reference.read_gold(DEV)
    predicted = guesses(dev, random.Random(seed))
    theirs = {
        (known.session.session_id, message.sequence_id): sorted({(s.start, s.end, s.label) for s in spans})
        for known, guessed in zip(dev, predicted, strict=True)
        for message, spans in zip(known.session, guessed, strict=True)
    }
    assert score(dev, predicted, seed=seed, resamples=50) == reference.score(gold, theirs, seed, 50)


@shared
def test_maths_stands_where_the_reference_sees_it(reference: ModuleType) -> None:
    paths = [SHARED / "data" / "gsm8k" / "test.jsonl", SHARED / "data" / "mathdial" / "test.jsonl"]
    texts = [
        text
        for path in paths
        for line in path.read_text().splitlines()
        for text in json.loads(line).values()
        if isinstance(text, str)
    ]
    chance = random.Random(0)
    alphabet = "0123456789 .,-−+*/^=<>()[]{}|\\$%°√²xyfsinlogmod_'’hkmI\n "
    texts += ["".join(chance.choices(alphabet, k=chance.randint(1, 14))) for _ in range(30_000)]
    texts += ["9351 / 7", "f'(2)?", "log_2 (32)", "[[3, -1], [-5, 2]]", "|−7| + |3| = 10", "version 3.8.0.1"]
    for text in texts:
        assert pieces(text) == [match.span() for match in reference.MATHS.finditer(text)], text


def test_counts_of_a_session_are_the_sums_of_its_messages() -> None:
    counted = count(ONE * 2, [[[span(0, 7)], [span(0, 9)]], [[], []]])
    assert counted.by_session()[:, :5].tolist() == [[2, 1, 1, 2, 1], [2, 1, 0, 0, 0]]
    assert counted.by_session(np.array([True, False, True, False]))[:, :5].tolist() == [
        [1, 1, 1, 1, 0],
        [1, 1, 0, 0, 0],
    ]
