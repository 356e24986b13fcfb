"""An OpenAI-compatible server over real HTTP, with every fault that endpoints are known for.

In a test: `with ModelServer(log) as server: OpenAIChat(server.url, ...)`. As a process of its
own: `with model_process(log) as url`, or
`python -m tests.support.openai_server --port 8093 --log calls.jsonl`.

The model's name chooses what goes wrong, if anything (`tests.support.faults`); the name of the
JSON schema asked for chooses the role that answers (`tests.support.roles`).
"""

import argparse
import hashlib
import json
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from kit.fakes import HashEmbedder
from tests.support.faults import fault_of
from tests.support.roles import DEFAULT_HANDLERS, Call, Handler, plain

_CHARS_PER_TOKEN = 4


@dataclass(frozen=True)
class Logged:
    """One request as the log has it."""

    path: str
    model: str
    schema: str
    sha256: str
    """Of the body's bytes: equal bodies are the same call, made again."""
    body: dict[str, Any]


def read_log(log: Path) -> list[Logged]:
    """Read what a server has written so far, in the order in which requests came in."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [Logged(**{k: v for k, v in json.loads(line).items() if k != "at"}) for line in lines]


class ModelServer:
    """The server, in a thread of its own. Handlers may be exchanged while it runs."""

    def __init__(
        self, log: Path, port: int = 0, handlers: dict[str, Handler] | None = None
    ) -> None:
        self.handlers = {**DEFAULT_HANDLERS, **(handlers or {})}
        self.log = log
        self._seen: Counter[str] = Counter()
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        config = uvicorn.Config(
            self._app(), log_level="warning", lifespan="off", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self.run, daemon=True)

    @property
    def calls(self) -> list[Logged]:
        return read_log(self.log)

    def run(self) -> None:
        """Serve until told to stop."""
        self._server.run(sockets=[self._socket])

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(timeout=5)
        self._socket.close()

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self._serve(self._chat), methods=["POST"]),
                Route("/v1/embeddings", self._serve(_embed), methods=["POST"]),
                Route("/v1/models", _models),
            ]
        )

    def _serve(self, answer: Callable[[dict[str, Any]], Awaitable[Response]]) -> Any:
        async def endpoint(request: Request) -> Response:
            try:
                raw = await request.body()
            except ClientDisconnect:  # killed while it asked: no call has come
                return Response(status_code=400)
            body = json.loads(raw)
            self._write(request.url.path, raw, body)
            self._seen[body["model"]] += 1
            fault = await fault_of(request, body, self._seen[body["model"]])
            return await answer(body) if fault is None else fault

        return endpoint

    def _write(self, path: str, raw: bytes, body: dict[str, Any]) -> None:
        """Append one whole line before anything is answered."""
        record = {
            "at": time.time(),
            "path": path,
            "model": body["model"],
            "schema": _call(body).schema_name,
            "sha256": hashlib.sha256(raw).hexdigest(),
            "body": body,
        }
        with self.log.open("a") as file:
            file.write(json.dumps(record) + "\n")

    async def _chat(self, body: dict[str, Any]) -> Response:
        call = _call(body)
        text = self.handlers.get(call.schema_name, plain)(call)
        limit = body.get("max_tokens", body.get("max_completion_tokens", 10_000))
        cut = body["model"] == "truncated"
        allowed = len(text) // 2 if cut else limit * _CHARS_PER_TOKEN
        return JSONResponse(_completion(body, call, text, allowed))


def _call(body: dict[str, Any]) -> Call:
    wanted = (body.get("response_format") or {}).get("json_schema") or {}
    messages = body.get("messages", [])
    return Call(body["model"], messages, wanted.get("name", ""), wanted.get("schema", {}))


def _completion(body: dict[str, Any], call: Call, text: str, allowed: int) -> dict[str, Any]:
    prompt, said = len(call.text), len(text[:allowed])
    usage = {"prompt_tokens": -(-prompt // 4), "completion_tokens": -(-said // 4)}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text[:allowed]},
        "finish_reason": "length" if len(text) > allowed else "stop",
    }
    reply = {"object": "chat.completion", "model": body["model"]}
    return {**reply, "choices": [choice], "usage": usage}


async def _embed(body: dict[str, Any]) -> Response:
    """Give vectors that are three units long, last text first: both are allowed."""
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    vectors = 3 * await HashEmbedder().embed_passages(texts)
    data = [{"index": i, "embedding": v.tolist()} for i, v in enumerate(vectors)]
    return JSONResponse({"object": "list", "model": body["model"], "data": data[::-1]})


async def _models(_request: Request) -> Response:
    return JSONResponse({"object": "list", "data": [{"id": "ok", "object": "model"}]})


@contextmanager
def model_process(log: Path) -> Iterator[str]:
    """Run the server as a process of its own; give its base URL."""
    command = [sys.executable, "-m", "tests.support.openai_server", "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def main() -> None:
    """Serve in the foreground."""
    options = argparse.ArgumentParser(description="An OpenAI-compatible server for tests")
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--log", type=Path, required=True)
    chosen = options.parse_args()
    server = ModelServer(chosen.log, chosen.port)
    print(server.url, flush=True)
    server.run()


if __name__ == "__main__":
    main()
