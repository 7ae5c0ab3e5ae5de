"""How large a share can be of which a random sample was seen: exact upper bounds."""

from __future__ import annotations

import math


def clopper_pearson_upper(found: int, rows: int, confidence: float = 0.95) -> float:
    """The exact one-sided upper bound of a share (Clopper and Pearson 1934).

    It is the largest share under which `found` or fewer among `rows` still have a probability of at least
    `1 - confidence`. With none found it is `1 - (1 - confidence) ** (1 / rows)`, about 3 / rows.

    Args:
        found: From 0 to `rows`.
        rows: At least 1; drawn at random from a population much larger than they are.
        confidence: Between 0 and 1.

    Raises:
        ValueError: Not a share, or no confidence.
    """
    _check(found, rows, confidence)
    if found == rows:
        return 1.0
    low, high = found / rows, 1.0
    while (middle := (low + high) / 2) not in (low, high):
        if _at_most(found, rows, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def hypergeometric_upper(found: int, rows: int, population: int, confidence: float = 0.95) -> int:
    """The exact one-sided upper bound of how many there are in a finite population.

    It is the largest number under which a random sample without replacement holds `found` or fewer with a
    probability above `1 - confidence`; never more than what was not looked at could hold.

    Args:
        found: From 0 to `rows`.
        rows: From 1 to `population`.
        population: How many rows there are in all.
        confidence: Between 0 and 1.

    Raises:
        ValueError: Not a sample of the population, or no confidence.
    """
    _check(found, rows, confidence)
    if rows > population:
        raise ValueError(f"{rows} of {population}: not a sample")
    low, high = found, found + population - rows + 1
    while high - low > 1:
        middle = (low + high) // 2
        if _drawn_at_most(found, rows, middle, population) > 1 - confidence:
            low = middle
        else:
            high = middle
    return low


def _check(found: int, rows: int, confidence: float) -> None:
    if rows < 1 or not 0 <= found <= rows:
        raise ValueError(f"{found} of {rows}: not a share")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence of {confidence} is not between 0 and 1")


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _at_most(found: int, rows: int, share: float) -> float:
    """The binomial probability of `found` or fewer."""
    if share in (0.0, 1.0):
        return float(share == 0 or found == rows)
    yes, no = math.log(share), math.log1p(-share)
    return math.fsum(math.exp(_log_choose(rows, k) + k * yes + (rows - k) * no) for k in range(found + 1))


def _drawn_at_most(found: int, rows: int, marked: int, population: int) -> float:
    """The hypergeometric probability of `found` or fewer marked ones in a sample."""
    total = _log_choose(population, rows)
    least = max(0, rows - (population - marked))
    return math.fsum(
        math.exp(_log_choose(marked, k) + _log_choose(population - marked, rows - k) - total)
        for k in range(least, min(found, marked) + 1)
    )
