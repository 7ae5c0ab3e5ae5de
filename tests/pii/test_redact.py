"""Redacted data sets: in the form that they came in, with every other column, the same on a second run."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from stand_in import PEOPLE, Words

from tamis import cli
from tamis.errors import UsageError, WorkError
from tamis.pii.operators import Operator
from tamis.pii.recipe import RedactRecipe
from tamis.pii.redact import Redaction, redact
from tamis.pii.redactor import Redactor
from tamis.pii.sessions import Message, Session
from tamis.pii.spans import Span

SAID = [
    "hi Jamal Ortega \N{SEE-NO-EVIL MONKEY} 3 + 4 = 7, call 555-0134",
    "ok",
    "JAMAL: f(x) = 2x, ty \N{LEFT-TO-RIGHT MARK}Ms. Ortega",
]
TAGGED = [
    "hi <PERSON> \N{SEE-NO-EVIL MONKEY} 3 + 4 = 7, call <PHONE_NUMBER>",
    "ok",
    "<PERSON>: f(x) = 2x, ty \N{LEFT-TO-RIGHT MARK}Ms. <PERSON>",
]


def turns(texts: list[str]) -> list[dict[str, Any]]:
    gold = [{"start": 3, "end": 15, "label": "PERSON"}]
    return [
        {"sequence_id": i, "role": "student", "content": text, "spans": gold if i == 0 else [], "n": 1.50}
        for i, text in enumerate(texts)
    ]


def sessions(texts: list[str], names: tuple[str, ...] = ("a", "b")) -> list[dict[str, Any]]:
    return [{"session_id": name, "source": "x", "messages": turns(texts)} for name in names]


def jsonl(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def table(texts: list[str], end: str = "\n") -> bytes:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator=end)
    rows.writerows([["grade", "text", "note"], *([i, one, ""] for i, one in enumerate(texts))])
    return text.getvalue().encode()


def parquet(rows: list[Any]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(
        pa.Table.from_pylist(rows).append_column("at", pa.array([1] * len(rows), pa.timestamp("ns"))), stream
    )
    return stream.getvalue()


def tables(content: bytes) -> list[dict[str, Any]]:
    return list(pq.read_table(io.BytesIO(content)).to_pylist())


Made = Callable[..., Redaction]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Redacts a file of these bytes with the words of `PEOPLE`; nothing is left half-written."""
    count = iter(range(100))

    def run(name: str, content: bytes, detector: Any = PEOPLE, **more: Any) -> Redaction:
        path = tmp_path / f"{next(count)}" / name
        path.parent.mkdir()
        path.write_bytes(content)
        return redact(RedactRecipe(str(path), str(path.parent / "out"), **more), detector)

    return run


@pytest.fixture
def key(tmp_path: Path) -> str:
    (tmp_path / "key").write_text("0123456789abcdef" * 2)
    return str(tmp_path / "key")


def rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def moved(row: dict[str, Any]) -> dict[str, Any]:
    row["messages"][0]["spans"] = [{"start": 3, "end": 11, "label": "PERSON"}]
    return row


FORMS = {
    "a.jsonl": (jsonl(sessions(SAID)), jsonl([moved(row) for row in sessions(TAGGED)])),
    "b.jsonl": (
        json.dumps({"id": "p", "text": SAID[0]}).encode(),
        json.dumps({"id": "p", "text": TAGGED[0]}).encode(),
    ),
    "c.jsonl": (
        json.dumps({"text": SAID[0]}, separators=(",", ":")).encode() + b"\r\n",
        json.dumps({"text": TAGGED[0]}, separators=(",", ":")).encode() + b"\r\n",
    ),
    "a.csv": (table(SAID), table(TAGGED)),
    "b.csv": (b"\xef\xbb\xbf" + table(SAID, "\r\n"), b"\xef\xbb\xbf" + table(TAGGED, "\r\n")),
    "a.txt": ("\r\n".join(SAID).encode(), "\r\n".join(TAGGED).encode()),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_form_is_that_of_the_input_and_a_second_run_changes_nothing(made: Made, name: str) -> None:
    before, after = FORMS[name]
    done = made(name, before)
    assert done.file.read_bytes() == after and done.file.name == f"redacted.{name[2:]}"
    assert made(name, after).file.read_bytes() == after


def test_parquet_keeps_its_schema_and_its_other_columns(made: Made) -> None:
    before = [{**row, "blob": b"\xff"} for row in sessions(SAID)]
    done = made("a.parquet", parquet(before))
    content = done.file.read_bytes()
    assert pq.read_schema(io.BytesIO(content)) == pq.read_schema(io.BytesIO(parquet(before)))
    at = {"at": tables(parquet(before))[0]["at"]}
    assert tables(content) == [{**moved(row), "blob": b"\xff", **at} for row in sessions(TAGGED)]
    assert made("a.parquet", content).file.read_bytes() == content


def test_a_json_array_stays_one(made: Made) -> None:
    said = [{"transcript": [{"session_id": i, "sequence_id": 1, "content": text}]} for i, text in enumerate(SAID)]
    done = made("a.json", json.dumps(said).encode())
    content = done.file.read_bytes()
    assert [row["transcript"][0]["content"] for row in json.loads(content)] == TAGGED
    assert made("a.json", content).file.read_bytes() == content


def test_spans_stand_in_the_input_and_offsets_lead_to_the_output(made: Made) -> None:
    done = made("a.jsonl", jsonl(sessions(SAID, ("a",))))
    spans, offsets = rows(done.folder / "spans.jsonl"), rows(done.folder / "offsets.jsonl")
    assert [(one["session_id"], one["sequence_id"]) for one in spans] == [("a", 0), ("a", 1), ("a", 2)]
    assert spans[0]["spans"] == [
        {"start": 3, "end": 15, "label": "PERSON", "score": 0.9, "reason": "a word of the list"},
        {"start": 34, "end": 42, "label": "PHONE_NUMBER", "score": 0.9, "reason": "a word of the list"},
    ]
    assert [one["sequence_id"] for one in offsets] == [0, 2]
    for one in offsets:
        for start, end, new_start, new_end in one["offsets"]:
            assert re.search("jamal|ortega|555", SAID[one["sequence_id"]][start:end], re.IGNORECASE)
            assert re.fullmatch("<[A-Z_]+>", TAGGED[one["sequence_id"]][new_start:new_end])


def test_the_text_of_an_annotation_is_that_of_its_new_place(made: Made) -> None:
    note = {"start": 3, "end": 8, "label": "PERSON", "text": "Jamal"}
    said = {"transcript": [{"session_id": 1, "content": SAID[0], "annotations": [note, [3, 15, "PERSON"]]}]}
    (row,) = rows(made("a.jsonl", jsonl([said])).file)
    assert row["transcript"][0]["annotations"] == [
        {"start": 3, "end": 11, "label": "PERSON", "text": "<PERSON>"},
        [3, 11, "PERSON"],
    ]


def test_spans_that_came_with_the_data_are_never_read_by_a_detector(made: Made) -> None:
    done = made("a.jsonl", jsonl(sessions(SAID)), Words({}))
    assert not done.labels and done.file.read_bytes() == jsonl(sessions(SAID))


def test_thresholds_of_labels_win(made: Made) -> None:
    assert made("a.txt", SAID[0].encode(), threshold=["0.95"]).labels == {}
    assert made("a.txt", SAID[0].encode(), threshold=["PERSON=0.95"]).labels == {"PHONE_NUMBER": 1}
    assert made("a.txt", SAID[0].encode(), threshold=["1", "PERSON=.9"]).labels == {"PERSON": 1}


def test_tags_are_never_detected(made: Made) -> None:
    tag_like = Words({"person|[<>]": "PERSON"})
    done = made("a.txt", b"a person <PERSON> x<PERSON:0123456789abcdef>=3", tag_like)
    assert done.file.read_bytes() == b"a <PERSON> <PERSON> x<PERSON:0123456789abcdef>=3"


class Strict(Words):
    """Cannot take what UTF-8 cannot."""

    def detect(self, session: Session) -> list[list[Span]]:
        assert all(message.content.encode() for message in session)
        return super().detect(session)


def test_half_a_surrogate_pair_reaches_no_detector_and_is_not_lost(made: Made) -> None:
    done = made("a.jsonl", b'{"text": "half \\ud83d jamal"}\n', Strict(PEOPLE.labels))
    assert done.file.read_bytes() == b'{"text": "half \\ud83d <PERSON>"}\n'


class Shy:
    """Sees a name only where the one before it is gone."""

    name, threshold = "shy", 0.5

    def detect(self, session: Session) -> list[list[Span]]:
        names = [re.search("jamal|ortega", message.content, re.IGNORECASE) for message in session]
        return [[Span(*name.span(), "PERSON")] if name else [] for name in names]


def test_what_is_seen_only_once_the_rest_is_tagged_is_tagged_too(made: Made) -> None:
    done = made("a.txt", b"jamal, ORTEGA and jamal", Shy())
    assert done.file.read_bytes() == b"<PERSON>, <PERSON> and <PERSON>"
    spans = rows(done.folder / "spans.jsonl")[0]["spans"]
    assert [(span["start"], span["end"]) for span in spans] == [(0, 5), (7, 13), (18, 23)]


def test_many_processes_write_the_same_bytes_as_one(made: Made, key: str) -> None:
    names = tuple(f"s{i}" for i in range(120))
    content = jsonl(sessions(SAID, names))
    one, two = (made("a.jsonl", content, num_proc=n, operator="surrogate", key_file=key) for n in (1, 2))
    for name in ("redacted.jsonl", "spans.jsonl", "offsets.jsonl"):
        assert (one.folder / name).read_bytes() == (two.folder / name).read_bytes()
    assert (one.sessions, one.messages, one.labels) == (two.sessions, two.messages, two.labels)


def test_text_columns_that_nobody_looked_at_are_listed(made: Made) -> None:
    row = {
        **sessions(SAID, ("s-1",))[0],
        "title": "Jamal's homework",
        "phone": 5550134999,
        "n": 7,
        "at": {"x": "y"},
    }
    row["messages"][0] |= {"speaker": "Jamal", "role": "student"}
    row["messages"][0]["spans"][0] |= {"text": SAID[0][3:15], "note": "his name"}
    row["messages"][1]["spans"] = [[0, 2, "PERSON"]]
    row["entities"] = [{"text": "Jamal"}]  # of no message
    content = jsonl([row])
    done = made("a.jsonl", content)
    listed = ["at.x", "entities.text", "messages.spans.note", "messages.speaker", "phone", "source", "title"]
    assert done.unscanned == listed
    facts = yaml.safe_load((done.folder / "run.yaml").read_text())["provenance"]
    assert facts["unscanned"] == done.unscanned
    named = {
        "scan_columns": ["title", "messages.speaker"],
        "drop_columns": ["phone", "at", "entities"],
        "keep_columns": ["source", "messages.spans.note"],
    }
    done = made("a.jsonl", content, **named)
    (new,) = rows(done.file)
    assert (
        done.unscanned == [] and new["title"] == "<PERSON>'s homework" and "phone" not in new and "at" not in new
    )
    assert new["messages"][0]["speaker"] == "<PERSON>" and new["n"] == 7
    columns = [one.get("column") for one in rows(done.folder / "spans.jsonl")]
    assert columns == [None, None, None, "messages.speaker", "title"]


def test_a_column_that_is_not_there_is_named(made: Made) -> None:
    for flag in ("scan_columns", "drop_columns", "keep_columns"):
        with pytest.raises(UsageError, match=f"--{flag} none: .*has no such column"):
            made("a.csv", table(SAID), **{flag: ["none"]})


def test_columns_of_tables_are_left_out(made: Made) -> None:
    assert made("a.csv", table(SAID), drop_columns=["note"]).file.read_text().startswith("grade,text\n0,")
    done = made("a.parquet", parquet(sessions(SAID)), drop_columns=["source"])
    assert "source" not in tables(done.file.read_bytes())[0]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", jsonl([{"text": SAID[0]}, {"text": 3}])),
        ("a.jsonl", jsonl([{"text": SAID[0]}]) + b'{"text": "Jamal'),
        ("a.csv", table(SAID) + b"1\n"),
        ("a.txt", SAID[0].encode() + b"\n\xff"),
    ],
)
def test_bad_rows_leave_nothing_half_written(made: Made, tmp_path: Path, name: str, content: bytes) -> None:
    with pytest.raises(UsageError):
        made(name, content)
    assert [path.name for path in (tmp_path / "0" / "out").iterdir()] == ["run.yaml"]


def test_odd_text_comes_through(made: Made) -> None:
    odd = ["half \ud83d Jamal", "\u202eJamal\u202c", "x" * (5 << 20) + " Jamal", "", "nul \0 jamal"]
    done = made("a.jsonl", b"".join(json.dumps({"text": text}).encode() + b"\n" for text in odd))
    new = [row["text"] for row in rows(done.file)]
    assert new == [re.sub("jamal", "<PERSON>", text, flags=re.IGNORECASE) for text in odd]


@given(
    st.lists(
        st.sampled_from(["jamal", "ortega", "3+4=7", "x^2", "\\frac{1}{2}", "<PERSON>", " ", "\n", "é", "\ud83d"])
    )
)
@settings(max_examples=60, deadline=None)
def test_arithmetic_outside_spans_comes_out_byte_for_byte(words: list[str]) -> None:
    text = "".join(words)
    redactor = Redactor(PEOPLE, Operator("tag"))
    done = redactor(Session("s", (Message(0, "student", text),)))
    left = re.sub("jamal(?: ortega)?|ortega", "<PERSON>", text)
    assert done.texts == [left]
    assert redactor(Session("s", (Message(0, "student", left),))).texts == [left]


def test_a_map_of_another_run_is_not_written_over(made: Made, tmp_path: Path, key: str) -> None:
    where = {"operator": "surrogate", "surrogate_map": str(tmp_path / "map"), "key_file": key}
    made("a.txt", SAID[0].encode(), **where)
    assert (tmp_path / "map").stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="is there, and not of this run"):
        made("a.txt", SAID[0].encode(), **where)
    with pytest.raises(UsageError, match="lies in --output_dir"):
        redact(
            RedactRecipe("x", str(tmp_path), operator="surrogate", surrogate_map=str(tmp_path / "map2")), PEOPLE
        )


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"detector": "none"}, "--detector none: not one of rules"),
        ({"operator": "none"}, "--operator none: not one of tag"),
        ({"threshold": ["PERSON=x"]}, "--threshold PERSON=x: not a number"),
        ({"threshold": ["2"]}, "--threshold 2: not a score"),
        ({"surrogate_map": "m"}, "--operator tag makes no surrogates"),
        ({"detector": "presidio", "roster": "r"}, "--roster: is for rules and cascade"),
        ({"num_proc": 0}, "--num_proc 0"),
    ],
)
def test_a_wrong_flag_is_named(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=re.escape(sentence)):
        RedactRecipe("x", "y", **more)


def test_a_key_is_asked_for(made: Made, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--operator encrypt: needs --key_file"):
        made("a.txt", b"x", operator="encrypt")
    (tmp_path / "short").write_text("secret")
    with pytest.raises(UsageError, match="holds 6 bytes"):
        made("a.txt", b"x", operator="hash", key_file=str(tmp_path / "short"))


def test_the_command_line_finds_a_person_and_keeps_the_maths(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "chat.txt").write_text("hi my name is jamal\nx^2 + 3x - 28 = 0, 12/25\nty jamal\n")
    (tmp_path / "roster.txt").write_text("Ortega\n")
    flags = ["--dataset_name", str(tmp_path / "chat.txt"), "--output_dir", str(tmp_path / "out")]
    flags += ["--detector", "rules"]
    assert cli.main(["redact", *flags, "--roster", str(tmp_path / "roster.txt"), "--explain"]) == 0
    out = capsys.readouterr().out
    assert "PERSON: 2" in out and re.search(r"chat 0: 14-19 PERSON 0\.\d\d \w+", out) and "jamal" not in out
    new = (tmp_path / "out" / "redacted.txt").read_text()
    assert new == "hi my name is <PERSON>\nx^2 + 3x - 28 = 0, 12/25\nty <PERSON>\n"


def test_a_detector_that_fails_says_nothing_of_the_text(made: Made) -> None:
    content = jsonl(sessions(SAID))
    with pytest.raises(WorkError, match="the detector words failed: ValueError") as failed:
        made("a.jsonl", content, Words({}, fails_at="b"))
    assert failed.value.__cause__ is None and "Jamal" not in str(failed.value)
