"""What a run on personal data was asked to do: one dataclass a verb."""

from __future__ import annotations

from dataclasses import dataclass

from tamis.errors import UsageError


@dataclass(frozen=True)
class SegmentRecipe:
    """Says of every message whether it is maths, and shows a session with its densities.

    Args:
        dataset_name: The sessions: a file (jsonl, json, csv, parquet, txt), a folder, or a data set on the Hub.
        output_dir: Where `segments.jsonl` goes: ids, labels and densities, and no text.
        dataset_config: The data set's config, where it has several.
        dataset_split: The split to read.
        dataset_revision: The data set's revision on the Hub.
        text_column: The column that holds the text, where it has an unusual name.
        session_id: The session that is shown; the first, if left out.
        encoder: The sentence-transformers model whose embeddings let neighbours join: a folder, a model on the
            Hub, or `packaged`; `none` calls only what is dense by itself maths.
        density: The density from which on a message is maths by itself; by default as vocabulary.yaml says.
        similarity: The least cosine of a neighbour to its segment; by default as vocabulary.yaml says.
        device: Where the encoder runs.
    """

    dataset_name: str
    output_dir: str
    dataset_config: str | None = None
    dataset_split: str = "train"
    dataset_revision: str | None = None
    text_column: str | None = None
    session_id: str | None = None
    encoder: str = "packaged"
    density: float | None = None
    similarity: float | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.density is not None and not 0 < self.density <= 1:
            raise UsageError(f"--density {self.density}: has to be over 0, and 1 at most")
        if self.similarity is not None and not -1 <= self.similarity <= 1:
            raise UsageError(f"--similarity {self.similarity}: a cosine is from -1 to 1")
