"""Rows of real files: which form they have, which ids they get, and why a row or a file cannot be used."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.chat import Message, RowError
from tamis.errors import UsageError
from tamis.rows import UNDERSTOOD, Rows, conversation, detect_language, read_rows

Record = dict[str, Any]
CHAT = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because."}]
PAIR = {"prompt": "Why?", "response": "Because."}


def write(path: Path, records: Sequence[Record]) -> str:
    """The records in the format that the path's suffix names; without a suffix, a `save_to_disk` folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif path.suffix == ".json":
        path.write_text(json.dumps(records))
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(list(records)), path)
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(records[0]))
            writer.writeheader()
            writer.writerows(records)
    else:
        datasets.Dataset.from_list(list(records)).save_to_disk(path)
    return str(path)


def configs(folder: Path) -> str:
    """A folder of Parquet files with two configs, the second of two splits."""
    for name, n in (("one", 1), ("two-train", 2), ("two-test", 3)):
        write(folder / "data" / f"{name}.parquet", [{"messages": CHAT}] * n)
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: one\n  default: true\n  data_files: data/one.parquet\n- config_name: two\n"
        "  data_files:\n  - split: train\n    path: data/two-train.parquet\n  - split: test\n"
        "    path: data/two-test.parquet\n---\n# Rows\n"
    )
    return str(folder)


def outcomes(rows: Rows) -> list[list[Message] | str]:
    """Each row's messages, or the reason why it has none."""
    found: list[list[Message] | str] = []
    for row in rows.rows():
        try:
            found.append(conversation(row.record))
        except RowError as error:
            found.append(str(error))
    return found


def refusal(name: str, **options: Any) -> str:
    with pytest.raises(UsageError) as error:
        read_rows(name, **options)
    text = str(error.value)
    assert "\n" not in text
    assert text.startswith(f"{name}: ")
    return text


# Forms

FORMS: list[tuple[str, Record]] = [
    ("messages", {"messages": CHAT}),
    (
        "conversations",
        {"conversations": [{"from": "human", "value": "Why?"}, {"from": "gpt", "value": "Because."}]},
    ),
    ("conversations", {"conversations": CHAT}),
    ("conversation", {"conversation": CHAT}),
    (
        "conversation",
        {"conversation": [{"from": "user", "value": "Why?"}, {"from": "assistant", "value": "Because."}]},
    ),
    ("prompt + completion", {"prompt": "Why?", "completion": "Because."}),
    ("prompt + completion", {"prompt": CHAT[:1], "completion": CHAT[1:]}),
    ("prompt + response", PAIR),
    ("instruction + output", {"instruction": "Why?", "output": "Because."}),
    ("instruction + response", {"instruction": "Why?", "response": "Because."}),
    ("instruction + input + output", {"instruction": "Why?", "input": "", "output": "Because."}),
    ("instruction + context + response", {"instruction": "Why?", "context": "  ", "response": "Because."}),
    ("question + answer", {"question": "Why?", "answer": "Because."}),
]


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet", ""])
@pytest.mark.parametrize(("form", "record"), FORMS)
def test_every_form_gives_its_messages_and_names_itself(
    tmp_path: Path, suffix: str, form: str, record: Record
) -> None:
    rows = read_rows(write(tmp_path / f"rows{suffix}", [{"other": 1, **record}] * 2))
    assert (rows.form, rows.columns) == (form, tuple(form.split(" + ")))
    assert outcomes(rows) == [CHAT, CHAT]


@pytest.mark.parametrize(
    ("instruction", "extra", "output"),
    [("instruction", "input", "output"), ("instruction", "context", "response")],
)
def test_the_extra_text_follows_the_instruction(tmp_path: Path, instruction: str, extra: str, output: str) -> None:
    records = [{instruction: "Sum up.", extra: text, output: "Short."} for text in ("A long text.", None)]
    first, second = outcomes(read_rows(write(tmp_path / "rows.jsonl", records)))
    assert first[0] == {"role": "user", "content": "Sum up.\n\nA long text."}
    assert second[0] == {"role": "user", "content": "Sum up."}


@pytest.mark.parametrize(
    "record", [record for _, record in FORMS if all(isinstance(v, str) for v in record.values())]
)
def test_text_forms_are_read_from_csv(tmp_path: Path, record: Record) -> None:
    assert outcomes(read_rows(write(tmp_path / "rows.csv", [record]))) == [CHAT]


def test_every_role_and_its_other_names(tmp_path: Path) -> None:
    turns = [
        {"from": role, "value": role} for role in ("system", "human", "gpt", "observation", "function_response")
    ]
    turns += [{"from": role, "value": role} for role in ("developer", "user", "assistant", "tool", "function")]
    (messages,) = outcomes(read_rows(write(tmp_path / "rows.jsonl", [{"conversations": turns}])))
    expected = [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "developer",
        "user",
        "assistant",
        "tool",
        "function",
    ]
    assert [message["role"] for message in messages] == expected  # type: ignore[index]


def test_what_a_template_reads_beside_the_text_is_kept(tmp_path: Path) -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}]
    turns = [
        {"role": "user", "content": "2 + 2?"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "content": "4", "tool_call_id": "1"},
        {"role": "assistant", "content": "4"},
    ]
    expected = [dict(turn) for turn in turns]
    for name in ("rows.jsonl", "rows.parquet", "rows"):
        assert outcomes(read_rows(write(tmp_path / name, [{"messages": turns}]))) == [expected]


def test_unknown_columns_are_named_beside_those_understood(tmp_path: Path) -> None:
    for suffix in (".jsonl", ".json", ".csv", ".parquet", ""):
        text = refusal(write(tmp_path / f"rows{suffix}", [{"title": "a", "prompt": "b", "body": "c"}]))
        assert "the columns title, prompt, body" in text
        assert UNDERSTOOD in text


def test_a_folder_is_read_by_its_configs_and_splits(tmp_path: Path) -> None:
    folder = configs(tmp_path / "folder")
    assert len(read_rows(folder)) == 1
    assert len(read_rows(folder, config="two")) == 2
    assert len(read_rows(folder, config="two", split="test")) == 3
    write(tmp_path / "plain" / "train.parquet", [{"messages": CHAT}] * 4)
    assert len(read_rows(str(tmp_path / "plain"))) == 4


def test_a_saved_folder_gives_the_split_that_was_asked_for(tmp_path: Path) -> None:
    parts = {
        name: datasets.Dataset.from_list([PAIR] * n) for name, n in (("train", 1), ("dev", 2), ("held_out", 3))
    }
    datasets.DatasetDict(parts).save_to_disk(tmp_path / "all")
    assert [len(read_rows(str(tmp_path / "all"), split=name)) for name in parts] == [1, 2, 3]
    assert "train, dev, held_out" in refusal(str(tmp_path / "all"), split="test")


def test_a_saved_format_does_not_change_the_rows(tmp_path: Path) -> None:
    saved = datasets.Dataset.from_list([{"id": "a", "messages": CHAT}] * 2)
    saved.with_format("numpy", columns=["messages"]).save_to_disk(tmp_path / "saved")
    rows = read_rows(str(tmp_path / "saved"))
    assert outcomes(rows) == [CHAT, CHAT]
    assert rows.row_ids == ["a", "a#2"]


@pytest.mark.parametrize(
    "name", ["rows[1].jsonl", "row?.jsonl", "*.jsonl", "a b é %20.jsonl", "dir[1]/rows.csv", ".hidden/.rows.json"]
)
def test_a_path_is_a_path_and_no_pattern(tmp_path: Path, name: str) -> None:
    write(tmp_path / "rows1.jsonl", [PAIR] * 3)
    assert len(read_rows(write(tmp_path / name, [PAIR]))) == 1


def test_a_relative_path_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "rows.jsonl", [PAIR])
    write(tmp_path / "folder" / "rows.parquet", [PAIR])
    monkeypatch.chdir(tmp_path / "folder")
    assert [next(read_rows(name).rows()).source for name in (".", "../rows.jsonl")] == ["folder", "rows"]


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path) -> None:
    for suffix in (".jsonl", ".json", ".csv"):
        path = Path(write(tmp_path / f"rows{suffix}", [PAIR]))
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
        assert outcomes(read_rows(str(path))) == [CHAT]


# Rows that cannot be used


def answered(content: Any, **more: Any) -> list[Any]:
    return [CHAT[0], {"role": "assistant", "content": content, **more}]


WRONG: list[tuple[Any, str]] = [
    (None, "messages is empty"),
    ("Why? Because.", "messages is not a list"),
    ({"role": "user", "content": "Why?"}, "messages is not a list"),
    (5, "messages is not a list"),
    ([], "messages is empty"),
    (["Why?"], "message 1 is not a message but str"),
    ([CHAT[0], None], "message 2 is not a message but NoneType"),
    ([CHAT[0], {"role": "wizard", "content": "Because."}], "message 2 has the unknown role 'wizard'"),
    ([{"role": None, "content": "Why?"}, CHAT[1]], "message 1 has the unknown role None"),
    ([{"content": "Why?"}, CHAT[1]], "message 1 has the unknown role None"),
    ([{"role": 7, "content": "Why?"}, CHAT[1]], "message 1 has the unknown role 7"),
    (answered(None), "message 2 (assistant) has no content"),
    ([{"role": "system", "content": None}, *CHAT], "message 1 (system) has no content"),
    ([{"role": "user"}, CHAT[1]], "message 1 (user) has no content"),
    (answered(5), "message 2 (assistant) has content of type int, not text"),
    (answered(0.5), "message 2 (assistant) has content of type float, not text"),
    (answered(True), "message 2 (assistant) has content of type bool, not text"),
    (answered({"text": "Because."}), "message 2 (assistant) has content of type dict, not text"),
    (answered([]), "message 2 (assistant) has content of type list, not text"),
    (answered(""), "message 2 (assistant) is empty"),
    (answered(" \n\t\u3000"), "message 2 (assistant) is empty"),
    ([{"role": "user", "content": ""}, CHAT[1]], "message 1 (user) is empty"),
    (answered("", tool_calls=[]), "message 2 (assistant) is empty"),
    (
        [{"role": "user", "content": "Why?", "tool_calls": [{"id": "1"}]}, answered(None)[1]],
        "message 2 (assistant) has no content",
    ),
    (answered([{"type": "image", "image": "a.png"}]), "message 2 (assistant) has content of type list, not text"),
    (
        answered([{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": "a.png"}}]),
        "message 2 (assistant) has content of type list, not text",
    ),
    (answered([{"type": "image", "text": "alt"}]), "message 2 (assistant) has content of type list, not text"),
]
GOOD: list[tuple[Any, list[Message]]] = [
    (CHAT, CHAT),
    ([{"role": "system", "content": ""}, *CHAT], [{"role": "system", "content": ""}, *CHAT]),
    (answered(None, tool_calls=[{"id": "1"}]), answered(None, tool_calls=[{"id": "1"}])),
    (answered([{"type": "text", "text": "Be"}, {"text": "cause."}]), CHAT),
    (answered("5"), answered("5")),
    (answered("null"), answered("null")),
    (answered('{"a": [1]}'), answered('{"a": [1]}')),
]


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_each_wrong_row_has_its_reason_and_the_good_rows_of_the_file_still_load(
    tmp_path: Path, suffix: str
) -> None:
    mixed = [pair for i, wrong in enumerate(WRONG) for pair in (wrong, GOOD[i % len(GOOD)])]
    rows = read_rows(write(tmp_path / f"rows{suffix}", [{"messages": turns} for turns, _ in mixed]))
    assert outcomes(rows) == [expected for _, expected in mixed]


@pytest.mark.parametrize(("turns", "reason"), WRONG)
def test_a_wrong_row_beside_plain_ones_only(tmp_path: Path, turns: Any, reason: str) -> None:
    rows = read_rows(write(tmp_path / "rows.jsonl", [{"messages": t} for t in (CHAT, turns, CHAT)]))
    assert outcomes(rows) == [CHAT, reason, CHAT]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"prompt": None, "completion": "b"}, "message 1 (user) has no content"),
        ({"prompt": "a"}, "message 2 (assistant) has no content"),
        ({"prompt": "a", "completion": " "}, "message 2 (assistant) is empty"),
        ({"prompt": 5, "completion": "b"}, "message 1 (user) has content of type int, not text"),
        ({"prompt": "a", "completion": ["b"]}, "message 2 (assistant) has content of type list, not text"),
        ({"prompt": CHAT[:1], "completion": "b"}, "message 1 (user) has content of type list, not text"),
        ({"prompt": [], "completion": []}, None),
    ],
)
def test_wrong_pairs(tmp_path: Path, record: Record, reason: str | None) -> None:
    good = {"prompt": "Why?", "completion": "Because."}
    rows = read_rows(write(tmp_path / "rows.jsonl", [good, record, good]))
    assert outcomes(rows) == [CHAT, reason or [], CHAT]


def test_an_extra_that_is_no_text_is_named(tmp_path: Path) -> None:
    records = [{"instruction": "Why?", "input": extra, "output": "Because."} for extra in ("", {"a": 1}, None)]
    assert outcomes(read_rows(write(tmp_path / "rows.jsonl", records))) == [CHAT, "input is not text", CHAT]


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (5, "messages is not a list"),
        (
            [*CHAT[:1], {"role": "assistant", "content": 5}],
            "message 2 (assistant) has content of type int, not text",
        ),
        ([*CHAT[:1], {**CHAT[1], "name": "bot"}], [*CHAT[:1], {**CHAT[1], "name": "bot"}]),
    ],
)
def test_a_late_row_that_differs_does_not_stop_a_long_file(tmp_path: Path, last: Any, expected: Any) -> None:
    """`datasets` takes the columns of a JSON file from its first 10 MB."""
    records = [{"messages": answered("b" * 1_000_000)}] * 11 + [{"messages": last}, {"messages": CHAT, "new": 1}]
    assert outcomes(read_rows(write(tmp_path / "rows.jsonl", records)))[-2:] == [expected, CHAT]


@pytest.mark.parametrize(
    "cell", ["5", "5.0", "NA", "None", "null", "nan", "true", "2020-01-01", "[1]", " x ", "a\nb", 'a"b', "é, ü"]
)
def test_a_csv_cell_is_text(tmp_path: Path, cell: str) -> None:
    rows = read_rows(write(tmp_path / "rows.csv", [{"id": cell, "question": cell, "answer": cell}]))
    assert rows.row_ids == [cell]
    assert [message["content"] for message in outcomes(rows)[0]] == [cell, cell]  # type: ignore[index]


def test_an_empty_csv_cell_is_excluded(tmp_path: Path) -> None:
    records = [{"id": "", "question": "Why?", "answer": answer} for answer in ("", "Because.", " ")]
    rows = read_rows(write(tmp_path / "rows.csv", records))
    assert outcomes(rows) == ["message 2 (assistant) is empty", CHAT, "message 2 (assistant) is empty"]
    assert rows.row_ids == ["0", "1", "2"]


def test_a_csv_file_with_an_unnamed_first_column_is_read(tmp_path: Path) -> None:
    """As `DataFrame.to_csv` writes it."""
    (tmp_path / "rows.csv").write_text(",question,answer\n0,Why?,Because.\n1,Why?,Because.\n")
    assert outcomes(read_rows(str(tmp_path / "rows.csv"))) == [CHAT, CHAT]


@pytest.mark.parametrize("body", ["a,b,c\n", "a,b\nc,d,e\n", "a,b,\nc,d,\n"])
def test_a_csv_row_with_too_many_cells_is_refused_and_never_shifted(tmp_path: Path, body: str) -> None:
    (tmp_path / "rows.csv").write_text("question,answer\n" + body)
    assert "cannot be read" in refusal(str(tmp_path / "rows.csv"))


# Ids, source, language


@pytest.mark.parametrize(
    ("given_ids", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        ([7, 8], ["7", "8"]),
        ([7, None, 7], ["7", "1", "7#2"]),
        (["a", None, ""], ["a", "1", "2"]),
        ([None, "0", None], ["0", "0#2", "2"]),
        (["x", "x", "x"], ["x", "x#2", "x#3"]),
        (["x#2", "x", "x"], ["x#2", "x", "x#3"]),
        (["x", "x#2", "x", "x"], ["x", "x#2", "x#3", "x#4"]),
        (["x", "x", "x#2"], ["x", "x#2", "x#2#2"]),
        (["x", "x", "x#2", "x#2", "x"], ["x", "x#2", "x#2#2", "x#2#3", "x#3"]),
    ],
)
@pytest.mark.parametrize("column", ["id", "row_id"])
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_ids(tmp_path: Path, suffix: str, column: str, given_ids: list[Any], expected: list[str]) -> None:
    rows = read_rows(write(tmp_path / f"rows{suffix}", [{column: i, **PAIR} for i in given_ids]))
    assert rows.row_ids == expected
    assert [(row.row_id, row.index) for row in rows.rows()] == [(name, i) for i, name in enumerate(expected)]


def test_ids_of_several_types_are_told_apart_as_text(tmp_path: Path) -> None:
    rows = read_rows(write(tmp_path / "rows.jsonl", [{"id": i, **PAIR} for i in (7, "x", "7", 7.5)]))
    assert rows.row_ids == ["7", "x", "7#2", "7.5"] == [row.row_id for row in rows.rows()]


def test_without_an_id_column_the_position_is_the_id(tmp_path: Path) -> None:
    assert read_rows(write(tmp_path / "rows.jsonl", [PAIR] * 3)).row_ids == ["0", "1", "2"]


def test_id_goes_before_row_id(tmp_path: Path) -> None:
    assert read_rows(write(tmp_path / "rows.jsonl", [{"row_id": "a", "id": "b", **PAIR}])).row_ids == ["b"]


def table(given_ids: Sequence[str | None]) -> Rows:
    columns = {
        "id": pa.array(given_ids, pa.string()),
        **{name: [text] * len(given_ids) for name, text in PAIR.items()},
    }
    return Rows(datasets.Dataset(pa.table(columns)), "rows", "prompt + response", ("prompt", "response"))


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["x", "x#2", "x#3", "x#2#2", "0", "1", "1#2", "", None]) | st.text(max_size=2), min_size=1
    )
)
def test_ids_are_unique_whatever_was_given(given_ids: list[str | None]) -> None:
    found = table(given_ids).row_ids
    assert len(set(found)) == len(given_ids)
    assert all(
        name.startswith(text or str(i)) for i, (name, text) in enumerate(zip(found, given_ids, strict=True))
    )
    assert all(table(given_ids[:stop]).row_ids == found[:stop] for stop in (1, len(found) // 2) if stop)


def test_one_id_on_every_row_of_a_large_file_is_no_trouble() -> None:
    assert table(["x"] * 50_000).row_ids[-1] == "x#50000"


def test_source_and_language_are_columns_or_defaults(tmp_path: Path) -> None:
    records = [
        {"source": "a", "language": "de", **PAIR},
        {"source": None, "language": None, **PAIR},
        {"source": "", "language": "", **PAIR},
    ]
    for suffix in (".jsonl", ".parquet", ".csv"):
        rows = read_rows(write(tmp_path / f"pool{suffix}", records))
        assert [(row.source, row.language) for row in rows.rows()] == [("a", "de"), ("pool", None), ("pool", None)]
    (row,) = read_rows(write(tmp_path / "rows.jsonl", [{"source": 3, "lang": "fr", **PAIR}])).rows()
    assert (row.source, row.language) == ("3", "fr")


@pytest.mark.parametrize(
    ("name", "source"), [("pool.v1.jsonl", "pool.v1"), ("pool-1.5", "pool-1.5"), ("pool", "pool")]
)
def test_a_data_set_without_sources_is_one_source_of_its_own_name(tmp_path: Path, name: str, source: str) -> None:
    path = tmp_path / name
    write(path, [PAIR]) if path.suffix == ".jsonl" else write(path / "train.parquet", [PAIR])
    (row,) = read_rows(str(path)).rows()
    assert (row.source, row.language) == (source, None)


def test_a_hub_name_is_not_cut_at_its_dot() -> None:
    (row,) = Rows(table(["a"]).dataset, "someone/chats-1.5", "prompt + response", ("prompt", "response")).rows()
    assert row.source == "chats-1.5"


@pytest.mark.parametrize(("max_samples", "n"), [(None, 5), (1, 1), (4, 4), (5, 5), (99, 5)])
def test_max_samples_keeps_the_first_rows(tmp_path: Path, max_samples: int | None, n: int) -> None:
    path = write(
        tmp_path / "rows.jsonl", [{"id": i % 2, "prompt": f"{i}?", "response": f"{i}."} for i in range(5)]
    )
    rows = read_rows(path, max_samples=max_samples)
    assert list(rows.rows()) == list(read_rows(path).rows())[:n]
    assert len(rows) == len(rows.row_ids) == n


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ""])
def test_slices_agree_with_the_whole(tmp_path: Path, suffix: str) -> None:
    records = [{"id": "a", "source": f"s{i}", "prompt": f"{i}?", "response": f"{i}."} for i in range(7)]
    rows = read_rows(write(tmp_path / f"rows{suffix}", records))
    whole = list(rows.rows())
    assert [row.record for row in whole] == [{k: r[k] for k in ("prompt", "response")} for r in records]
    for start in range(8):
        assert list(rows.rows(start)) == whole[start:]
        for stop in range(start, 10):
            assert list(rows.rows(start, stop)) == whole[start:stop]


# Fingerprint

IDENTIFIED: list[Record] = [
    {"id": "a", "messages": CHAT, "source": "one", "language": "en", "note": 1},
    {"id": "b", "messages": [*CHAT, *CHAT], "source": "two", "language": "de", "note": 2},
]


def test_the_fingerprint_is_the_same_in_every_format_and_place(tmp_path: Path) -> None:
    named = [*IDENTIFIED, {**IDENTIFIED[0], "messages": [CHAT[0], {**CHAT[1], "name": "bot"}]}]
    swapped = [{**r, "messages": [dict(reversed(m.items())) for m in r["messages"]], "note": 9} for r in named]
    places = [
        write(tmp_path / name, named) for name in ("a.jsonl", "b.json", "c.parquet", "d", "deep/er/e.parquet")
    ]
    places.append(write(tmp_path / "f.jsonl", swapped))
    assert len({read_rows(place).fingerprint for place in places}) == 1


def test_the_fingerprint_of_text_columns_is_the_same_in_every_format_and_place(tmp_path: Path) -> None:
    names = ("a.jsonl", "b.json", "c.parquet", "d.csv", "e", "deep/er/f.csv")
    assert len({read_rows(write(tmp_path / name, [PAIR, PAIR])).fingerprint for name in names}) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: [{**rows[0], "id": "c"}, rows[1]],
        lambda rows: rows[::-1],
        lambda rows: rows[:1],
        lambda rows: [*rows, rows[1]],
        lambda rows: [{**rows[0], "messages": answered("Because!")}, rows[1]],
        lambda rows: [{**rows[0], "messages": [{**CHAT[0], "role": "system"}, CHAT[1]]}, rows[1]],
        lambda rows: [{**rows[0], "source": "three"}, rows[1]],
        lambda rows: [{**rows[0], "source": None}, rows[1]],
        lambda rows: [rows[0], {**rows[1], "language": "en"}],
        lambda rows: [rows[0], {**rows[1], "language": None}],
    ],
    ids=["id", "order", "fewer", "more", "text", "role", "source", "no source", "language", "no language"],
)
def test_the_fingerprint_differs_when_anything_of_the_rows_does(
    tmp_path: Path, change: Callable[[list[Record]], list[Record]]
) -> None:
    for suffix in (".jsonl", ".parquet"):
        before = read_rows(write(tmp_path / f"before{suffix}", IDENTIFIED)).fingerprint
        assert read_rows(write(tmp_path / f"after{suffix}", change(IDENTIFIED))).fingerprint != before


# Text


@pytest.mark.parametrize(
    "text", ["😀 👩‍👩‍👧", "a\0b", "a\u2028b\u2029\x85\x1fc", "\ufeffa", "ﷺ" * 50, "\\n \\ud800 %s {}"]
)
def test_unusual_text_is_read_as_it_stands(tmp_path: Path, text: str) -> None:
    records = [{"id": text, "question": text, "answer": text}] * 2
    found = [read_rows(write(tmp_path / f"rows{suffix}", records)) for suffix in (".jsonl", ".json", ".parquet")]
    for rows in found:
        assert [message["content"] for message in outcomes(rows)[0]] == [text, text]  # type: ignore[index]
    assert len({rows.fingerprint for rows in found}) == 1


def test_a_lone_surrogate_is_refused_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", [{"question": "Why?", "answer": "\ud800"}])
    assert "surrogate" in refusal(path)


def test_a_lone_surrogate_inside_a_record_does_not_stop_the_fingerprint() -> None:
    assert conversation({"prompt": "\ud800", "response": "b"})[0]["content"] == "\ud800"


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_a_very_long_text_is_read_whole(tmp_path: Path, suffix: str) -> None:
    text = "é" * 6_000_000
    record = {"question": "Why?", "answer": text}
    (_, answer), _ = outcomes(read_rows(write(tmp_path / f"rows{suffix}", [record, {**record, "answer": "b"}])))
    assert answer["content"] == text  # type: ignore[index]


# Files that cannot be used


@pytest.mark.parametrize(
    "name", ["none.jsonl", "./none", "./none.parquet", "none/at/all", "~/none", "../none.csv", "/none", "."]
)
def test_no_such_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    expected = (
        "there is no .jsonl, .json, .csv, .parquet file in it"
        if name == "."
        else "there is no such file or folder"
    )
    assert refusal(name) == f"{name}: {expected}"


@pytest.mark.parametrize("name", ["x" * 300, "./" + "x" * 300, "a\0b", ""])
def test_a_name_that_no_file_can_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    refusal(name)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("rows.jsonl", b"", "the file is empty"),
        ("rows.csv", b"", "the file is empty"),
        ("rows.jsonl", b"\n\n", "there are no rows in it"),
        ("rows.json", b"[]", "there are no rows in it"),
        ("rows.csv", b"question,answer\n", "there are no rows in it"),
        ("rows.csv", b"\n\n", "cannot be read"),
        ("rows.csv", b'question,answer\n"a,b\n', "cannot be read"),
        ("rows.csv", b"question,answer\na,\xff\n", "cannot be read"),
        ("rows.jsonl", b'{"question": "a", "answer": "b"}\n{"question": "a", "ans\n', "cannot be read"),
        ("rows.jsonl", b"question: a\n", "cannot be read"),
        ("rows.json", b'[{"question": "a", "answer": "b"},', "cannot be read"),
        ("rows.parquet", b"PAR1 no parquet PAR1", "cannot be read"),
        ("rows.parquet", b"x", "cannot be read"),
        ("rows.txt", b"a\n", "not a .jsonl, .json, .csv, .parquet file"),
        ("rows", b"a\n", "not a .jsonl, .json, .csv, .parquet file"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert expected in refusal(str(tmp_path / name))


def test_a_long_broken_file(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "rows.jsonl", [{"messages": answered("b" * 1_000_000)}] * 12))
    path.write_text(path.read_text() + '{"messages": [')
    assert "cannot be read" in refusal(str(path))


def test_a_parquet_file_without_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table({"question": pa.array([], pa.string()), "answer": []}), tmp_path / "rows.parquet")
    assert "there are no rows in it" in refusal(str(tmp_path / "rows.parquet"))


def test_bytes_that_are_no_text_are_refused_when_the_row_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"question": "a", "answer": "b"}\n{"question": "a\xff", "answer": "b"}\n')
    with pytest.raises(UsageError) as error:
        _ = read_rows(str(path)).fingerprint
    assert str(error.value).startswith(f"{path}: cannot be read: 'utf-8' codec can't decode byte 0xff")


@pytest.mark.parametrize("file", [None, "notes.md", "deep/notes.bin"])
def test_a_folder_without_data(tmp_path: Path, file: str | None) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    if file:
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text("Nothing.")
    assert refusal(str(folder)) == f"{folder}: there is no .jsonl, .json, .csv, .parquet file in it"


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv", "rows.parquet", "saved", "folder/rows.parquet"])
def test_an_unknown_split_or_config_is_named(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, [PAIR])
    path = str(Path(path).parent) if "/" in name else path
    assert "nope" in refusal(path, split="nope")
    assert "nope" in refusal(path, config="nope")


def test_an_unknown_split_or_config_of_a_folder_stands_beside_the_known_ones(tmp_path: Path) -> None:
    folder = configs(tmp_path / "folder")
    assert "train" in refusal(folder, split="nope")
    assert all(name in refusal(folder, config="nope") for name in ("nope", "one", "two"))


@pytest.mark.parametrize("name", ["squad", "allenai/tulu-3-sft-mixture", "nobody/nothing-1.5"])
def test_a_hub_name_fails_at_once_when_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    start = time.monotonic()
    assert "the Hub" in refusal(name)
    assert "the Hub" in refusal(name, config="default", split="test", revision="main")
    assert time.monotonic() - start < 5


# The files themselves


@pytest.mark.parametrize(
    "name", ["rows.jsonl", "rows.json", "rows.csv", "rows.parquet", "saved", "folder/rows.parquet"]
)
def test_reading_leaves_the_source_as_it_was(tmp_path: Path, name: str) -> None:
    def state() -> dict[Path, tuple[bytes, int]]:
        return {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in tmp_path.rglob("*") if p.is_file()}

    path = write(tmp_path / name, [{"id": "a", **PAIR}] * 3)
    before = state()
    rows = read_rows(str(Path(path).parent) if "/" in name else path, max_samples=2)
    assert len(rows.fingerprint) == 64
    assert outcomes(rows) == [CHAT, CHAT]
    assert state() == before


@pytest.mark.parametrize(
    "name", ["rows.jsonl", "rows.json", "rows.csv", "rows.parquet", "saved", "folder/rows.parquet"]
)
def test_an_edited_file_is_read_anew(tmp_path: Path, name: str) -> None:
    found, marks = [], []
    for answer in ("old", "new", "old"):
        path = write(tmp_path / name, [{"question": "Why?", "answer": answer}])
        rows = read_rows(str(Path(path).parent) if "/" in name else path)
        found += [message["content"] for message in outcomes(rows)[0][1:]]  # type: ignore[index]
        marks.append(rows.fingerprint)
    assert found == ["old", "new", "old"]
    assert marks[0] == marks[2] != marks[1]


# Language

SAID = {
    "en": "I would like to know how the weather is going to be tomorrow in the afternoon.",
    "de": "Ich möchte gerne wissen, wie das Wetter morgen am Nachmittag werden wird.",
    "fr": "Je voudrais savoir quel temps il fera demain dans l'après-midi, s'il vous plaît.",
    "es": "Me gustaría saber qué tiempo va a hacer mañana por la tarde, por favor.",
    "ru": "Я хотел бы узнать, какая погода будет завтра во второй половине дня.",
    "zh": "我想知道明天下午的天气会怎么样,请告诉我。",
    "ja": "明日の午後の天気がどうなるか知りたいのですが。",
    "ar": "أود أن أعرف كيف سيكون الطقس غدا بعد الظهر من فضلك.",
}


@pytest.mark.parametrize(("code", "text"), SAID.items())
def test_a_language_is_detected(code: str, text: str) -> None:
    assert detect_language([{"role": "user", "content": text}, {"role": "assistant", "content": text}]) == code


def test_only_what_user_and_assistant_say_counts() -> None:
    spoken = [{"role": "user", "content": SAID["de"]}, {"role": "assistant", "content": SAID["de"]}]
    others = [{"role": role, "content": SAID["ru"] * 9} for role in ("system", "developer", "tool", "function")]
    assert detect_language([*others, *spoken]) == "de"


def test_a_turn_without_text_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import py3langid

    seen: list[str] = []
    classify = py3langid.classify
    monkeypatch.setattr(py3langid, "classify", lambda text: seen.append(text) or classify(text))
    detect_language(
        [{"role": "user", "content": "Sì."}, {"role": "assistant", "content": None, "tool_calls": [{}]}]
    )
    assert seen == ["Sì. "]


def test_a_language_without_any_text_is_still_a_code() -> None:
    assert len(detect_language([{"role": "system", "content": SAID["de"]}])) == 2


def test_folders_of_one_name_and_card_are_told_apart(tmp_path: Path) -> None:
    """`datasets` names the cache of a folder by its last name and its card, whatever its files hold."""
    card = "---\nconfigs:\n- config_name: one\n  data_files:\n  - split: train\n    path: x.parquet\n---\n"

    def folder(parent: str, text: str) -> str:
        made = tmp_path / parent / "data"
        made.mkdir(parents=True, exist_ok=True)
        datasets.Dataset.from_list([{"prompt": text, "completion": "b"}] * 3).to_parquet(made / "x.parquet")
        (made / "README.md").write_text(card)
        return str(made)

    first, second = folder("a", "first"), folder("b", "again")
    assert [read_rows(name, config="one").dataset[0]["prompt"] for name in (first, second)] == ["first", "again"]
    folder("a", "other")
    assert read_rows(first, config="one").dataset[0]["prompt"] == "other"
