"""Sessions come out of every form of rows, and what is wrong with a row is said in one sentence that names it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.errors import UsageError
from tamis.pii.reading import read_sessions
from tamis.pii.sessions import Annotated
from tamis.pii.spans import Span

SPANS = [{"start": 6, "end": 11, "label": "PERSON"}]
TURNS = [
    {"role": "student", "content": "hi im Jamal", "sequence_id": 0, "spans": SPANS},
    {"role": "tutor", "content": "3 + 4 = 7", "sequence_id": 1, "spans": []},
]
GOLD = Span(6, 11, "PERSON")


def lines(path: Path, *rows: Any) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def read(name: str, **more: Any) -> list[Annotated]:
    return list(read_sessions(name, **more))


def contents(name: str, **more: Any) -> list[tuple[str, int, str]]:
    return [(a.session.session_id, m.sequence_id, m.content) for a in read(name, **more) for m in a.session]


def refusal(name: str, **more: Any) -> str:
    with pytest.raises(UsageError) as refused:
        read(name, **more)
    sentence = str(refused.value)
    assert sentence.startswith(name) and "\n" not in sentence
    return sentence.removeprefix(name)


def transcript(annotation: dict[str, Any]) -> dict[str, Any]:
    said = {"role": "volunteer", "content": "hi im Jamal", "session_id": 12, "sequence_id": 3}
    return {"transcript": [{**said, "annotations": [annotation]}]}


def test_a_session_a_line_comes_with_its_spans(tmp_path: Path) -> None:
    (found,) = read(lines(tmp_path / "a.jsonl", {"session_id": "s", "messages": TURNS}))
    assert found.session.session_id == "s" and [m.role for m in found.session] == ["student", "tutor"]
    assert found.spans == ((GOLD,), ())


def test_sessions_without_spans_have_none(tmp_path: Path) -> None:
    bare = [{key: value for key, value in turn.items() if key != "spans"} for turn in TURNS]
    (found,) = read(lines(tmp_path / "a.jsonl", {"session_id": "s", "messages": bare}))
    assert found.spans is None


def test_a_probe_is_a_session_of_one_message(tmp_path: Path) -> None:
    (found,) = read(lines(tmp_path / "a.jsonl", {"id": "p", "content": "hi im Jamal", "spans": TURNS[0]["spans"]}))
    assert (found.session.session_id, found.session.messages[0].sequence_id) == ("p", 0)
    assert found.spans == ((GOLD,),)


@pytest.mark.parametrize(
    "annotation",
    [
        {"start": 6, "end": 11, "label": "PERSON"},
        {"startOffset": 6, "endOffset": 11, "pii_type": "<PERSON>", "text": "Jamal"},
        {"begin": 6, "stop": 11, "entity_type": "person", "value": "Jamal", "confidence": 1.0},
        {"char_start": 6, "char_end": 11, "category": "PERSON", "surface": "Jamal"},
        [6, 11, "PERSON"],
    ],
    ids=str,
)
@pytest.mark.parametrize("suffix", ["jsonl", "json"])
def test_transcripts_and_their_annotations_are_read_under_the_usual_names(
    tmp_path: Path, annotation: Any, suffix: str
) -> None:
    path = tmp_path / f"a.{suffix}"
    record = transcript(annotation)
    path.write_text(json.dumps([record]) if suffix == "json" else json.dumps(record) + "\n")
    (found,) = read(str(path))
    assert (found.session.session_id, found.session.messages[0].sequence_id) == ("12", 3)
    assert found.spans == ((GOLD,),)


def test_keys_of_annotations_that_nobody_knows_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    read(lines(tmp_path / "a.jsonl", transcript({"start": 6, "end": 11, "label": "PERSON", "annotator": "x"})))
    assert "annotator" in caplog.text
    wrong = refusal(lines(tmp_path / "b.jsonl", transcript({"onset": 6, "end": 11, "label": "PERSON"})))
    assert "line 1, message 1: annotation 1: no start" in wrong and "onset, end, label" in wrong


def test_rows_of_a_table_are_one_session_named_by_their_file(tmp_path: Path) -> None:
    path = tmp_path / "chat.csv"
    path.write_text('text,grade\n"hi, im ""Jamal""",5\n\n"two\nlines",NA\n')
    expected = [("chat", 0, 'hi, im "Jamal"'), ("chat", 1, "two\nlines")]
    assert contents(str(path)) == expected
    pq.write_table(pa.table({"text": ['hi, im "Jamal"', "two\nlines"]}), tmp_path / "chat.parquet")
    assert contents(str(tmp_path / "chat.parquet")) == expected


def test_columns_of_ids_say_which_session_a_row_belongs_to(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("session_id,sequence_id,content\nx,4,a\nx,7,b\ny,4,c\n")
    assert contents(str(path)) == [("x", 4, "a"), ("x", 7, "b"), ("y", 4, "c")]
    assert len(read(str(path))) == 2


def test_a_line_of_text_is_a_message(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes("\ufeffone\r\n\n\N{SEE-NO-EVIL MONKEY} \u202bשלום\u2028x\nlast".encode())
    assert [text for *_, text in contents(str(path))] == [
        "one",
        "",
        "\N{SEE-NO-EVIL MONKEY} \u202bשלום\u2028x",
        "last",
    ]


def test_a_folder_of_parquet_files_and_a_saved_data_set_are_read(tmp_path: Path) -> None:
    rows = datasets.Dataset.from_list([{"session_id": "s", "messages": TURNS[:1]}])
    rows.save_to_disk(tmp_path / "saved")
    (tmp_path / "folder").mkdir()
    rows.to_parquet(tmp_path / "folder" / "train.parquet")
    for name in ("saved", "folder"):
        (found,) = read(str(tmp_path / name))
        assert found.spans == ((GOLD,),)


def test_the_text_may_have_an_unusual_name(tmp_path: Path) -> None:
    said = lines(tmp_path / "a.jsonl", {"post": "hi"})
    assert contents(said, text_column="post") == [("a", 0, "hi")]
    assert "no text in the columns post; understood: a list of messages" in refusal(said)
    turns = lines(tmp_path / "b.jsonl", {"id": 4, "talk": [{"said": "hi"}]})
    assert "no text" in refusal(turns)
    assert contents(lines(tmp_path / "c.jsonl", {"id": 4, "turns": [{"said": "hi"}]}), text_column="said") == [
        ("4", 0, "hi")
    ]


def test_long_and_odd_messages_come_whole(tmp_path: Path) -> None:
    odd = ["x" * (5 << 20), "half \ud83d a pair", "\u202eright to left\u202c", "", "nul \0"]
    path = lines(tmp_path / "a.jsonl", {"session_id": "s", "messages": [{"content": text} for text in odd]})
    assert [text for *_, text in contents(path)] == odd
    csv = tmp_path / "a.csv"
    csv.write_text(f"text\n{odd[0]}\n")
    assert [text for *_, text in contents(str(csv))] == odd[:1]


def spans(*offsets: tuple[int, int]) -> dict[str, Any]:
    given = [{"start": start, "end": end, "label": "PERSON"} for start, end in offsets]
    return {"session_id": "s", "messages": [{"content": "Jamal", "spans": given}]}


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [spans((0, 6))],
            "line 1, message 1: annotation 1: a span from 0 to 6 lies outside a text of 5 characters",
        ),
        ([spans((0, 5), (3, 3))], "line 1, message 1: annotation 2: a span from 3 to 3 lies outside"),
        ([transcript({"start": 5, "end": 10, "label": "PERSON", "text": "Jamal"})], "its text is not what stands"),
        ([{"id": "a", "content": "x"}, {"id": "a", "content": "y"}], "line 2: its id stands twice"),
        (
            [{"session_id": "a", "messages": [{"content": "x", "sequence_id": 1}] * 2}],
            "message 2: the sequence_id 1",
        ),
        ([{"content": "a"}, {"content": ["b"]}], "line 2: content is not text but list"),
        ([{"content": "a"}, {"other": "b"}], "line 2: content is not there"),
        ([{"content": "a"}, ["b"]], "line 2: is not an object"),
        ([{"messages": [{"content": "x", "sequence_id": -1}]}], "sequence_id is not a whole number"),
        ([{"messages": [{"content": "x"}]}, {"messages": "y"}], "line 2: messages is not a list"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, rows: list[Any], sentence: str) -> None:
    assert sentence in refusal(lines(tmp_path / "a.jsonl", *rows))


def test_rows_of_a_session_have_to_lie_together(tmp_path: Path) -> None:
    rows = [{"session_id": name, "text": "x"} for name in ("a", "b", "a")]
    assert "line 3: its session_id stands in rows that do not lie together" in refusal(
        lines(tmp_path / "a.jsonl", *rows)
    )


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.jsonl", b'{"text": "a"}\n{"text": "b\n', ": line 2: is not JSON"),
        ("a.jsonl", b'{"text": "a", "text": "Jamal"}\n', ": line 1: the key 'text' stands twice"),
        ("a.jsonl", b'{"text": "a"}\n{"text": "\xff"}\n', ": line 2: is not UTF-8"),
        ("a.jsonl", b"", ": the file is empty"),
        ("a.jsonl", b"\n \n", ": there are no rows in it"),
        ("a.json", b"[]", ": there are no rows in it"),
        ("a.json", b'[{"text": 1}', ": is not JSON"),
        ("a.csv", b"text,n\na,1\nb\n", ": row 2: has 1 cells, and the header 2"),
        ("a.csv", b'text,n\na,1\n"b,2\n', ": row 2 is broken"),
        ("a.csv", b"text,text\na,1\n", ": two columns have the same name"),
        ("a.csv", b"text\na\xff\n", "is not UTF-8"),
        ("a.txt", b"a\n\xff\n", ": line 2: is not UTF-8"),
        ("a.parquet", b"PAR1", ": not a Parquet file"),
        ("a.docx", b"x", ": not a .jsonl"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    (tmp_path / name).write_bytes(content)
    said = refusal(str(tmp_path / name))
    assert sentence in said and "Jamal" not in said


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    assert "there is no such file or folder" in refusal(str(tmp_path / "none.jsonl"))
    assert "a file has no config" in refusal(lines(tmp_path / "a.jsonl", {"text": "x"}), split="test")


def test_reading_writes_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`datasets` would copy all text into its cache."""
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(cache))
    rows = datasets.Dataset.from_list([{"text": "hi im Jamal"}])
    (tmp_path / "folder").mkdir()
    rows.to_parquet(tmp_path / "folder" / "train.parquet")
    lines(tmp_path / "more.jsonl", {"text": "hi im Jamal"})
    assert contents(str(tmp_path / "folder")) and contents(str(tmp_path / "more.jsonl"))
    assert not any(path.is_file() and path.stat().st_size for path in cache.rglob("*"))  # but an empty lock
