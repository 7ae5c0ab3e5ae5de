"""AUROC and AUPRC are scikit-learn's, precision is the mean over orders, and an interval is one of about 95 %."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from tamis.metrics.ranking import Interval, auprc, auroc, auroc_interval, precision_at

NUMBERS = st.one_of(st.integers(-3, 3), st.floats(-1e6, 1e6, allow_subnormal=False))


@st.composite
def labelled(draw: st.DrawFn, numbers: st.SearchStrategy[float] = NUMBERS) -> tuple[np.ndarray, np.ndarray]:
    """Scores, many of them tied, and labels of both kinds."""
    rows = draw(st.lists(st.tuples(numbers, st.booleans()), min_size=2, max_size=40))
    scores, labels = (np.array(column) for column in zip(*rows, strict=True))
    labels[:2] = draw(st.permutations([True, False]))
    return scores.astype(float), labels.astype(bool)


def normal(rows: int, seed: int, shift: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """As many positives as negatives, `shift` standard deviations apart."""
    rng = np.random.default_rng(seed)
    labels = np.arange(rows) % 2 == 0
    return rng.normal(size=rows) + shift * labels, labels


@given(labelled())
@settings(max_examples=300, deadline=None)
def test_equals_scikit_learn(data: tuple[np.ndarray, np.ndarray]) -> None:
    scores, labels = data
    assert auroc(scores, labels) == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)


@given(labelled())
@settings(max_examples=300, deadline=None)
def test_average_precision_equals_scikit_learn(data: tuple[np.ndarray, np.ndarray]) -> None:
    scores, labels = data
    assert auprc(scores, labels) == pytest.approx(average_precision_score(labels, scores), abs=1e-12)


@given(labelled())
@settings(max_examples=100, deadline=None)
def test_average_precision_of_equal_scores_is_the_base_rate(data: tuple[np.ndarray, np.ndarray]) -> None:
    scores, labels = data
    assert auprc(np.zeros_like(scores), labels) == pytest.approx(labels.mean())


@st.composite
def few(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """So few rows that all their orders can be tried, and a cut."""
    rows = draw(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6))
    scores, labels = (np.array(column) for column in zip(*rows, strict=True))
    return scores.astype(float), labels.astype(bool), draw(st.integers(1, len(rows)))


@given(few())
@settings(max_examples=100, deadline=None)
def test_precision_is_the_mean_over_every_order_that_the_scores_allow(
    data: tuple[np.ndarray, np.ndarray, int],
) -> None:
    scores, labels, k = data
    orders = [o for o in map(list, itertools.permutations(range(len(scores)))) if (np.diff(scores[o]) <= 0).all()]
    assert precision_at(scores, labels, k) == pytest.approx(np.mean([labels[o[:k]].mean() for o in orders]))


@given(labelled())
@settings(max_examples=100, deadline=None)
def test_precision_over_all_rows_or_of_equal_scores_is_the_base_rate(data: tuple[np.ndarray, np.ndarray]) -> None:
    scores, labels = data
    assert precision_at(scores, labels, len(scores)) == pytest.approx(labels.mean())
    assert precision_at(np.zeros_like(scores), labels, 1) == pytest.approx(labels.mean())


@pytest.mark.parametrize(
    ("scores", "k", "message"),
    [
        ([1, 2], 0, "k is 0, of 2 rows"),
        ([1, 2], 3, "k is 3"),
        ([], 1, "of 0 rows"),
        ([1, math.nan], 1, "not finite"),
    ],
)
def test_precision_refuses_a_cut_that_is_none(scores: list[float], k: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        precision_at(np.array(scores), np.ones(len(scores), bool), k)


@given(labelled())
@settings(max_examples=100, deadline=None)
def test_equals_counting_the_pairs(data: tuple[np.ndarray, np.ndarray]) -> None:
    scores, labels = data
    above = scores[labels][:, None] - scores[~labels][None, :]
    assert auroc(scores, labels) == pytest.approx(((above > 0) + 0.5 * (above == 0)).mean(), abs=1e-12)


@given(labelled(st.integers(-8, 8)))
@settings(max_examples=100, deadline=None)
def test_only_the_order_of_the_scores_counts(data: tuple[np.ndarray, np.ndarray]) -> None:
    scores, labels = data
    expected = auroc(scores, labels)
    for mapped in (
        scores**3,
        np.exp(scores),
        scores * 1e-200,
        scores * 1e200 - 7,
        np.unique(scores, return_inverse=True)[1],
    ):
        assert auroc(mapped, labels) == expected


@given(labelled())
@settings(max_examples=100, deadline=None)
def test_turned_round_it_is_one_minus(data: tuple[np.ndarray, np.ndarray]) -> None:
    scores, labels = data
    assert auroc(-scores, labels) == pytest.approx(1 - auroc(scores, labels), abs=1e-12)
    assert auroc(scores, ~labels) == pytest.approx(1 - auroc(scores, labels), abs=1e-12)


@pytest.mark.parametrize(
    ("scores", "expected"), [([3, 4, 1, 2], 1.0), ([1, 2, 3, 4], 0.0), ([5, 5, 5, 5], 0.5), ([2, 3, 2, 1], 0.875)]
)
def test_by_hand(scores: list[float], expected: float) -> None:
    assert auroc(np.array(scores), np.array([1, 1, 0, 0])) == expected


@pytest.mark.parametrize("measure", [auroc, auprc, auroc_interval])
@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([1, 2, 3], [True] * 3, "both kinds"),
        ([1, 2, 3], [False] * 3, "both kinds"),
        ([], [], "both kinds"),
        ([1, math.nan, 3], [True, False, True], "not finite"),
        ([1, math.inf, 3], [True, False, True], "not finite"),
        ([1, -math.inf, 3], [True, True, True], "not finite"),
    ],
)
def test_refuses_one_kind_and_what_is_not_finite(
    measure: object, scores: list[float], labels: list[bool], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        measure(np.array(scores, float), np.array(labels, bool))  # type: ignore[operator]


@pytest.mark.parametrize("labels", [[True, False], [True, False, True, False]])
def test_refuses_labels_of_another_length(labels: list[bool]) -> None:
    with pytest.raises((ValueError, IndexError)):
        auroc(np.array([1.0, 2.0, 3.0]), np.array(labels))


@given(labelled(), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_the_interval_holds_the_value(data: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    interval = auroc_interval(*data, draws=200, seed=seed)
    assert interval.value == auroc(*data)
    assert 0 <= interval.low <= interval.value <= interval.high <= 1


def test_the_interval_is_set_by_the_seed() -> None:
    data = normal(60, 1)
    assert auroc_interval(*data, seed=3) == auroc_interval(*data, seed=3)
    assert auroc_interval(*data, seed=3)[1:] != auroc_interval(*data, seed=4)[1:]


def test_the_interval_shrinks_with_the_square_root_of_the_rows() -> None:
    widths = [
        np.mean([i.high - i.low for i in (auroc_interval(*normal(rows, seed), draws=300) for seed in range(8))])
        for rows in (40, 160, 640)
    ]
    assert 1.6 < widths[0] / widths[1] < 2.5
    assert 1.6 < widths[1] / widths[2] < 2.5


def test_the_interval_covers_the_truth_about_95_times_in_100() -> None:
    truth = 0.5 * (1 + math.erf(0.5))  # P(N(1, 1) > N(0, 1))
    intervals = [auroc_interval(*normal(80, seed), draws=200) for seed in range(200)]
    assert 0.89 <= np.mean([interval.low <= truth <= interval.high for interval in intervals]) <= 0.99


def test_two_perfectly_separated_rows_have_an_interval_without_width() -> None:
    assert auroc_interval(np.array([1.0, 0.0]), np.array([True, False])) == (1.0, 1.0, 1.0)


def test_printed_in_two_decimals() -> None:
    assert str(Interval(0.754, 0.6, 0.8889)) == "0.75 [0.60, 0.89]"
    assert f"{auroc_interval(np.array([1.0, 0.0]), np.array([True, False]))}" == "1.00 [1.00, 1.00]"
