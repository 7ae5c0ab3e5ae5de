"""False positives by hand: per message, at another density, by segment and by label."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.metrics.false_positives import by_label, by_segment, rates
from tamis.metrics.spans import count
from tamis.pii.sessions import Annotated, Message, Session
from tamis.pii.spans import Span

NAME = Span(3, 6, "PERSON")
FALSE = Span(0, 2, "DATE_OF_BIRTH")


def annotated(name: str, *gold: bool) -> Annotated:
    lines = tuple(Message(place, "student", "hi Ana 12/25") for place in range(len(gold)))
    return Annotated(Session(name, lines), tuple((NAME,) if known else () for known in gold))


# Two sessions of 10 messages, one with a name in each; one is found, one missed; 4 false spans, 3 in clean ones.
GOLD = [annotated("a", True, *[False] * 9), annotated("b", True, *[False] * 9)]
FOUND = [
    [[NAME, FALSE], [FALSE], [FALSE], *[[]] * 7],
    [[], [FALSE], *[[]] * 8],
]


def test_false_positives_are_counted_per_thousand_messages() -> None:
    found = rates(count(GOLD, FOUND))
    assert found["per_1000_messages"]["value"] == 200
    assert found["per_1000_messages"]["interval"] == [100, 300]
    assert found["per_1000_without_pii"]["value"] == pytest.approx(1000 * 3 / 18, abs=1e-3)


def test_reweighting_keeps_recall_and_false_positives_and_recomputes_precision() -> None:
    at = rates(count(GOLD, FOUND), density=100)["reweighted"]
    precision = 0.5 * 100 / (0.5 * 100 + 1000 * 3 / 18)
    assert at["recall"]["value"] == 0.5 and at["precision"]["value"] == round(precision, 4)
    assert at["f1"]["value"] == round(2 * precision * 0.5 / (precision + 0.5), 4)
    assert at["f1"]["value"] > rates(count(GOLD, FOUND))["reweighted"]["f1"]["value"]
    low, high = at["f1"]["interval"]
    assert low <= at["f1"]["value"] <= high


def test_a_detector_without_a_false_positive_is_as_good_at_any_density() -> None:
    found = rates(count(GOLD, [[[NAME], *[[]] * 9]] * 2), density=0.1)["reweighted"]
    assert found["precision"]["value"] == found["recall"]["value"] == found["f1"]["value"] == 1


def test_without_gold_there_is_no_recall_to_reweight() -> None:
    found = rates(count([annotated("a", False)], [[[FALSE]]]))
    assert found["per_1000_messages"] == {"value": 1000, "interval": [1000, 1000]}
    assert found["reweighted"]["recall"] == {"value": None, "interval": None}


def test_segments_divide_messages_false_and_true() -> None:
    maths = np.array([True, True, *[False] * 8] * 2)
    found = by_segment(count(GOLD, FOUND), maths)
    assert found["messages_in_maths"] == {"value": 0.2, "interval": [0.2, 0.2]}
    assert found["false_in_maths"]["value"] == 0.75  # three of four
    assert found["false_to_true"]["maths"]["value"] == 3 and found["false_to_true"]["non_maths"]["value"] is None
    assert found["span"]["maths"] == {"precision": 0.25, "recall": 0.5, "f1": 0.3333}
    assert found["span"]["non_maths"]["recall"] is None
    low, high = found["false_in_maths"]["interval"]
    assert (low, high) == (0.6667, 1)  # session a alone, session b alone


def test_labels_count_false_spans_once() -> None:
    predicted = [[[NAME, FALSE, FALSE, Span(0, 3, "AGE"), Span(2, 4, "AGE")], *[[]] * 9]]
    assert by_label(GOLD[:1], predicted) == {"AGE": 1, "DATE_OF_BIRTH": 1}
