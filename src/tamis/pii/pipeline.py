"""Redaction as a step of a datatrove pipeline, so that its executors run it on one machine, on Slurm or on Ray.

```python
from datatrove.executor import LocalPipelineExecutor  # or SlurmPipelineExecutor, RayPipelineExecutor
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.writers import ParquetWriter
from tamis.pii.pipeline import RedactDocuments

steps = [ParquetReader("chats"), RedactDocuments(detector="rules", operator="tag"), ParquetWriter("redacted")]
LocalPipelineExecutor(steps, tasks=8, logging_dir="logs").run()
```

Documents with one `session_id` in their metadata that follow one another are one session; a document without one
is a session of its own. A list of messages in the metadata (`messages`, `transcript`) is redacted too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tamis.errors import UsageError, WorkError
from tamis.pii.columns import edited, unscanned
from tamis.pii.keyed import read_key
from tamis.pii.operators import NEED_KEY
from tamis.pii.reading import Passage, passages
from tamis.pii.recipe import RedactRecipe
from tamis.pii.records import TEXT, Record, Source
from tamis.pii.redact import build, shown
from tamis.pii.redactor import Redactor
from tamis.pii.spans import Span

try:
    from datatrove.data import Document
    from datatrove.pipeline.base import PipelineStep
except ImportError as error:
    raise UsageError("datatrove is not installed: pip install datatrove") from error

SPANS = "pii_spans"
"""The key of a document's metadata that says what was taken out of it, in the offsets of its old text."""


@dataclass
class _Documents(Source):
    """Documents as rows."""

    documents: Iterable[Any] = field(default_factory=tuple)

    def records(self) -> Iterator[Record]:
        for number, document in enumerate(self.documents):
            fields = {**document.metadata, "id": document.id, TEXT: document.text}
            yield Record(f"document {document.id}", number, fields, document)


class RedactDocuments(PipelineStep):  # type: ignore[misc]  # datatrove has no types
    """Takes personal data out of documents.

    Args:
        options: Those of `RedactRecipe`: detector, operator, threshold, roster, key_file, maths_guard and those of
            columns. `surrogate` needs a key here, or every task would have surrogates of its own.

    Raises:
        UsageError: An option means nothing here, or a key is missing.
    """

    name = "tamis redact"
    type = "formatter"

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._recipe = RedactRecipe(dataset_name="documents", output_dir="", **options)
        if self._recipe.surrogate_map or self._recipe.spans_output or self._recipe.num_proc > 1:
            raise UsageError("surrogate_map, spans_output and num_proc are for `tamis redact`")
        if self._recipe.operator in (*NEED_KEY, "surrogate") and not self._recipe.key_file:
            raise UsageError(f"operator {self._recipe.operator}: needs key_file")

    def run(self, data: Any, rank: int = 0, world_size: int = 1) -> Iterator[Any]:  # noqa: ARG002
        """The documents, redacted, in order."""
        # datatrove logs the values of all that stands in a traceback, and text is among them: nothing of ours, and
        # nothing that came through us, may stand there.
        try:
            yield from self._redacted(data)
        except (UsageError, WorkError) as error:
            raise type(error)(str(error)) from None
        except Exception as error:  # noqa: BLE001
            raise WorkError(f"a step before the redaction failed: {type(error).__name__}") from None

    def _redacted(self, documents: Iterable[Any]) -> Iterator[Any]:
        recipe = self._recipe
        redactor: Redactor = build(recipe, read_key(recipe.key_file) or b"")
        source = _Documents("documents", "documents", "jsonl", "", documents=documents)
        looked_at = (*recipe.drop_columns, *recipe.keep_columns)
        for passage in passages(source, recipe.text_column, (TEXT, *recipe.scan_columns)):
            redacted = redactor(passage.annotated.session)
            rows = edited(passage, redacted.texts, redacted.offsets, recipe.drop_columns)
            for name in unscanned(passage, looked_at):
                self.stat_update(f"not scanned: {name}")
            self.stat_update("spans", value=sum(map(len, redacted.spans)))
            found = _by_record(passage, redacted.spans)
            for record, fields, spans in zip(passage.records, rows, found, strict=True):
                metadata = {key: value for key, value in fields.items() if key not in ("id", TEXT)}
                new = {"text": fields[TEXT], "metadata": {**metadata, SPANS: spans}}
                yield Document(id=record.raw.id, media=record.raw.media, **new)


def _by_record(passage: Passage, spans: list[list[Span]]) -> list[list[dict[str, Any]]]:
    """The spans of each row, each with the number of its message."""
    found: list[list[dict[str, Any]]] = [[] for _ in passage.records]
    for place, message, of_message in zip(passage.places, passage.annotated.session, spans, strict=True):
        found[place.record] += [{"sequence_id": message.sequence_id, **shown(span)} for span in of_message]
    return found
