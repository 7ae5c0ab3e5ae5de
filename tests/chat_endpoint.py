"""An endpoint on loopback that speaks OpenAI's chat protocol and answers as a test says."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Lines = list[dict[str, Any]]


def shown(prompt: str) -> Lines:
    """The messages that stand in a prompt."""
    return [json.loads(line) for line in prompt.splitlines() if line.startswith('{"message"')]


def entities(*pieces: tuple[int, str, str]) -> str:
    """An answer that names these pieces: message, text, label."""
    listed = [{"message": number, "text": text, "label": label} for number, text, label in pieces]
    return json.dumps({"entities": listed}, ensure_ascii=False)


def finds(*words: tuple[str, str]) -> Callable[[dict[str, Any]], str]:
    """A model that names these words, each with its label, in every message that holds them."""

    def answer(body: dict[str, Any]) -> str:
        lines = shown(body["messages"][0]["content"])
        return entities(
            *((line["message"], word, label) for line in lines for word, label in words if word in line["text"])
        )

    return answer


@dataclass
class ChatEndpoint:
    """A server in a thread; also a context manager.

    Attributes:
        model: What the assistant says to the body of a request.
        first: Responses that are given before any of the model's.
        delay: Seconds before every response.
        requests: The bodies that came, each with its headers under `headers`.
        url: The address, such as `http://127.0.0.1:PORT/v1`.
    """

    model: Callable[[dict[str, Any]], Any] = lambda body: entities()
    first: list[Response] = field(default_factory=list)
    delay: float = 0.0
    requests: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""

    def __enter__(self) -> Self:
        app = Starlette(routes=[Route("/v1/chat/completions", self._answer, methods=["POST"])])
        self._server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        return self

    def __exit__(self, *error: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join()

    async def _answer(self, request: Request) -> Response:
        body = await request.json()
        self.requests.append({**body, "headers": dict(request.headers)})
        await asyncio.sleep(self.delay)
        if self.first:
            return self.first.pop(0)
        message = {"role": "assistant", "content": self.model(body)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}
        return JSONResponse(
            {
                "id": "1",
                "created": 0,
                "model": "m",
                "object": "chat.completion",
                "choices": [choice],
                "usage": usage,
            }
        )
