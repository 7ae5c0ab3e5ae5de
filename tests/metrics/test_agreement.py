"""Agreement beyond chance: textbook values, other implementations, and the cases where it is undefined."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tamis.metrics.agreement import MISSING, cohen_kappa, gwet_ac1, krippendorff_alpha

# Krippendorff (2011), four observers and twelve units.
OBSERVERS = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""


def observed() -> np.ndarray:
    rows = [line.split() for line in OBSERVERS.strip().splitlines()]
    return np.array([[MISSING if cell == "." else int(cell) - 1 for cell in row] for row in rows]).T


def table(*cells: int) -> np.ndarray:
    """The ratings of two raters and two categories, by how often each pair was said."""
    pairs = [(0, 0), (0, 1), (1, 0), (1, 1)]
    return np.array([pair for pair, n in zip(pairs, cells, strict=True) for _ in range(n)])


def test_alpha_is_krippendorffs_own_example() -> None:
    assert krippendorff_alpha(observed(), 5).value == pytest.approx(0.743, abs=5e-4)


def test_kappa_is_the_textbooks() -> None:
    assert cohen_kappa(table(20, 5, 10, 15), 2).value == pytest.approx(0.4)


def test_kappa_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(5)
    for categories in (2, 3, 5):
        a = rng.integers(categories, size=60)
        b = np.where(rng.random(60) < 0.6, a, rng.integers(categories, size=60))
        found = cohen_kappa(np.stack([a, b], axis=1), categories)
        assert found.value == pytest.approx(metrics.cohen_kappa_score(a, b))
        assert found.low < found.value < found.high


def test_ac1_is_its_formula_and_stays_up_where_one_category_is_rare() -> None:
    ratings = table(118, 5, 2, 0)  # Gwet's paradox: 94 % agreement, and a kappa below nothing
    share = (118 + 118 + 5 + 2) / 250
    chance = 2 * share * (1 - share)
    assert gwet_ac1(ratings, 2).value == pytest.approx((118 / 125 - chance) / (1 - chance))
    assert cohen_kappa(ratings, 2).value < 0 < 0.9 < gwet_ac1(ratings, 2).value


def test_alpha_is_one_minus_the_share_of_unlike_pairs_over_chance() -> None:
    """The definition, pair by pair."""
    ratings = observed()
    units = [[value for value in unit if value != MISSING] for unit in ratings.tolist()]
    units = [unit for unit in units if len(unit) > 1]
    values = list(itertools.chain(*units))
    seen = sum(sum(a != b for a, b in itertools.permutations(u, 2)) / (len(u) - 1) for u in units) / len(values)
    chance = sum(a != b for a, b in itertools.permutations(values, 2)) / (len(values) * (len(values) - 1))
    assert krippendorff_alpha(ratings, 5).value == pytest.approx(1 - seen / chance)


@pytest.mark.parametrize("measure", [cohen_kappa, krippendorff_alpha, gwet_ac1])
def test_the_order_of_items_raters_and_categories_does_not_matter(measure: object) -> None:
    rng = np.random.default_rng(1)
    ratings = rng.integers(3, size=(40, 2))
    value = measure(ratings, 3).value  # type: ignore[operator]
    for other in (ratings[::-1], ratings[:, ::-1], 2 - ratings):
        assert measure(other, 3).value == pytest.approx(value)  # type: ignore[operator]
    assert measure(ratings[:, [0, 0]], 3) == (1, 1, 1)  # type: ignore[operator]
    assert measure(ratings, 3) == measure(ratings, 3)  # type: ignore[operator]


def test_intervals_narrow_with_more_items() -> None:
    few, many = gwet_ac1(table(20, 5, 5, 10), 2), gwet_ac1(table(200, 50, 50, 100), 2)
    assert few.value == pytest.approx(many.value)
    assert many.high - many.low < (few.high - few.low) / 2


def test_what_is_undefined_is_refused() -> None:
    with pytest.raises(ValueError, match="undefined"):
        cohen_kappa(table(10, 0, 0, 0), 2)
    with pytest.raises(ValueError, match="undefined"):
        krippendorff_alpha(table(10, 0, 0, 0), 2)
    assert gwet_ac1(table(10, 0, 0, 0), 2).value == 1
    with pytest.raises(ValueError, match="no item"):
        gwet_ac1(np.array([[0, MISSING]]), 2)
    with pytest.raises(ValueError, match="not one of 2"):
        gwet_ac1(np.array([[0, 2]]), 2)
