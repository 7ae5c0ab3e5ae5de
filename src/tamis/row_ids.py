"""Row ids, each exactly once, without keeping them: what a row's repeated id becomes, in eight bytes a row."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable

import numpy as np


def renamed(ids: Callable[[], Iterable[str]]) -> dict[int, str]:
    """The new names of the rows whose id stands earlier, by position: `x` becomes `x#2`, then `x#3`.

    Rows are told apart by 64-bit hashes; only those that may repeat another's are looked at as text.

    Args:
        ids: Gives all ids in order, as often as it is called.
    """
    hashes = np.frombuffer(array("q", (hash(name) for name in ids())), np.int64)
    ordered = np.sort(hashes)
    suspects = np.isin(hashes, ordered[1:][ordered[1:] == ordered[:-1]])
    while True:
        names = _in_order((i, name) for i, name in enumerate(ids()) if suspects[i])
        made = np.fromiter(map(hash, names.values()), np.int64, len(names))
        more = suspects | np.isin(hashes, made)  # an id that looks like a name that was made
        if (more == suspects).all():
            return names
        suspects = more


def _in_order(rows: Iterable[tuple[int, str]]) -> dict[int, str]:
    taken: set[str] = set()
    repeats: dict[str, int] = {}
    names: dict[int, str] = {}
    for index, text in rows:
        name = text
        while name in taken:
            repeats[text] = repeats.get(text, 1) + 1
            name = names[index] = f"{text}#{repeats[text]}"
        taken.add(name)
    return names
