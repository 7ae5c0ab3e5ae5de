"""Ids that repeat: their new names are those of the plain definition, and the memory of a row is a few bytes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.row_ids import renamed


def plainly(ids: list[str]) -> list[str]:
    taken: list[str] = []
    for text in ids:
        name, number = text, 1
        while name in taken:
            number += 1
            name = f"{text}#{number}"
        taken.append(name)
    return taken


@settings(deadline=None)
@given(st.lists(st.sampled_from(["x", "x#2", "x#3", "x#2#2", "x#2#3", "y", "y#2", "z"])))
def test_names_are_those_of_the_definition(ids: list[str]) -> None:
    new = renamed(lambda: ids)
    assert [new.get(i, name) for i, name in enumerate(ids)] == plainly(ids)


def test_memory_is_a_few_bytes_a_row() -> None:
    def ids() -> Iterator[str]:
        return (f"a-rather-long-id-of-a-row-{i:09d}" for i in range(100_000))

    tracemalloc.start()
    assert not renamed(ids)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * 100_000  # text and a set of it take 150 or more
