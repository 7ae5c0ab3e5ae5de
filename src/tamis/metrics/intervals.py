"""How sure a share is that was counted."""

from __future__ import annotations

import math

_Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""


def wilson(successes: int, rows: int) -> tuple[float, float]:
    """The 95 % Wilson score interval of a share, inside [0, 1] and never without width.

    (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n), Wilson 1927; unlike the normal interval it holds for
    few rows and for shares of 0 and 1.

    Args:
        successes: From 0 to `rows`.
        rows: At least 1.

    Raises:
        ValueError: There are no rows, or more successes than rows or fewer than none.
    """
    if rows < 1 or not 0 <= successes <= rows:
        raise ValueError(f"{successes} of {rows}: not a share")
    share, z2 = successes / rows, _Z**2 / rows
    middle, half = share + z2 / 2, math.sqrt(share * (1 - share) * z2 + z2**2 / 4)
    low, high = (middle - half) / (1 + z2), (middle + half) / (1 + z2)
    return (low if successes else 0.0), (high if successes < rows else 1.0)
