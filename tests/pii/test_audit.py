"""The audit in rounds: verdicts stay, contradictions are named, kills leave the review whole, surrogates wait."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from corpora import Known, fill, lines, write

from tamis import cli
from tamis.errors import UsageError, WorkError
from tamis.pii.audit import REVIEW, STATISTICS, Audited, deid_audit
from tamis.pii.recipe import DeidAuditRecipe


def audited(folder: Path, *names: str, **flags: Any) -> Audited:
    corpus = folder / "corpus.jsonl"
    data = str(corpus) if corpus.exists() else write(folder)
    return deid_audit(DeidAuditRecipe(data, str(folder / "out"), encoder="none", **flags), Known(*names))


def agree(line: dict[str, Any]) -> dict[str, Any]:
    return {"verdict": line["proposed"]}


def test_the_first_round_proposes_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    done = audited(tmp_path)
    assert stat.S_IMODE(done.review.stat().st_mode) == 0o600
    told = done.statistics["proposed"]
    assert (told["all"]["true"], told["all"]["false"], told["all"]["missed"]) == (9, 4, 2)
    assert told["by_label"]["PERSON"]["missed"] == 2
    assert told["by_segment"]["maths"]["false"] + told["by_segment"]["non_maths"]["false"] == 4
    assert told["false_by_original"] == {"fictional_name": 1, "number": 2, "term": 1}
    assert not done.statistics["is_over"] and done.statistics["rounds"] == []
    assert all(line["verdict"] is None and not line["resolved"] for line in lines(done.review))


def test_statistics_hold_no_text(tmp_path: Path) -> None:
    audited(tmp_path)
    assert not re.search("emma|carter|apples", (tmp_path / "out" / STATISTICS).read_text(), re.IGNORECASE)


def test_a_run_again_changes_nothing_and_keeps_verdicts(tmp_path: Path) -> None:
    done = audited(tmp_path)
    before = done.review.read_bytes()
    assert audited(tmp_path).review.read_bytes() == before
    fill(done.review, lambda line: {"verdict": "true", "reviewer": "ann"} if line["origin"] == "tag" else {})
    again = audited(tmp_path)
    told = {line["item"]: line for line in lines(again.review)}
    assert sum(line["resolved"] for line in told.values()) == 13 == again.statistics["resolved"]
    assert all(line["verdict"] == ("true" if line["origin"] == "tag" else None) for line in told.values())
    assert [one["round"] for one in again.statistics["rounds"]] == [1]
    assert [one["round"] for one in audited(tmp_path).statistics["rounds"]] == [1]
    assert again.statistics["agreement"]["reviewer_and_proposal"]["agreed"] == pytest.approx(9 / 13)


def test_new_items_join_and_old_ones_stay_with_their_verdicts(tmp_path: Path) -> None:
    done = audited(tmp_path, "emma carter")
    fill(done.review, agree)
    again = audited(tmp_path, "here")
    found = [line for line in lines(again.review) if line["origin"] == "detector"]
    assert [line["verdict"] for line in found] == ["missed", None]
    assert [line["session_id"] for line in found] == ["s1", "s2"]


def test_a_round_ends_at_95_per_cent(tmp_path: Path) -> None:
    write(tmp_path, {"s": [("tutor", f"ask <PERSON> about {'that' * i}") for i in range(100)]})
    done = audited(tmp_path)
    for resolved, is_over in ((94, False), (95, True)):
        fill(done.review, lambda line, n=resolved: {"verdict": "true" if line["sequence_id"] < n else "unsure"})
        assert audited(tmp_path).statistics["is_over"] is is_over
        fill(done.review, lambda _: {"resolved": False})
    told = json.loads((tmp_path / "out" / STATISTICS).read_text())
    assert [(one["round"], one["resolved"], one["is_over"]) for one in told["rounds"]] == [
        (1, 94, False),
        (2, 95, True),
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"verdict": "maybe"}, "verdict is none of"),
        ({"verdict": "missed"}, "verdict is none of"),
        ({"verdict": True}, "verdict is not text"),
        ({"resolved": True}, "is resolved, and its verdict is empty"),
        ({"verdict": "unsure", "resolved": True}, "is resolved, and its verdict is unsure"),
        ({"start": 0}, "its place was edited"),
        ({"sequence_id": "0"}, "its place was edited"),
        ({"session_id": "s9"}, "its place was edited"),
        ({"label": "AGE"}, "its label was edited"),
        ({"note": "x"}, "unknown key 'note'"),
    ],
)
def test_a_contradictory_line_is_named_and_nothing_is_lost(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    done = audited(tmp_path)
    fill(
        done.review,
        lambda line: change if line is not None and line["start"] == 3 and line["session_id"] == "s1" else {},
    )
    filled = done.review.read_bytes()
    with pytest.raises(UsageError, match=rf"{re.escape(REVIEW)}: line 1: .*{said}") as error:
        audited(tmp_path)
    assert "\n" not in str(error.value) and "PERSON>" not in str(error.value)
    assert done.review.read_bytes() == filled


def test_a_line_that_stands_twice_or_is_broken_is_named(tmp_path: Path) -> None:
    done = audited(tmp_path)
    text = done.review.read_text()
    done.review.write_text(text + text.splitlines()[1] + "\n")
    with pytest.raises(UsageError, match=r"line 16: the item \w+ stands in line 2 too"):
        audited(tmp_path)
    done.review.write_text(text + '{"emma": ')
    with pytest.raises(UsageError, match="line 16: is not JSON") as error:
        audited(tmp_path)
    assert "emma" not in str(error.value)


def test_the_review_of_another_corpus_is_refused(tmp_path: Path) -> None:
    done = audited(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    write(other, {"s": [("tutor", "ask <PERSON>")]})
    with pytest.raises(UsageError, match="line 1: there is no item"):
        audited(other, review=[str(done.review)])
    (tmp_path / "corpus.jsonl").write_text((other / "corpus.jsonl").read_text())
    with pytest.raises(UsageError, match="name another --output_dir"):
        audited(tmp_path)


def test_what_reviewers_say_otherwise_is_not_resolved_until_they_agree(tmp_path: Path) -> None:
    done = audited(tmp_path)
    fill(done.review, agree)
    copy = tmp_path / "ben.jsonl"
    copy.write_text(done.review.read_text())
    fill(copy, lambda line: {"verdict": "false"} if line["start"] == 3 and line["session_id"] == "s1" else {})
    told = audited(tmp_path, review=[str(copy)]).statistics
    assert (told["identified"], told["resolved"]) == (15, 14)
    assert told["agreement"]["reviewers"]["agreed"] == pytest.approx(14 / 15)
    assert told["agreement"]["reviewers"]["cohen_kappa"]["value"] < 1
    copy.write_text(done.review.read_text())
    assert audited(tmp_path, review=[str(copy)]).statistics["resolved"] == 15


def test_surrogates_wait_for_the_review(tmp_path: Path) -> None:
    audited(tmp_path)
    with pytest.raises(WorkError, match="15 of 15 items are not resolved"):
        audited(tmp_path, surrogates=True)


def test_the_corpus_with_surrogates_has_no_tag_no_name_and_nothing_invented_in_maths(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("k" * 32)
    done = audited(tmp_path)
    fill(done.review, agree)
    first = audited(tmp_path, surrogates=True, key_file=str(key)).with_surrogates
    assert first
    text = first.read_text()
    assert not re.search(r"emma|carter|<PERSON|\[NAME|<PHONE|<DATE", text, re.IGNORECASE)
    told = {(s["session_id"], m["sequence_id"]): m["content"] for s in lines(first) for m in s["messages"]}
    assert re.fullmatch(r"Hi (\w+)! I'm (\w+)\. Ready\?", told["s1", 0])
    assert re.fullmatch(r"y=\[UNKNOWN_NUMBER\] right\? my name is \w+ \w+ btw", told["s1", 1])
    assert re.fullmatch(r"\w+ has 5 apples and eats 2\. call me at \d{3}-\d{3}-\d{4}", told["s1", 2])
    assert re.fullmatch(r"thanks \w+, bye\. so \[UNKNOWN_TERM\]'s theorem; \[REDACTED\]", told["s1", 3])
    assert "x + [UNKNOWN_NUMBER] = 12" in told["s2", 0]
    tutor = re.findall(r"I'm (\w+)", told["s1", 0])[0]
    assert tutor.lower() in told["s1", 3]  # whoever is thanked is the tutor, in lower case as all the message
    again, then = re.findall(r"or (\w+), then (\w+) again", told["s2", 1])[0]
    assert again == then  # <PERSON_1> is one person
    assert audited(tmp_path, surrogates=True, key_file=str(key)).with_surrogates.read_text() == text


def test_what_the_reviewer_knows_is_put_back(tmp_path: Path) -> None:
    write(tmp_path, {"s": [("student", "y=<PERSON>"), ("student", "so <PERSON> helped")]})
    done = audited(tmp_path)
    fill(done.review, lambda line: {"verdict": "false", "original": ["6", "Desmos"][line["sequence_id"]]})
    made = audited(tmp_path, surrogates=True).with_surrogates
    assert made and [m["content"] for m in lines(made)[0]["messages"]] == ["y=6", "so Desmos helped"]


def test_the_command_finds_what_was_missed_by_the_rules_and_names_the_next_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = write(tmp_path), str(tmp_path / "out")
    command = ["deid-audit", "--dataset_name", data, "--output_dir", out, "--encoder", "none"]
    assert cli.main(command) == 0
    assert "fill in `verdict`" in capsys.readouterr().out
    review = lines(tmp_path / "out" / REVIEW)
    assert "⟦Emma Carter⟧" in "".join(line["context"] for line in review if line["origin"] == "detector")
    assert cli.main([*command, "--surrogates"]) == 1
    assert "items are not resolved" in capsys.readouterr().err
    assert cli.main([*command, "--sample_size", "3"]) == 2


def test_killed_before_any_write_the_review_is_whole(tmp_path: Path) -> None:
    done = audited(tmp_path, "emma carter")
    fill(done.review, agree)
    old = done.review.read_bytes()
    killed = 0
    while not _dies_before_write(tmp_path, killed):
        assert done.review.read_bytes() == old or len(lines(done.review)) == 15
        for left in (tmp_path / "out").glob(".review*"):
            assert stat.S_IMODE(left.stat().st_mode) == 0o600
        killed += 1
        done.review.write_bytes(old)
    assert killed >= 6
    assert [line["verdict"] for line in lines(done.review)].count(None) == 1


def _dies_before_write(folder: Path, number: int) -> bool:
    """Whether a run ended before the write at which it was to be killed."""
    child = os.fork()
    if child == 0:
        writes = 0

        def count(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal writes
            opens = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if (opens or event == "os.rename") and str(folder / "out") in str(arguments[0]):
                if writes == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                writes += 1

        sys.addaudithook(count)
        try:
            audited(folder)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
