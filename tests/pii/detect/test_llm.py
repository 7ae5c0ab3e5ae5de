"""The llm detector: what a model says becomes spans of the text, or is counted, and is never taken for silence."""

from __future__ import annotations

import json
import logging
import os
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.responses import JSONResponse

from chat_endpoint import ChatEndpoint, entities, finds, shown
from tamis.errors import UsageError, WorkError
from tamis.pii.detect.chat_models import Budget, EndpointChat
from tamis.pii.detect.llm import PROMPTS, Answered, LLMDetector, windows
from tamis.pii.detect.llm_answers import Piece, UnreadableError, locate, read
from tamis.pii.detect.llm_cache import AnswerCache
from tamis.pii.detect.llm_choice import all_prompts, choose
from tamis.pii.labels import LABELS
from tamis.pii.segments import segment
from tamis.pii.sessions import Annotated, Message, Session
from tamis.pii.spans import Span


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatEndpoint]:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with ChatEndpoint() as server:
        yield server


def chat(endpoint: ChatEndpoint, model: str = "m", **options: Any) -> EndpointChat:
    return EndpointChat(model, base_url=endpoint.url, budget=Budget(), wait=0.01, **options)


def detector(endpoint: ChatEndpoint, prompt: str = "basic", **options: Any) -> LLMDetector:
    return LLMDetector(chat(endpoint), prompt, segments=segment, **options)


def session(*texts: str, name: str = "s") -> Session:
    return Session(name, tuple(Message(i, "student", text) for i, text in enumerate(texts)))


def pieces(found: Sequence[Sequence[Span]], texts: Sequence[str]) -> list[list[str]]:
    return [[text[span.start : span.end] for span in spans] for spans, text in zip(found, texts, strict=True)]


def test_all_occurrences_are_found_and_none_inside_a_word(endpoint: ChatEndpoint) -> None:
    endpoint.model = finds(("Jan", "PERSON"))
    texts = ["Jan met Jan in January", "nothing", "Jan's 😀 Jan"]
    found = detector(endpoint).detect(session(*texts))
    assert pieces(found, texts) == [["Jan", "Jan"], [], ["Jan", "Jan"]]
    assert {span.label for spans in found for span in spans} == {"PERSON"}
    assert not any("Jan" in span.reason for spans in found for span in spans)


def test_what_stands_nowhere_is_dropped_and_counted(endpoint: ChatEndpoint) -> None:
    told = [(1, "Zoe", "PERSON"), (7, "Ann", "PERSON"), (1, " ", "PERSON"), (1, "Ann", "MOOD"), (1, "Ann", "name")]
    endpoint.model = lambda body: entities(*told)
    made = detector(endpoint)
    assert pieces(made.detect(session("Ann is here")), ["Ann is here"]) == [["Ann"]]
    assert (made.counts.pieces, made.counts.hallucinated, made.counts.unknown_labels) == (5, 3, 1)


def test_an_unreadable_answer_is_asked_for_again_and_then_unscored(endpoint: ChatEndpoint) -> None:
    said = iter(["I found nothing.", entities((1, "Ann", "PERSON")), '{"entities": [{"mess', "no"])
    endpoint.model = lambda body: next(said)
    made = detector(endpoint)
    assert pieces(made.detect(session("Ann")), ["Ann"]) == [["Ann"]]
    assert endpoint.requests[1]["messages"][1]["content"] == "I found nothing."
    with pytest.raises(WorkError, match="no readable answer for 2 of 3 messages of session s") as caught:
        made.detect(session("Ann", "", "Bob"))
    assert "Ann" not in str(caught.value) and made.counts.unreadable == 3 and made.counts.unscored == 2


def test_only_the_messages_of_an_unreadable_window_are_unscored(endpoint: ChatEndpoint) -> None:
    def model(body: dict[str, Any]) -> str:
        lines = shown(body["messages"][0]["content"])
        return "?" if any("bad" in line["text"] for line in lines) else finds(("Ann", "PERSON"))(body)

    endpoint.model = model
    texts = [f"Ann {'x ' * 190}", f"bad {'y ' * 190}", f"Ann {'z ' * 190}"]
    answered = detector(endpoint, window=400).ask(session(*texts))
    assert answered == Answered([answered.spans[0], [], answered.spans[2]], [1])
    assert pieces(answered.spans, texts) == [["Ann"], [], ["Ann"]]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_prompt_says_what_every_label_is_and_holds_the_messages_last_but_the_form(
    endpoint: ChatEndpoint, prompt: str
) -> None:
    texts = ['say "hi" {{ lines }} & <br>', "3x + 4 = 10 \ud800", "line\nbreak"]
    detector(endpoint, prompt).detect(session(*texts))
    said = endpoint.requests[0]["messages"][0]["content"]
    assert all(f"- {label}: " in said for label in LABELS)
    lines = shown(said)
    assert [line["text"] for line in lines] == [texts[0], "3x + 4 = 10 ?", texts[2]]
    assert ("Pythagoras" in said) == (prompt != "basic")
    kinds = [line.get("segment") for line in lines]
    assert kinds == (["non_maths", "maths", "non_maths"] if prompt == "segment-aware" else [None] * 3)


def test_long_messages_and_sessions_are_seen_whole_in_windows_that_overlap(endpoint: ChatEndpoint) -> None:
    endpoint.model = finds(("Ann Lee", "PERSON"))
    long = "x " * 150 + "Ann Lee " + "y " * 700 + "Ann Lee"
    texts = [*(f"Ann Lee says {i}" for i in range(60)), long, "Ann Lee"]
    found = detector(endpoint, window=400).detect(session(*texts))
    assert pieces(found, texts) == [["Ann Lee"]] * 60 + [["Ann Lee"] * 2, ["Ann Lee"]]
    assert len(endpoint.requests) > 6


SIZES = st.lists(st.integers(0, 1500), max_size=12)


@settings(max_examples=100, deadline=None)
@given(SIZES, st.integers(400, 1200))
def test_windows_hold_every_character_in_order_and_none_is_too_long(sizes: list[int], size: int) -> None:
    texts = ["".join(chr(97 + (i + j) % 26) for j in range(n)) for i, n in enumerate(sizes)]
    seen: list[set[int]] = [set() for _ in texts]
    last = (-1, -1)
    for window in windows(session(*texts), size):
        assert 0 < sum(len(part.text) for part in window) <= size
        assert (window[-1].message, window[-1].start) > last
        last = (window[-1].message, window[-1].start)
        for part in window:
            assert texts[part.message][part.start : part.start + len(part.text)] == part.text
            seen[part.message] |= {*range(part.start, part.start + len(part.text))}
    assert [len(one) for one in seen] == sizes


WHOLE = entities((1, "Ann", "PERSON"))


@pytest.mark.parametrize(
    "answer",
    [
        WHOLE,
        f"```json\n{WHOLE}\n```",
        f"<think>{{ hm [1, 2) </think>In [0, 1) I see:\n{WHOLE} Done.",
        json.dumps(json.loads(WHOLE)["entities"]),
        json.dumps(json.loads(WHOLE), indent=2),
        WHOLE.replace("1,", '"1",'),
    ],
)
def test_an_answer_is_read_out_of_what_stands_around_it(answer: str) -> None:
    assert read(answer) == [Piece(1, "Ann", "PERSON")]


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "[",
        "none",
        "{}",
        WHOLE[:-2],
        f"like {WHOLE} I say {WHOLE[:-3]}",
        '{"entities": null}',
        '{"entities": ["Ann"]}',
        '{"entities": [{"message": 1, "text": "Ann"}]}',
        '{"entities": [{"message": true, "text": "Ann", "label": "PERSON"}]}',
        '{"entities": [{"message": 1, "text": 5, "label": "PERSON"}]}',
        '{"entities": [{"message": 1, "text": "A", "label": "PERSON", "x": []}, {"mess',
        '[{"message": 1, "text": "Ann", "label": "PERSON"}',
        "[" * 100_000,
    ],
)
def test_what_breaks_off_or_has_another_form_is_unreadable_and_not_empty(answer: str) -> None:
    with pytest.raises(UnreadableError):
        read(answer)


@pytest.mark.parametrize(
    ("text", "content", "found"),
    [
        ("ann", "Ann ann ANN", ["ann"]),
        ("ann", "joann, annie, 3ann, ann", ["ann"]),
        ("Ann", "ANN and ann", ["ANN", "ann"]),
        ("Ann Lee", "Ann\n Lee, AnnLee", ["Ann\n Lee"]),
        ("O'Neil", "mr O’Neil", ["O’Neil"]),
        ("ann_9", "@ann_9 ann_99", ["ann_9"]),
        ("(555) 1.2", "x(555) 1.2, (555) 152", ["(555) 1.2"]),
        ("José", "José 😀José", ["José", "José"]),
        ("", "anything", []),
    ],
)
def test_pieces_are_located(text: str, content: str, found: list[str]) -> None:
    assert [content[a:b] for a, b in locate(text, content)] == found


def test_answers_are_kept_in_the_named_file_for_its_owner_alone(endpoint: ChatEndpoint, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    said = iter(["unreadable", WHOLE, WHOLE, WHOLE])
    endpoint.model = lambda body: next(said)
    before = os.umask(0)
    try:
        detector(endpoint, kept=AnswerCache(path)).detect(session("Ann"))
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600 and "unreadable" not in path.read_text()
    with path.open("a") as stream:
        stream.write('{"key": "torn')  # a run that was killed
    made = detector(endpoint, kept=AnswerCache(path))
    assert pieces(made.detect(session("Ann")), ["Ann"]) == [["Ann"]]
    asked = len(endpoint.requests)
    assert pieces(made.detect(session("Ann")), ["Ann"]) == [["Ann"]] and len(endpoint.requests) == asked
    assert made.counts.from_cache == 1
    made.detect(session("Ann", "more"))  # other content is another answer
    assert len(endpoint.requests) == asked + 1 and len(path.read_text().splitlines()) == 3


def test_a_cache_that_others_may_read_or_that_is_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text("")
    path.chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        AnswerCache(path)
    for text in ("Ann, 12\n", '[1]\n{"key": "a", "answer": "b"}\n', "Ann without a line's end"):
        path.write_text(text)
        path.chmod(0o600)
        with pytest.raises(UsageError, match="line 1 is no answer") as caught:
            AnswerCache(path)
        assert "Ann" not in str(caught.value) and path.read_text() == text
    with pytest.raises(UsageError, match="cannot be used"):
        AnswerCache(tmp_path)


def test_without_a_named_cache_nothing_is_written(
    endpoint: ChatEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    detector(endpoint).detect(session("Ann"))
    assert not [*tmp_path.iterdir()]


def test_what_cannot_be_asked_for_is_refused(endpoint: ChatEndpoint) -> None:
    with pytest.raises(UsageError, match="--llm_prompt"):
        detector(endpoint, "clever")
    with pytest.raises(UsageError, match="--llm_window"):
        detector(endpoint, window=100)


def test_a_secret_is_in_no_log_and_no_error_of_a_run_that_fails(
    endpoint: ChatEndpoint, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LLM_API_KEY", "of-the-endpoint")
    caplog.set_level(logging.INFO)
    endpoint.first = [JSONResponse({"error": "Zelda Quix"}, 500), JSONResponse({"error": "Zelda Quix"}, 403)]
    asked = session("Zelda Quix")  # on a line of its own: a traceback shows the lines that it goes through
    with pytest.raises(WorkError) as caught:
        detector(endpoint).detect(asked)
    told = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert not any(secret in told for secret in ("Zelda", "Quix", "of-the-endpoint"))


def annotated(texts: Sequence[str], word: str, name: str) -> Annotated:
    spans = tuple(tuple(Span(a, b, "PERSON") for a, b in locate(word, text)) for text in texts)
    return Annotated(session(*texts, name=name), spans)


def test_the_basic_prompt_chooses_a_model_and_only_that_one_is_asked_more(endpoint: ChatEndpoint) -> None:
    answers = {
        "blind": lambda body: entities(),
        "good": finds(("Ann", "PERSON")),
        "eager": finds(("Ann", "PERSON"), ("x", "PERSON")),
        "silent": lambda body: "…",
    }
    endpoint.model = lambda body: answers[body["model"]](body)
    chats = [chat(endpoint, name) for name in answers]
    split = [annotated(["Ann has x", "x = 2"], "Ann", "a")]
    rest = [session("x, Ann", name="b")]
    choice = choose(chats, split)
    judged = all_prompts(chats[choice.chosen], rest, segments=segment)
    assert chats[choice.chosen].name.endswith("#good")
    assert [one["f1"] for one in choice.basic] == [0.0, 1.0, 0.5, None]
    assert choice.spread == {"least": 0.0, "greatest": 1.0, "difference": 1.0, "models": 3}
    assert choice.basic[3]["unscored"] == choice.basic[3]["messages"] == 2
    assert [(one.prompt, pieces(one.predicted[0], ["x, Ann"])) for one in judged] == [
        (prompt, [["Ann"]]) for prompt in PROMPTS
    ]
    longer = [one for one in endpoint.requests if "Pythagoras" in one["messages"][0]["content"]]
    assert {one["model"] for one in longer} == {"good"}
    with pytest.raises(WorkError, match="none of"):
        choose(chats[3:], split)
