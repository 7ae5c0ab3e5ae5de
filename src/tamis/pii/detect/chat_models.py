"""Chat models that answer a prompt: a decoder on this machine, or an endpoint that speaks OpenAI's protocol."""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urldefrag

from tamis.errors import UsageError, WorkError, missing_extra
from tamis.pii.detect import remote

KEY = "LLM_API_KEY"
"""The environment variable whose value an endpoint gets as its key. A Hub token is sent to the Hub only."""

_LONGEST_ANSWER = 1024  # tokens
_TRIES = 5
_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_NO_SCHEMA = (400, 415, 422, 501)  # what servers answer that know no `response_format`
_LONGEST_WAIT = 60.0

Turn = dict[str, str]


@dataclass
class Budget:
    """What may still be asked of all models together.

    Attributes:
        requests: The most requests, those that fail included; None for no limit.
        tokens: The most tokens of prompts and answers; None for no limit. The request that goes over is the last.
        asked: Requests so far.
        spent: Tokens so far, as far as the models count them.
    """

    requests: int | None = None
    tokens: int | None = None
    asked: int = 0
    spent: int = 0

    def take(self) -> None:
        """Takes one request out of it.

        Raises:
            WorkError: It is spent.
        """
        if self.requests is not None and self.asked >= self.requests:
            raise WorkError(f"--llm_budget: {self.requests} requests are spent, and there is more to ask")
        if self.tokens is not None and self.spent >= self.tokens:
            raise WorkError(f"--llm_budget: {self.tokens} tokens are spent, and there is more to ask")
        self.asked += 1


def budget(text: str | None) -> Budget:
    """A budget as `--llm_budget` gives it: `200` or `200 requests`, or `50000 tokens`.

    Raises:
        UsageError: It is written otherwise.
    """
    if text is None:
        return Budget()
    found = re.fullmatch(r"\s*([1-9]\d*)\s*(requests|tokens)?\s*", str(text))
    if not found:
        raise UsageError(f"--llm_budget {text}: not a number of requests or tokens, such as '50000 tokens'")
    return Budget(**{found[2] or "requests": int(found[1])})


class Chat(Protocol):
    """A chat model.

    Attributes:
        name: What it is called in tables and errors.
        identity: What tells its answers from any other model's.
    """

    name: str
    identity: str

    def ask(self, turns: Sequence[Turn], schema: dict[str, Any]) -> str:
        """The model's answer, as deterministic as the model allows; empty where it gives none that can be read.

        Raises:
            WorkError: The model cannot be reached, refuses, or the budget is spent.
            UsageError: It may not be asked, or the prompt is too long for it.
        """
        ...


def open_chat(
    name: str, *, allow_remote: Collection[str] = (), budget: Budget | None = None, device: str = "auto"
) -> Chat:
    """The chat model that a name means.

    Args:
        name: `packaged`, a folder or a model on the Hub, which run here; `http://host:port/v1#model`, an endpoint;
            or `provider:model`, such as `together:meta-llama/Llama-3.3-70B-Instruct`, through Inference Providers.
        allow_remote: Hosts other than this machine that text may be sent to.
        budget: What may be asked; a model that shares it with others takes from the same.
        device: Where a model runs that runs here.

    Raises:
        UsageError: There is no such model, or text may not be sent to it.
    """
    allowance = Budget() if budget is None else budget
    if name.startswith(("http://", "https://")):
        url, model = urldefrag(name)
        return EndpointChat(model, base_url=url, allow_remote=allow_remote, budget=allowance)
    if found := re.fullmatch(r"([a-z][a-z0-9-]+):([\w.-]+/[\w.:-]+)", name):
        return EndpointChat(found[2], provider=found[1], allow_remote=allow_remote, budget=allowance)
    return LocalChat(name, budget=allowance, device=device)


class LocalChat:
    """A decoder on this machine, asked greedily.

    Attributes:
        name: As `Chat`.
        identity: As `Chat`.

    Args:
        name: `packaged`, a folder, or a model on the Hub.
        budget: What may be asked.
        device: Where it runs.

    Raises:
        UsageError: It cannot be loaded.
    """

    def __init__(self, name: str, *, budget: Budget, device: str = "auto") -> None:
        from tamis.chat import ChatRenderer
        from tamis.models import load_decoder

        self._decoder = load_decoder(name, device=device)
        self._renderer = ChatRenderer(self._decoder.tokenizer)
        self._budget = budget
        self.name = name
        self.identity = f"{name} {self._decoder.revision} {self._renderer.digest} {_LONGEST_ANSWER}"

    def ask(self, turns: Sequence[Turn], schema: dict[str, Any]) -> str:  # noqa: ARG002 (a plain decoder takes none)
        """See `Chat`."""
        import torch

        model, tokenizer, _ = self._decoder
        ids = self._renderer.prompt(turns)
        most = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        if most is not None and len(ids) >= most:
            raise UsageError(
                f"{self.name}: a prompt of {len(ids)} tokens, and the model holds {most}; name another"
            )
        self._budget.take()
        longest = _LONGEST_ANSWER if most is None else min(_LONGEST_ANSWER, most - len(ids))
        prompt = torch.tensor([ids], device=model.device)
        with torch.inference_mode():
            whole = model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                max_new_tokens=longest,
                do_sample=False,
                eos_token_id=_ends(model, tokenizer),
                pad_token_id=tokenizer.pad_token_id
                if tokenizer.pad_token_id is not None
                else tokenizer.eos_token_id,
            )[0]
        self._budget.spent += len(whole)
        return str(tokenizer.decode(whole[len(ids) :], skip_special_tokens=True))


def _ends(model: Any, tokenizer: Any) -> list[int]:
    """The tokens that end an answer: the model's own, and the tokenizer's."""
    own = model.generation_config.eos_token_id
    listed = own if isinstance(own, list) else [own]
    return sorted({token for token in [*listed, tokenizer.eos_token_id] if token is not None})


class EndpointChat:
    """An endpoint that speaks OpenAI's protocol (vLLM, TGI, Ollama, Inference Endpoints), or one of the providers.

    A request is sent again, for a bounded time, where the server is busy or does not answer. The answer's form is
    asked for as a JSON schema; where the server knows none, it is asked without.

    Attributes:
        name: As `Chat`.
        identity: As `Chat`.

    Args:
        model: The model's name there; may be empty where the endpoint has only one.
        base_url: The endpoint's address.
        provider: The provider, in its place.
        allow_remote: Hosts other than this machine that text may be sent to.
        budget: What may be asked.
        timeout: Seconds without an answer after which a request counts as lost.
        wait: Seconds before the second try; they double from try to try.

    Raises:
        UsageError: Text may not be sent there, or an extra is missing.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        provider: str | None = None,
        allow_remote: Collection[str] = (),
        budget: Budget,
        timeout: float = 120.0,
        wait: float = 0.5,
    ) -> None:
        if base_url is not None:
            remote.check(base_url, allow_remote)
            self.name = f"{remote.host_of(base_url)}#{model}"
        else:
            self.name = f"{provider}:{model}"
            if not allow_remote:
                raise UsageError(
                    f"{self.name}: text would leave this machine; allow it with --allow_remote HOST "
                    "(router.huggingface.co with a Hub token)"
                )
        try:
            from huggingface_hub import InferenceClient
        except ImportError as error:
            raise missing_extra("pii", error) from error
        # Without a key of its own a client would send the Hub's token to any endpoint.
        key = os.environ.get(KEY) or ("none" if base_url else None)
        where = {"base_url": base_url} if base_url else {"provider": provider}
        self._client = InferenceClient(**where, api_key=key, timeout=timeout)
        self._model, self._hosts, self._budget, self._wait = model, allow_remote, budget, wait
        self._structured = True
        self.identity = f"{base_url or provider}#{model} {_LONGEST_ANSWER}"

    def ask(self, turns: Sequence[Turn], schema: dict[str, Any]) -> str:
        """See `Chat`."""
        from huggingface_hub.errors import HfHubHTTPError, InferenceTimeoutError, OfflineModeIsEnabled
        from huggingface_hub.utils import httpx

        # Errors are raised from nothing: what a server says, and what was sent, may hold the text.
        attempt = 0
        while True:
            self._budget.take()
            attempt += 1
            try:
                return self._answer(turns, schema)
            except OfflineModeIsEnabled:
                raise UsageError(
                    f"{self.name}: HF_HUB_OFFLINE is set, so the client sends nothing; unset it"
                ) from None
            except HfHubHTTPError as error:
                status = error.response.status_code
                if status in _NO_SCHEMA and self._structured:
                    self._structured = False
                    continue
                if status not in _AGAIN or attempt == _TRIES:
                    raise WorkError(f"{self.name}: the server refused ({status})") from None
                told = error.response.headers.get("retry-after", "")
            except (InferenceTimeoutError, httpx.HTTPError) as error:
                told = ""
                if attempt == _TRIES:
                    raise WorkError(f"{self.name}: no answer ({type(error).__name__})") from None
            longer = self._wait * 2.0 ** (attempt - 1) * random.uniform(0.5, 1.0)
            time.sleep(min(float(told) if told.isdecimal() else longer, _LONGEST_WAIT))

    def _answer(self, turns: Sequence[Turn], schema: dict[str, Any]) -> str:
        form = {"type": "json_schema", "json_schema": {"name": "entities", "schema": schema, "strict": True}}
        try:
            with remote.only_to(self._hosts):
                done = self._client.chat_completion(
                    [*turns],
                    model=self._model or None,
                    max_tokens=_LONGEST_ANSWER,
                    temperature=0.0,
                    seed=0,
                    response_format=form if self._structured else None,
                )
            text = done.choices[0].message.content
        except (json.JSONDecodeError, AttributeError, KeyError, IndexError, TypeError):
            return ""  # no answer of this protocol: unreadable, as other answers are
        except UsageError:
            raise
        except ValueError as error:  # the client's own: a provider or a key that it does not know
            raise UsageError(f"{self.name}: {' '.join(str(error).split())}") from None
        self._budget.spent += getattr(done.usage, "total_tokens", None) or 0
        return text if isinstance(text, str) else ""
