"""Sessions shared among processes: the same results in the same order as in one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from tamis.errors import WorkError

if TYPE_CHECKING:
    from tamis.pii.reading import Passage
    from tamis.pii.redactor import Redacted, Redactor
    from tamis.pii.sessions import Session

_MESSAGES = 200  # of one piece of work, so that handing it over costs little
_AHEAD = 3  # pieces that wait for each process: what is read ahead is all that memory holds

_mine: list[Any] = []  # a process's own redactor


def mapped(
    redactor: Redactor, make: Callable[[], Redactor], passages: Iterator[Passage], num_proc: int
) -> Generator[tuple[Passage, Redacted]]:
    """Each passage with its session redacted, in order.

    Args:
        redactor: Does it, in one process.
        make: Makes one in each of several.
        passages: The passages.
        num_proc: The processes.

    Raises:
        WorkError: A process ended before its work did.
    """
    if num_proc == 1:
        for passage in passages:
            yield passage, redactor(passage.annotated.session)
        return
    # Started afresh: a forked process would share the threads and locks of what is loaded here.
    with ProcessPoolExecutor(num_proc, get_context("spawn"), _start, (make,)) as pool:
        waiting: deque[tuple[list[Passage], Future[list[Redacted]]]] = deque()
        try:
            for piece in _pieces(passages):
                sessions = [passage.annotated.session for passage in piece]
                waiting.append((piece, pool.submit(_redacted, sessions)))
                if len(waiting) > _AHEAD * num_proc:
                    yield from _taken(*waiting.popleft())
            yield from chain.from_iterable(_taken(*one) for one in waiting)
        except BrokenProcessPool:
            raise WorkError("a process ended before its work did, perhaps for want of memory") from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _taken(piece: list[Passage], future: Future[list[Redacted]]) -> Iterator[tuple[Passage, Redacted]]:
    yield from zip(piece, future.result(), strict=True)


def _pieces(passages: Iterator[Passage]) -> Iterator[list[Passage]]:
    piece: list[Passage] = []
    size = 0
    for passage in passages:
        piece.append(passage)
        size += len(passage.annotated.session)
        if size >= _MESSAGES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def _start(make: Callable[[], Redactor]) -> None:
    _mine.append(make())


def _redacted(sessions: list[Session]) -> list[Redacted]:
    return [_mine[0](session) for session in sessions]
