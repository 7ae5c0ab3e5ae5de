"""The two random matrices of a module, the same on every device and however the work is split."""

from __future__ import annotations

import hashlib
from typing import Literal

import numpy as np

Side = Literal["in", "out", "start"]


def gaussian(seed: int, module: str, side: Side, size: int, dim: int) -> np.ndarray:
    """A `[size, dim]` float32 matrix of N(0, 1/dim) entries, so that inner products are kept on average.

    The bits come from Philox, a counter-based generator keyed by (seed, module, side), and are turned into normals
    here (Box-Muller, float64): numpy guarantees the bits of Philox across versions, and not its `standard_normal`.

    Source: the two-sided projection of LoRIF (arXiv 2601.21929), `(G P_out)^T (X P_in)`.

    Args:
        seed: The recipe's seed.
        module: The module's name in the model, for example `model.layers.26.mlp.up_proj`.
        side: `in` for the module's input activations, `out` for its output gradients, `start` for the power
            iteration's first vector.
        size: The number of features on that side.
        dim: The number of columns.
    """
    key = hashlib.blake2b(f"{seed}\0{module}\0{side}".encode(), digest_size=16).digest()
    philox = np.random.Philox(key=int.from_bytes(key, "little"))
    half = (size * dim + 1) // 2
    bits = philox.random_raw(2 * half).reshape(2, half) >> np.uint64(11)
    uniform = (bits.astype(np.float64) + 0.5) * 2.0**-53
    radius, angle = np.sqrt(-2.0 * np.log(uniform[0])), 2.0 * np.pi * uniform[1]
    normals = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[: size * dim]
    matrix: np.ndarray = normals.reshape(size, dim) / np.sqrt(dim)
    return matrix.astype(np.float32)


def checksum(matrices: list[np.ndarray]) -> str:
    """The SHA-256 of the matrices' bytes in order: a manifest records it, so that a reader can prove a match."""
    digest = hashlib.sha256()
    for matrix in matrices:
        digest.update(np.ascontiguousarray(matrix).tobytes())
    return digest.hexdigest()
