"""Factors to similarities: the mean over targets, the highest, or the mean of the K highest, one number a row.

The mean over targets collapses: `sum_t <G, T_t> = <G, sum_t T_t>`, so a target set of any size is one small matrix
a module, and a row's similarity is `u^T M v` summed over modules. The highest ones need the pairs, which are made
block by block and never kept. Everything is computed in float64, in products of one shape.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tamis.gradients.store import GradientIndex

SIMILARITIES = ("cosine", "dot", "layer-cosine")
AGGREGATES = ("mean", "max", "topk")
_BLOCK_ROWS = 256
_BLOCK_BYTES = 64 << 20
_DIGITS = 32


def collapse(target: GradientIndex, similarity: str) -> np.ndarray:
    """The mean of the target rows' gradients: `[modules, dim, dim]` float64, one matrix a module."""
    total = np.zeros((len(target.modules), *[target.manifest["identity"]["gradient"]["proj_dim"]] * 2))
    for u, v, norm in _blocks(target, _BLOCK_ROWS):
        left, right = (side.transpose(1, 2, 0) for side in (u * _scale(u, v, norm, similarity)[..., None], v))
        total += left @ right.swapaxes(1, 2)
    return total / len(target)


def similarities(index: GradientIndex, target: np.ndarray, similarity: str) -> np.ndarray:
    """The similarity of each row to a collapsed target set, `[rows]` float64.

    `cosine` is the mean cosine of the row's whole stack of modules to each target's, in [-1, 1]; `layer-cosine`
    the mean over modules of each module's cosine, so that every module weighs the same; `dot` keeps both norms.
    Rounded to 2^-32 of the largest value that the row could have, so that equal rows have equal scores wherever
    they stand: matrix products round by a row's place in the matrix, and that would decide ties.

    Args:
        index: The pool.
        target: `[modules, dim, dim]` from `collapse` with the same similarity, or the difference of two.
        similarity: One of `SIMILARITIES`.
    """
    values, start = np.empty(len(index)), 0
    largest = float(np.linalg.norm(target))
    for u, v, norm in _blocks(index, _BLOCK_ROWS):
        inner = np.einsum("lri,rli->rl", u.transpose(1, 0, 2) @ target, v)
        sums = np.einsum("rl,rl->r", inner, _scale(u, v, norm, similarity))[: len(norm)]
        size = largest * norm if similarity == "dot" else np.full(len(norm), largest)
        values[start : start + len(norm)] = _rounded(sums, size)
        start += len(norm)
    return values


def highest(
    index: GradientIndex, target: GradientIndex, similarity: str, count: int, block_bytes: int = _BLOCK_BYTES
) -> np.ndarray:
    """The mean of each row's `count` highest similarities to single targets, `[rows]` float64.

    Args:
        index: The pool.
        target: The target set, of at least `count` rows.
        similarity: One of `SIMILARITIES`; rounded as in `similarities`, pair by pair.
        count: How many targets are averaged over; 1 gives the maximum.
        block_bytes: The most bytes of one of the three kinds of block: factors, pairs, highest similarities.
    """
    values, start = np.empty(len(index)), 0
    factors = 2 * 8 * len(index.modules) * index.manifest["identity"]["gradient"]["proj_dim"]
    rows = max(1, min(1024, block_bytes // factors, block_bytes // (8 * 2 * count)))
    columns = max(1, min(2048, block_bytes // factors, block_bytes // (8 * 3 * rows)))
    largest = float(target.rows["norm"].to_numpy().max()) if similarity == "dot" else 1.0
    for u, v, norm in _blocks(index, rows):
        ours = _by_module(u, v, norm, similarity)
        size = largest * norm if similarity == "dot" else np.ones(len(norm))
        best = np.full((len(norm), 0), -np.inf)
        for a, b, their_norm in _blocks(target, columns):
            pairs = _pairs(ours, _by_module(a, b, their_norm, similarity))[: len(norm), : len(their_norm)]
            best = np.concatenate([best, _rounded(pairs, size[:, None])], axis=1)
            if best.shape[1] > count:
                best = np.partition(best, -count, axis=1)[:, -count:]
        values[start : start + len(norm)] = np.sort(best, axis=1).mean(axis=1)
        start += len(norm)
    return values


def _blocks(index: GradientIndex, rows: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """`u` and `v`, `[rows, modules, dim]` float64, and the raw norms, `[at most rows]`.

    Rows of zeros fill up the last block of a shard: a product of another shape would round otherwise. The next
    block overwrites `u` and `v`.
    """
    norms, start = index.rows["norm"].to_numpy(), 0
    rows = min(rows, max(index.shard_rows()))
    left = right = np.empty(0)
    for u, v in index.shards():
        for first in range(0, len(u), rows):
            n = min(rows, len(u) - first)
            if not left.size:
                left, right = np.zeros((2, rows, *u.shape[1:]))
            for side, whole in ((left, u), (right, v)):
                side[:n], side[n:] = whole[first : first + n], 0
            yield left, right, norms[start : start + n]
            start += n


def _scale(u: np.ndarray, v: np.ndarray, norm: np.ndarray, similarity: str) -> np.ndarray:
    """What makes the inner product with another such row the similarity asked for: `[rows, modules]` float64."""
    size = np.sqrt(np.einsum("rli,rli->rl", u, u) * np.einsum("rli,rli->rl", v, v))
    if similarity == "layer-cosine":
        return np.asarray(np.divide(1, size, where=size > 0, out=np.zeros_like(size)) / np.sqrt(size.shape[1]))
    whole = np.sqrt(np.einsum("rl,rl->r", size, size))  # the rounding to float16 leaves stacks a little off one
    scale = np.divide(1, whole, where=whole > 0, out=np.zeros_like(whole))
    if similarity == "dot":
        scale[: len(norm)] *= norm
    return np.repeat(scale[:, None], size.shape[1], axis=1)


def _by_module(u: np.ndarray, v: np.ndarray, norm: np.ndarray, similarity: str) -> tuple[np.ndarray, np.ndarray]:
    """`u`, scaled, and `v`, both `[modules, rows, dim]`."""
    return (u * _scale(u, v, norm, similarity)[..., None]).transpose(1, 0, 2), v.transpose(1, 0, 2)


def _pairs(ours: tuple[np.ndarray, np.ndarray], theirs: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The similarity of each of our rows to each of theirs, `[our rows, their rows]` float64."""
    total = np.zeros((ours[0].shape[1], theirs[0].shape[1]))
    for u, v, a, b in zip(*ours, *theirs, strict=True):
        pairs = u @ a.T
        pairs *= v @ b.T
        total += pairs
    return total


def _rounded(values: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """The values on a grid of 2^-32 of what they can be at the most, rounded up to a power of two."""
    shift = _DIGITS - np.frexp(largest)[1]
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, shift)), -shift))
