"""One shard on disk: the source rows it is for, its file, and the header that says what is known of its rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from tamis.errors import WorkError

AGAIN = "remove it and run the same command again"
_HEADER = "tamis"  # one key: safetensors writes several in an order that changes from run to run
ROWS_SCHEMA = pa.schema(
    [
        ("row_id", pa.string()),
        ("index", pa.int64()),
        ("source", pa.string()),
        ("language", pa.string()),
        ("tokens", pa.int32()),
        ("response_tokens", pa.int32()),
        ("truncated", pa.bool_()),
        ("flags", pa.list_(pa.string())),
        ("norm", pa.float64()),
        ("energy", pa.float64()),
        ("loss", pa.float64()),
    ]
)
EXCLUDED_SCHEMA = pa.schema(
    [
        ("row_id", pa.string()),
        ("index", pa.int64()),
        ("source", pa.string()),
        ("language", pa.string()),
        ("reason", pa.string()),
    ]
)


@dataclass(frozen=True)
class EmbeddedRow:
    """What is known of a row that was embedded.

    Attributes:
        row_id: The row's id.
        index: Its position in the source.
        source: Its source.
        language: Its language.
        tokens: Tokens of the conversation inside the window.
        response_tokens: Supervised tokens among them.
        flags: See `tamis.chat.Example`; `duplicate` marks a conversation that stood earlier in the data set.
        norm: Norm of the raw rank-one stack.
        energy: Share of the projected gradient's squared norm that rank one keeps.
        loss: Summed loss of the response tokens, in nats.
        content: Digest of the conversation.
    """

    row_id: str
    index: int
    source: str
    language: str
    tokens: int
    response_tokens: int
    flags: list[str]
    norm: float
    energy: float
    loss: float
    content: str


@dataclass(frozen=True)
class ExcludedRow:
    """A row without a gradient, and why."""

    row_id: str
    index: int
    source: str
    language: str | None
    reason: str


class Part(NamedTuple):
    """The source rows of one shard, and the fingerprint of the data set up to the last of them.

    That fingerprint stays when rows are added at the data set's end, so that a whole shard stays what it was.
    """

    number: int
    rows: range
    fingerprint: str

    def path(self, folder: Path) -> Path:
        """The shard's file."""
        return folder / f"shard-{self.number:05d}.safetensors"


def encode(
    digest: str, u: np.ndarray, v: np.ndarray, rows: Sequence[EmbeddedRow], excluded: Sequence[ExcludedRow]
) -> bytes:
    """The bytes of a shard: `u` and `v` are `[rows, modules, dim]`."""
    header = {
        "digest": digest,
        "rows": [asdict(row) for row in rows],
        "excluded": [asdict(row) for row in excluded],
    }
    tensors = {"u": np.ascontiguousarray(u, np.float16), "v": np.ascontiguousarray(v, np.float16)}
    return save(tensors, metadata={_HEADER: json.dumps(header)})


def read_header(path: Path) -> dict[str, Any]:
    """The shard's `digest`, `rows` and `excluded`.

    Raises:
        WorkError: The shard is missing or torn.
    """
    try:
        with safe_open(path, framework="numpy") as shard:
            return {"rows": [], "excluded": [], **json.loads((shard.metadata() or {}).get(_HEADER, "{}"))}
    except (SafetensorError, OSError, ValueError) as error:
        raise WorkError(f"{path}: the shard is torn ({error}); {AGAIN}") from error


def places(header: Mapping[str, Any]) -> list[int]:
    """The source positions of a shard's rows, embedded and excluded, sorted."""
    return sorted(row["index"] for row in (*header["rows"], *header["excluded"]))


def sha256(path: Path) -> str:
    """The file's checksum."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
