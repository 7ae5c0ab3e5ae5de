"""Annotated sessions become five configs with the same splits, which `load_dataset` reads from the folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasets
import pytest
import yaml

from tamis.errors import UsageError
from tamis.pii import synthetic
from tamis.pii.reading import read_sessions
from tamis.pii.spans import Span
from tamis.pii.variants import (
    CONFIGS,
    SPLITS,
    TAGS,
    Variants,
    VariantsRecipe,
    split_of,
    words_of,
    write_variants,
)

CARD = Path(__file__).parents[2] / "model_cards" / "MathEd-PII-synthetic-tamis" / "card.yaml"


def transcripts(path: Path, sessions: int, **keys: str) -> Path:
    """Sessions in MathEd-PII's form; `keys` are the names of start, end and label."""
    start, end, label = (keys.get(name, name) for name in ("start", "end", "label"))
    with path.open("w") as stream:
        for number, one in enumerate(synthetic.generate(sessions, seed=3)):
            assert one.spans is not None
            turns = [
                {
                    "role": "volunteer" if message.role == "tutor" else message.role,
                    "content": message.content,
                    "session_id": number,
                    "sequence_id": message.sequence_id,
                    "annotations": [{start: span.start, end: span.end, label: span.label} for span in spans],
                }
                for message, spans in zip(one.session, one.spans, strict=True)
            ]
            stream.write(f"{json.dumps({'transcript': turns})}\n")
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Variants:
    folder = tmp_path_factory.mktemp("variants")
    rows = transcripts(folder / "sessions.jsonl", 30, start="begin", label="entity_type")
    (folder / "key").write_text("5" * 64)
    (folder / "key").chmod(0o600)
    return write_variants(
        VariantsRecipe(
            str(rows), str(folder / "made"), encoder="none", key_file=str(folder / "key"), card=str(CARD)
        )
    )


def loaded(made: Variants, config: str) -> dict[str, list[dict[str, Any]]]:
    found = datasets.load_dataset(str(made.folder), config)
    assert list(found) == list(SPLITS)
    return {split: list(rows) for split, rows in found.items()}


def test_every_config_loads_with_its_splits_and_a_session_is_in_the_same_one_in_each(made: Variants) -> None:
    assert {*datasets.get_dataset_config_names(str(made.folder))} == {*CONFIGS} == {*made.rows}
    for config in CONFIGS:
        rows = loaded(made, config)
        for split, found in rows.items():
            assert {split_of(row["session_id"]) for row in found} <= {split}
        assert sum(map(len, rows.values())) == made.rows[config]
    assert made.rows["full"] == 30 and all(loaded(made, "full").values())


def test_maths_and_the_rest_are_the_whole(made: Variants) -> None:
    def messages(config: str) -> dict[tuple[str, int], Any]:
        return {
            (row["session_id"], message["sequence_id"]): message
            for rows in loaded(made, config).values()
            for row in rows
            for message in row["messages"]
        }

    maths, rest = messages("maths"), messages("non_maths")
    assert maths and rest and not {*maths} & {*rest}
    assert {**maths, **rest} == messages("full")
    assert {one["segment"] for one in maths.values()} == {"maths"}


def test_the_spans_are_those_that_were_read(made: Variants) -> None:
    full = {row["session_id"]: row["messages"] for rows in loaded(made, "full").values() for row in rows}
    for number, one in enumerate(synthetic.generate(30, seed=3)):
        assert one.spans is not None
        for message, source, spans in zip(full[str(number)], one.session, one.spans, strict=True):
            assert message["content"] == source.content
            assert message["spans"] == [{"start": s.start, "end": s.end, "label": s.label} for s in spans]


def test_a_surrogate_stands_where_its_span_says_and_the_rest_is_untouched(made: Variants) -> None:
    full, new = (
        {row["session_id"]: row["messages"] for rows in loaded(made, config).values() for row in rows}
        for config in ("full", "surrogate")
    )
    changed = 0
    for name, messages in full.items():
        for old, one in zip(messages, new[name], strict=True):
            pieces = []
            for message in (old, one):
                at = [0, *(x for span in message["spans"] for x in (span["start"], span["end"])), None]
                pieces.append([message["content"][at[k] : at[k + 1]] for k in range(0, len(at), 2)])
            assert pieces[0] == pieces[1]
            for before, after in zip(old["spans"], one["spans"], strict=True):
                text = old["content"][before["start"] : before["end"]]
                assert before["label"] == after["label"]
                changed += one["content"][after["start"] : after["end"]] != text
    assert changed == sum(len(message["spans"]) for messages in full.values() for message in messages)


def test_word_tags_have_names_and_give_the_spans_back(made: Variants) -> None:
    rows = datasets.load_dataset(str(made.folder), "token_classification", split="train")
    assert rows.features["ner_tags"].feature.names == list(TAGS)
    content = "hi Ana-Lucía! call 555-0101 or Bo Li's mom Bo"
    spans = [Span(3, 12, "PERSON"), Span(19, 27, "PHONE_NUMBER"), Span(31, 36, "PERSON"), Span(43, 45, "PERSON")]
    found = words_of(content, spans)
    named = [(word, TAGS[tag]) for word, tag in zip(found["tokens"], found["ner_tags"], strict=True)]
    assert named[1:4] == [("Ana", "B-PERSON"), ("-", "I-PERSON"), ("Lucía", "I-PERSON")]
    assert named[-5:] == [("Li", "I-PERSON"), ("'", "O"), ("s", "O"), ("mom", "O"), ("Bo", "B-PERSON")]
    assert all(content[at:].startswith(word) for word, at in zip(found["tokens"], found["starts"], strict=True))


def test_the_card_counts_what_is_there_and_eval_yaml_names_its_splits(made: Variants) -> None:
    card = (made.folder / "README.md").read_text()
    spans = sum(count["full"] for count in made.facts["spans"].values())
    assert spans == sum(len(found) for one in synthetic.generate(30, seed=3) for found in one.spans or ())
    assert f"{made.facts['messages']['full']:,} messages" in card and str(made.folder) not in card
    assert [task["split"] for task in yaml.safe_load((made.folder / "eval.yaml").read_text())["tasks"]] == [
        "test"
    ] * 2


def test_what_is_written_is_read_again(made: Variants) -> None:
    again = list(read_sessions(str(made.folder), config="full", split="test"))
    assert again and all(split_of(one.session.session_id) == "test" and one.spans is not None for one in again)


def test_another_name_of_a_label_is_mapped_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    message = {"role": "student", "content": "im Bo, Catholic, 7 Elm St", "session_id": 1, "sequence_id": 0}
    spans = [[3, 5, "NAME"], [7, 15, "NRP"], [17, 25, "STREET_ADDRESS"]]
    (tmp_path / "a.jsonl").write_text(json.dumps({"transcript": [{**message, "annotations": spans}]}))
    with pytest.raises(UsageError, match="the label NRP is none of ours; say which in --label NRP="):
        write_variants(VariantsRecipe(str(tmp_path / "a.jsonl"), str(tmp_path / "b"), encoder="none"))
    done = write_variants(
        VariantsRecipe(str(tmp_path / "a.jsonl"), str(tmp_path / "c"), label=["NRP="], encoder="none")
    )
    assert list(done.facts["spans"]) == ["PERSON", "LOCATION"]
    with pytest.raises(UsageError, match="--label NRP=X: not LABEL=OURS"):
        VariantsRecipe("a", "b", label=["NRP=X"])


def test_sessions_without_spans_are_no_annotated_data_set(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"messages": [{"role": "student", "content": "hi"}]}\n')
    with pytest.raises(UsageError, match="its messages have no spans"):
        write_variants(VariantsRecipe(str(tmp_path / "a.jsonl"), str(tmp_path / "b"), encoder="none"))


def test_a_benchmark_of_a_split_that_is_not_there_is_refused(tmp_path: Path) -> None:
    card = tmp_path / "card.yaml"
    card.write_text(CARD.read_text().replace("split: test", "split: dev"))
    with pytest.raises(UsageError, match="no config 'full' with a split 'dev'"):
        write_variants(VariantsRecipe("a", str(tmp_path / "b"), card=str(card)))
