"""Chat models: the real client against a real server that fails in every way, and a decoder with set weights."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

import tiny
from chat_endpoint import ChatEndpoint, entities
from tamis.errors import UsageError, WorkError
from tamis.pii.detect.chat_models import Budget, EndpointChat, LocalChat, budget, open_chat
from tamis.pii.detect.llm_answers import SCHEMA

ASKED = [{"role": "user", "content": "the secret of Zelda"}]
ANSWER = entities((1, "Zelda", "PERSON"))


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatEndpoint]:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with ChatEndpoint(model=lambda body: ANSWER) as server:
        yield server


def chat(endpoint: ChatEndpoint, **options: Any) -> EndpointChat:
    return EndpointChat("m", base_url=endpoint.url, **{"budget": Budget(), "wait": 0.01, **options})


def test_the_answer_is_asked_for_by_its_schema_and_without_the_hubs_token(
    endpoint: ChatEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_hub")
    assert chat(endpoint).ask(ASKED, SCHEMA) == ANSWER
    monkeypatch.setenv("LLM_API_KEY", "of-the-endpoint")
    chat(endpoint).ask(ASKED, SCHEMA)
    first, second = endpoint.requests
    assert first["model"] == "m" and first["temperature"] == 0 and first["messages"] == ASKED
    assert SCHEMA in first["response_format"].values()  # the client has its own form for endpoints
    assert "hf_of_the_hub" not in str(endpoint.requests)
    assert second["headers"]["authorization"] == "Bearer of-the-endpoint"


BUSY = [429, 500, 502, 503, 504]


@pytest.mark.parametrize("status", BUSY)
def test_a_busy_server_is_asked_again(endpoint: ChatEndpoint, status: int) -> None:
    endpoint.first = [PlainTextResponse("Zelda", status) for _ in range(4)]
    assert chat(endpoint).ask(ASKED, SCHEMA) == ANSWER
    assert len(endpoint.requests) == 5


@pytest.mark.parametrize("status", [429, 401, 404])
def test_a_server_that_refuses_for_good_is_told_of_in_one_sentence_without_its_words(
    endpoint: ChatEndpoint, status: int
) -> None:
    endpoint.first = [JSONResponse({"error": "Zelda"}, status) for _ in range(9)]
    with pytest.raises(WorkError, match=rf"^127.0.0.1#m: the server refused \({status}\)$") as caught:
        chat(endpoint).ask(ASKED, SCHEMA)
    assert len(endpoint.requests) == (5 if status in BUSY else 1)
    assert caught.value.__suppress_context__


def test_a_server_without_schemas_is_asked_without_from_then_on(endpoint: ChatEndpoint) -> None:
    endpoint.first = [JSONResponse({"error": "response_format"}, 400)]
    model = chat(endpoint)
    assert [model.ask(ASKED, SCHEMA) for _ in range(2)] == [ANSWER] * 2
    assert ["response_format" in request for request in endpoint.requests] == [True, False, False]


def test_a_slow_server_counts_as_lost_after_a_while(endpoint: ChatEndpoint) -> None:
    endpoint.delay = 0.5
    with pytest.raises(WorkError, match="no answer"):
        chat(endpoint, timeout=0.05).ask(ASKED, SCHEMA)


def test_a_server_that_is_not_there_is_told_of(endpoint: ChatEndpoint) -> None:
    with pytest.raises(WorkError, match="no answer"):
        EndpointChat("m", base_url="http://127.0.0.1:9/v1", budget=Budget(), wait=0.01).ask(ASKED, SCHEMA)


@pytest.mark.parametrize(
    "made",
    [
        lambda: PlainTextResponse("not JSON"),
        lambda: JSONResponse({"choices": []}),
        lambda: JSONResponse([1]),
        lambda: JSONResponse({"choices": [{"message": {"role": "assistant", "content": None}}]}),
        lambda: JSONResponse({"detail": "wrong protocol"}),
    ],
)
def test_what_is_no_answer_of_the_protocol_is_empty(endpoint: ChatEndpoint, made: Callable[[], Response]) -> None:
    endpoint.first = [made()]
    assert chat(endpoint).ask(ASKED, SCHEMA) == ""


def test_every_request_is_taken_from_the_budget_and_none_goes_over_it(endpoint: ChatEndpoint) -> None:
    endpoint.first = [PlainTextResponse("busy", 503)]
    shared = budget("3")
    models = [chat(endpoint, budget=shared), chat(endpoint, budget=shared)]
    for model in models:
        model.ask(ASKED, SCHEMA)
    with pytest.raises(WorkError, match="3 requests are spent"):
        models[0].ask(ASKED, SCHEMA)
    tokens = budget("150 tokens")
    model = chat(endpoint, budget=tokens)
    for _ in range(2):
        model.ask(ASKED, SCHEMA)
    with pytest.raises(WorkError, match="150 tokens are spent"):
        model.ask(ASKED, SCHEMA)
    assert tokens.spent == 200 and len(endpoint.requests) == 5


@pytest.mark.parametrize("text", ["0", "-3", "many", "5 euros"])
def test_a_budget_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--llm_budget"):
        budget(text)


def test_a_redirect_to_another_host_is_refused_before_anything_is_sent(endpoint: ChatEndpoint) -> None:
    with ChatEndpoint(model=lambda body: ANSWER) as other:
        endpoint.first = [RedirectResponse(f"{other.url}/chat/completions", 307)]
        assert chat(endpoint).ask(ASKED, SCHEMA) == ANSWER  # to this machine it may go on
        assert len(other.requests) == 1
        endpoint.first = [RedirectResponse("http://elsewhere.invalid/v1/chat/completions", 307)]
        with pytest.raises(UsageError, match=r"--allow_remote elsewhere\.invalid"):
            chat(endpoint).ask(ASKED, SCHEMA)


def test_the_hub_can_still_be_asked_after_a_refusal(endpoint: ChatEndpoint) -> None:
    from huggingface_hub.utils import get_session

    chat(endpoint).ask(ASKED, SCHEMA)
    session = get_session()
    chat(endpoint).ask(ASKED, SCHEMA)
    hooks = get_session().event_hooks["request"]
    assert get_session() is session and len(hooks) == len({*hooks})


def test_a_remote_host_is_refused_before_a_client_is_made() -> None:
    with pytest.raises(UsageError, match=r"--allow_remote llm\.example\.com"):
        open_chat("https://llm.example.com/v1#m")
    with pytest.raises(UsageError, match="--allow_remote HOST"):
        open_chat("together:meta-llama/Llama-3.3-70B-Instruct")
    made = open_chat("https://llm.example.com/v1#m", allow_remote=["LLM.example.com"])
    assert made.name == "llm.example.com#m"


def test_offline_the_client_sends_nothing_and_says_why() -> None:
    with ChatEndpoint() as server:
        assert os.environ["HF_HUB_OFFLINE"] == "1"
        with pytest.raises(UsageError, match="HF_HUB_OFFLINE"):
            chat(server).ask(ASKED, SCHEMA)
        assert not server.requests


def parrot(folder: Path, answer: str) -> str:
    """A decoder that says one answer, whatever it is asked, and ends: its weights are set by hand."""
    tokenizer = tiny.tokenizer()
    tokenizer.add_tokens([answer])
    said, end = tokenizer.convert_tokens_to_ids(answer), tokenizer.eos_token_id
    model = tiny.model("llama")
    model.resize_token_embeddings(len(tokenizer))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                weight.zero_()  # no layer adds anything: the next token depends on the last one alone
        model.get_input_embeddings().weight.zero_()[:, 0] = 1
        model.get_output_embeddings().weight.zero_()[said, 0] = 1
        model.get_input_embeddings().weight[said] = torch.eye(32)[1]
        model.get_output_embeddings().weight[end, 1] = 1
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def test_a_decoder_on_this_machine_answers(tmp_path: Path) -> None:
    shared = Budget(requests=1)
    model = open_chat(parrot(tmp_path / "model", ANSWER), budget=shared, device="cpu")
    assert isinstance(model, LocalChat) and model.ask(ASKED, SCHEMA) == ANSWER
    assert shared.asked == 1 and shared.spent > 20
    with pytest.raises(WorkError, match="1 requests are spent"):
        model.ask(ASKED, SCHEMA)


def test_a_prompt_that_a_decoder_cannot_hold_is_refused(tmp_path: Path) -> None:
    model = open_chat(tiny.saved(tmp_path / "model", "gpt2"), device="cpu")
    with pytest.raises(UsageError, match="the model holds 256"):
        model.ask([{"role": "user", "content": "maths " * 200}], SCHEMA)
