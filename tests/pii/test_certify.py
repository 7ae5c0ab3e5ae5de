"""A statement follows from a review that is whole, says no less than is established, and trusts no name."""

from __future__ import annotations

import json
import re
import stat
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from corpora import fill, lines, write

from tamis import cli
from tamis.errors import UsageError, WorkError
from tamis.metrics.bounds import clopper_pearson_upper, hypergeometric_upper
from tamis.pii.certify import PAGE, SAMPLE, Certified, certify, laws, risk, sample, sample_size
from tamis.pii.labels import LABELS
from tamis.pii.recipe import DeidAuditRecipe
from tamis.pii.sessions import Annotated, Message, Session


def certified(folder: Path, messages: int = 40, **flags: Any) -> Certified:
    corpus = folder / "corpus.jsonl"
    if not corpus.exists():
        write(folder, {"s": [("tutor", f"secretword {i}, ask <PERSON>") for i in range(messages)]})
    return certify(DeidAuditRecipe(str(corpus), str(folder / "out"), certify=True, **flags))


def test_the_sample_is_random_repeats_under_its_seed_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    drawn = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / name).mkdir()
        done = certified(tmp_path / name, sample_size=10, seed=seed)
        assert (done.size, done.left, done.statement) == (10, 10, None)
        assert stat.S_IMODE(done.sample.stat().st_mode) == 0o600
        drawn.append([line["sequence_id"] for line in lines(done.sample)])
    assert drawn[0] == drawn[1] == sorted({*drawn[0]}) != drawn[2]


def test_every_message_has_the_same_chance() -> None:
    hits = [0] * 12
    one = Annotated(Session("s", tuple(Message(i, "tutor", "ok") for i in range(12))))
    for seed in range(200):
        for message in sample([one], 12, 3, seed):
            hits[message["sequence_id"]] += 1
    assert sum(hits) == 600
    assert sum((n - 50) ** 2 / 50 for n in hits) < 31.3  # the 0.1 % point of chi-square with 11 degrees


def test_there_is_no_statement_before_every_message_is_reviewed(tmp_path: Path) -> None:
    done = certified(tmp_path, sample_size=10)
    fill(done.sample, lambda line: {"missed": []})
    last = lines(done.sample)[-1]["message"]
    fill(done.sample, lambda line: {"missed": None} if line["message"] == last else {})
    with pytest.raises(WorkError, match=r"no statement yet: 1 of 10 messages are not reviewed.*line 10"):
        certified(tmp_path, sample_size=10)
    fill(done.sample, lambda line: {"missed": []})
    assert certified(tmp_path, sample_size=10).statement
    assert (tmp_path / "out" / PAGE).exists()
    fill(done.sample, lambda line: {"missed": None} if line["message"] == last else {})
    with pytest.raises(WorkError, match="no statement yet"):
        certified(tmp_path, sample_size=10)
    assert not (tmp_path / "out" / PAGE).exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"missed": "none"}, "missed is not null"),
        ({"missed": ["NAME"]}, "missed is not null"),
        ({"missed": [], "text": "secretword"}, "its text was edited"),
        ({"message": "x"}, "is no message of this sample"),
        ({"reviewer": 5}, "reviewer is not text"),
    ],
)
def test_a_bad_line_is_named(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    done = certified(tmp_path, sample_size=5)
    second = lines(done.sample)[1]["message"]
    fill(done.sample, lambda line: change if line["message"] == second else {"missed": []})
    with pytest.raises(UsageError, match=f"line 2: .*{said}") as error:
        certified(tmp_path, sample_size=5)
    assert "secretword" not in str(error.value)


def test_a_line_that_is_gone_or_stands_twice_is_named(tmp_path: Path) -> None:
    done = certified(tmp_path, sample_size=5)
    text = done.sample.read_text().splitlines(keepends=True)
    done.sample.write_text("".join(text[1:]))
    with pytest.raises(UsageError, match="1 messages of the sample are gone"):
        certified(tmp_path, sample_size=5)
    done.sample.write_text("".join([*text, text[2]]))
    with pytest.raises(UsageError, match=r"line 6: the message .* line 3 too"):
        certified(tmp_path, sample_size=5)


def test_none_in_three_hundred_of_many_is_at_most_ten_in_a_thousand() -> None:
    told = risk([0] * 300, 115_620)
    assert told["method"] == "Clopper-Pearson"
    assert 9.9 < told["messages_per_1000_upper"] < 10
    assert told["identifiers_per_1000_upper"] == told["messages_per_1000_upper"]


def test_a_small_corpus_has_its_own_bound_and_a_full_message_counts_whole() -> None:
    told = risk([0] * 95 + [2, 1, 0, 0, 0], 1000)
    assert told["method"] == "hypergeometric"
    assert told["messages_per_1000_upper"] == hypergeometric_upper(2, 100, 1000)
    assert told["messages_per_1000_upper"] < told["clopper_pearson_per_1000_upper"]
    assert told["clopper_pearson_per_1000_upper"] == 1000 * clopper_pearson_upper(2, 100)
    assert (told["identifiers_missed"], told["most_in_one_message"]) == (3, 2)
    assert told["identifiers_per_1000_upper"] == 2 * told["messages_per_1000_upper"]


@pytest.mark.parametrize("population", [50, 700, 5_000, 200_000])
@pytest.mark.parametrize("share", [0.01, 0.05])
def test_a_wanted_bound_gives_the_smallest_sample_that_keeps_it(population: int, share: float) -> None:
    size = sample_size(share, population)
    assert 1 <= size <= population
    assert risk([0] * size, population)["messages_per_1000_upper"] <= 1000 * share
    smaller = risk([0] * (size - 1), population)
    assert smaller["messages_per_1000_upper"] > 1000 * share or smaller["method"] == "Clopper-Pearson"
    assert sample_size(0.01, 200_000) == 299


class Page(HTMLParser):
    """A page's texts by id and its attributes; fails where a tag is not closed in its order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, str]] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.by_id: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        name = dict(attrs).get("id") or ""
        assert not name or name not in self.by_id, "an id stands twice"
        if name:
            self.by_id[name] = ""
        if tag != "meta":
            self.open.append((tag, name))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        for _, name in self.open:
            if name:
                self.by_id[name] += data


def test_the_page_says_what_is_known_and_what_is_not(tmp_path: Path) -> None:
    done = certified(tmp_path, 1000, sample_size=20)
    first = lines(done.sample)[0]["message"]
    fill(
        done.sample,
        lambda line: {"missed": ["PERSON", "OTHER"] if line["message"] == first else [], "reviewer": "Ben"},
    )
    done = certified(tmp_path, sample_size=20, reviewer=["<script>A. Reader</script>"])
    raw = (done.folder / PAGE).read_text()
    page = Page(raw)
    assert done.statement
    assert page.by_id["found"] == "1"
    shown = float(page.by_id["upper"])
    assert 0 < shown - done.statement["risk"]["messages_per_1000_upper"] < 0.1  # rounded up, never down
    assert done.statement["corpus"]["sha256"] in page.by_id["facts"]
    assert "<script>A. Reader</script>" in page.by_id["facts"] and "Ben" in page.by_id["facts"]
    assert "Redacted is not anonymous" in page.by_id["not_established"]
    assert "1 of what was missed has no label" in page.by_id["not_established"]
    for law, place in (("ferpa", "34 CFR 99.3"), ("coppa", "16 CFR 312.2"), ("gdpr", "Art. 4(1)")):
        assert page.by_id[law] and place in raw
    assert "secretword" not in raw + json.dumps(done.statement)


def test_the_page_is_whole_by_itself_and_can_be_read_by_all(tmp_path: Path) -> None:
    done = certified(tmp_path, sample_size=5)
    fill(done.sample, lambda line: {"missed": []})
    certified(tmp_path, sample_size=5)
    raw = (done.folder / PAGE).read_text()
    page = Page(raw)
    assert not re.search(r"https?:|//|url\(|@import|<script|<link|<img", raw)
    assert ("lang", "en") in page.attributes and "@media print" in raw
    assert raw.count("<th scope=") == raw.count("<th ") and "<th>" not in raw
    assert "not named" in page.by_id["facts"]


def test_every_label_stands_in_every_law_and_every_law_is_cited() -> None:
    assert [law["citation"] for law in laws()] == [
        "34 CFR 99.3",
        "16 CFR 312.2",
        "Regulation (EU) 2016/679, Art. 4(1)",
    ]
    for law in laws():
        named = {label for one in law["identifiers"] for label in one["labels"]}
        assert named == {*LABELS}, law["name"]
        assert all(one["labels"] or one["note"] for one in law["identifiers"])


def test_the_command_says_how_far_the_review_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = write(tmp_path), str(tmp_path / "out")
    command = ["deid-audit", "--dataset_name", data, "--output_dir", out, "--certify", "--sample_size", "3"]
    assert cli.main(command) == 0
    assert "none yet: 3 of 3 messages" in capsys.readouterr().out
    assert cli.main(command) == 1
    assert "no statement yet: 3 of 3" in capsys.readouterr().err
    fill(tmp_path / "out" / SAMPLE, lambda line: {"missed": []})
    assert cli.main([*command, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["reviewed"] == 3
    assert cli.main([*command, "--bound", "10"]) == 2
    assert cli.main([*command, "--surrogates"]) == 2
