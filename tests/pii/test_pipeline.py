"""The redaction as a datatrove step gives what the command line gives."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datatrove.data import Document
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.writers import ParquetWriter

from tamis.errors import UsageError
from tamis.pii.pipeline import SPANS, RedactDocuments
from tamis.pii.recipe import RedactRecipe
from tamis.pii.redact import redact

SAID = ["hi my name is jamal", "x^2 + 3x - 28 = 0", "ty jamal"]


def test_two_tasks_write_what_the_command_line_writes(tmp_path: Path) -> None:
    expected = []
    for name in ("a", "b"):
        rows = [{"session_id": name, "id": f"{name}{i}", "text": text, "n": i} for i, text in enumerate(SAID)]
        path = tmp_path / "chats" / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows), path)
        expected += pq.read_table(redact(RedactRecipe(str(path), str(tmp_path / name), detector="rules")).file)[
            "text"
        ].to_pylist()
    steps = [
        ParquetReader(str(tmp_path / "chats")),
        RedactDocuments(detector="rules"),
        ParquetWriter(str(tmp_path / "out")),
    ]
    LocalPipelineExecutor(steps, tasks=2, workers=1, logging_dir=str(tmp_path / "logs")).run()
    found = [row for path in sorted((tmp_path / "out").iterdir()) for row in pq.read_table(path).to_pylist()]
    assert [row["text"] for row in found] == expected and "jamal" not in "".join(expected)
    assert [row["metadata"]["n"] for row in found] == [0, 1, 2] * 2
    assert (
        found[2]["metadata"][SPANS][0] | {"start": 3, "end": 8, "label": "PERSON"}
        == found[2]["metadata"][SPANS][0]
    )


def test_messages_in_the_metadata_are_redacted_too() -> None:
    turns = [{"role": "student", "content": text} for text in SAID]
    (new,) = RedactDocuments(detector="rules").run(
        [Document("hi im jamal", "d", metadata={"messages": turns, "title": "jamal"})]
    )
    assert "jamal" not in new.text and "jamal" not in str(new.metadata["messages"])
    assert new.metadata["messages"][1] == turns[1]
    assert {span["sequence_id"] for span in new.metadata[SPANS]} >= {0, 2}


def test_a_task_without_documents_is_no_mistake() -> None:
    assert list(RedactDocuments(detector="rules").run([])) == []


def test_what_means_nothing_in_a_pipeline_is_refused() -> None:
    with pytest.raises(UsageError, match="are for `tamis redact`"):
        RedactDocuments(num_proc=2)
    with pytest.raises(UsageError, match="needs key_file"):
        RedactDocuments(operator="surrogate")
