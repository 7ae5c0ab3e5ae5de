"""Presidio as a detector: stock, beside ours, over long texts, and without the network."""

from __future__ import annotations

import json
import random
import socket
from pathlib import Path

import pytest
import tldextract
import yaml

from tamis.errors import UsageError
from tamis.metrics.spans import score
from tamis.pii.detect import presidio
from tamis.pii.detect.presidio import MODEL, DetectorRecognizer, PresidioDetector
from tamis.pii.sessions import Annotated, Message, Session
from tamis.pii.spans import Span

DEV = Path("/work/shared/data/pii/dev.jsonl")


class Finds:
    """A detector that finds a word wherever it stands."""

    name, threshold = "finds", 0.6

    def __init__(self, word: str, label: str, score: float = 1.0) -> None:
        self.word, self.label, self.score = word, label, score

    def detect(self, session: Session) -> list[list[Span]]:
        places = [(message.content.find(self.word), len(self.word)) for message in session]
        return [
            [Span(at, at + size, self.label, self.score, "the word")] if at >= 0 else [] for at, size in places
        ]


def session(*texts: str) -> Session:
    return Session("s", tuple(Message(place, "student", text) for place, text in enumerate(texts)))


def labels(spans: list[Span], threshold: float = 0.5) -> set[str]:
    return {span.label for span in spans if span.score >= threshold}


@pytest.fixture(scope="module")
def stock() -> PresidioDetector:
    return PresidioDetector(labels={})


def test_offsets_are_code_points_and_every_message_has_its_own_spans(stock: PresidioDetector) -> None:
    mail = "👋🏽 mine is ana@example.org ok"
    found = stock.detect(session("", mail, "x = 2", "\ud83d\ude00 " + mail))
    assert len(found) == 4 and not found[0] and not labels(found[2])
    for place, shift in ((1, 0), (3, 3)):
        (address,) = [span for span in found[place] if span.label == "EMAIL_ADDRESS"]
        assert mail[address.start - shift : address.end - shift] == "ana@example.org"
        assert address.reason == "EMAIL_ADDRESS by EmailRecognizer"


def test_stock_keeps_dates_and_groups_and_no_organisations(stock: PresidioDetector) -> None:
    (found,) = stock.detect(session("On Friday the French and Google met Anna Lindqvist in Boston."))
    assert labels(found) == {"DATE_TIME", "NRP", "PERSON", "LOCATION"}


def test_labels_are_ours_unless_told_otherwise() -> None:
    (found,) = PresidioDetector().detect(session("On Friday the French came."))
    assert labels(found) == {"DATE_OF_BIRTH", "NRP"}


def test_a_configuration_without_labels_to_ignore_does_not_turn_organisations_on(tmp_path: Path) -> None:
    text = session("Google met Anna Lindqvist.")
    named = {"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": MODEL}]}
    path = tmp_path / "nlp.yaml"
    path.write_text(yaml.safe_dump(named | {"ner_model_configuration": {"default_score": 0.7}}))
    (found,) = PresidioDetector(str(path), labels={}).detect(text)
    assert {(span.label, span.score) for span in found} == {("PERSON", 0.7)}
    path.write_text(yaml.safe_dump(named | {"ner_model_configuration": {"labels_to_ignore": []}}))
    (found,) = PresidioDetector(str(path), labels={}).detect(text)
    assert "ORGANIZATION" in labels(found)


def test_windows_own_every_start_once_and_show_text_on_both_sides() -> None:
    for size in (0, 1, 399, 400, 401, 20_000, 20_001, 39_600, 39_601, 100_003):
        content = "".join(random.Random(size).choices("abc ", k=size))
        windows = list(presidio._windows(content))
        assert [place for _, own, _ in windows for place in own] == list(range(size))
        for start, own, text in windows:
            assert content[start : start + len(text)] == text and len(text) <= presidio.WINDOW
            assert start == 0 or own.start - start == 200
            assert start + len(text) == size or start + len(text) - own.stop == 200


def test_a_long_message_has_each_address_once_where_it_stands(
    stock: PresidioDetector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presidio, "WINDOW", 1000)
    content = "so we add the two sides and write to ana@example.org now.\n" * 80
    (found,) = stock.detect(session(content))
    places = [span.start for span in found if span.label == "EMAIL_ADDRESS"]
    assert places == [at for at in range(len(content)) if content.startswith("ana@", at)]


def test_nothing_asks_the_network(stock: PresidioDetector, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *where, **_: asked.append(where) or [])
    tldextract.tldextract.TLD_EXTRACTOR._extractor = None
    (found,) = stock.detect(session("mail ana@example.org or see https://example.org/ana"))
    assert {"EMAIL_ADDRESS", "URL"} <= labels(found) and not asked
    with pytest.raises(UsageError, match="spaCy model en_core_web_none is not installed"):
        PresidioDetector("en_core_web_none")
    assert not asked


@pytest.mark.parametrize(("text", "words"), [("- a", "no list of models"), ("a: [", "no YAML file")])
def test_a_broken_configuration_has_its_sentence(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "nlp.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        PresidioDetector(str(path))


def test_detectors_of_ours_work_beside_presidio() -> None:
    words = (("zed", "SCHOOL"), ("qua", "DATE_OF_BIRTH"), ("lunch", "ID_NUMBER"))
    both = PresidioDetector(beside=[*(Finds(*word) for word in words), Finds("low", "AGE", 0.5)])
    assert both.name == "presidio + finds + finds + finds + finds"
    (found,) = both.detect(session("zed and qua at lunch, low; ana@example.org"))
    assert {"SCHOOL", "DATE_OF_BIRTH", "ID_NUMBER", "EMAIL_ADDRESS"} == labels(found) - {"URL"}
    assert "ORGANIZATION by tamis finds" in {span.reason for span in found}


def test_a_recogniser_gives_what_is_asked_for() -> None:
    recogniser = DetectorRecognizer(Finds("zed", "PERSON"))
    (hit,) = recogniser.analyze("a zed", ["PERSON", "URL"])
    assert (hit.entity_type, hit.start, hit.end, hit.score) == ("PERSON", 2, 5, 1)
    assert recogniser.analyze("a zed", ["URL"]) == []


@pytest.mark.skipif(not DEV.exists(), reason=f"{DEV} is not here")
def test_stock_has_the_known_scores_on_dev(stock: PresidioDetector) -> None:
    rows = [json.loads(line) for line in DEV.read_text().splitlines()]
    gold, raw = [], []
    for row in rows:
        spans = tuple(tuple(Span(s["start"], s["end"], s["label"]) for s in m["spans"]) for m in row["messages"])
        known = Session(row["session_id"], tuple(Message(*list(m.values())[:3]) for m in row["messages"]))
        gold.append(Annotated(known, spans))
        raw.append(stock.detect(known))
    for dropped, f1, preserved in (((), 0.322, 0.540), (("DATE_TIME", "NRP"), 0.412, 0.747)):
        kept = [
            [[s for s in spans if s.score >= stock.threshold and s.label not in dropped] for spans in messages]
            for messages in raw
        ]
        found = score(gold, kept, resamples=0)
        assert (round(found["span"]["f1"], 3), round(found["maths"]["preserved"], 3)) == (f1, preserved)
