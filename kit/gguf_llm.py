"""A GGUF file as a language model, run by llama.cpp inside this process."""

import asyncio
import os
import secrets
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

from kit.chat import ChatReply, ChatRequest, Usage
from kit.errors import Misconfigured, ProviderRefused, ProviderUnreachable
from kit.openai_wire import FINISH, chat_body
from kit.utf8 import storable

_HEADER = struct.Struct("<4sIQQ")
"""Magic, version, number of tensors, number of metadata entries."""
_VERSIONS = (2, 3)
_LEAST_BYTES = 1_000_000


class GgufChat:
    """A ChatModel over one GGUF file, one call at a time; the others wait in order.

    The file's header is checked here (Misconfigured names the file); the weights are loaded
    by `load` or by the first call. `context` is the number of tokens that prompt and reply
    share; a longer prompt is refused. A cancelled call stops at its next token.
    """

    provider = "gguf"

    def __init__(self, path: Path, threads: int = 1, context: int = 8192) -> None:
        check_gguf(path)
        self.name = path.stem
        self._path, self._threads, self._context = path, threads, context
        self._server: Any = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gguf")

    async def load(self) -> None:
        """Load the weights now. Raises Misconfigured that names the file."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._load)

    async def chat(self, request: ChatRequest) -> ChatReply:
        cancelled = threading.Event()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._chat, request, cancelled)
        finally:
            cancelled.set()

    async def close(self) -> None:
        """Give the memory back; a running call is waited for."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._unload)
        self._thread.shutdown()

    def _load(self) -> None:
        if self._server is None:
            self._server = _start(self._path, self._threads, self._context)

    def _unload(self) -> None:
        self._server = None

    def _chat(self, request: ChatRequest, cancelled: threading.Event) -> ChatReply:
        try:
            self._load()
            chunks = _Collector(cancelled)
            self._server.handle_chat_completions(_body(request), chunks.take)
        except (Misconfigured, ValueError) as error:
            raise ProviderRefused(f"the model in {self._path} refused: {error}") from error
        except RuntimeError as error:
            raise ProviderUnreachable(f"the model in {self._path} failed: {error}") from error
        self._raise_error(chunks.error)
        return ChatReply(storable(chunks.text), chunks.finish, self.name, chunks.usage)

    def _raise_error(self, error: dict[str, Any] | None) -> None:
        if error is None:
            return
        message = f"the model in {self._path} refused: {error.get('message', 'no reason given')}"
        raise (ProviderRefused if error.get("code") == 400 else ProviderUnreachable)(message)


class _Collector:
    """Puts a streamed reply together; `take` tells llama.cpp whether to stop."""

    def __init__(self, cancelled: threading.Event) -> None:
        self.text = ""
        self.finish: Literal["stop", "length", "other"] = "other"
        self.usage = Usage()
        self.error: dict[str, Any] | None = None
        self._cancelled = cancelled

    def take(self, chunk: dict[str, Any]) -> bool:
        self.error = chunk.get("error", self.error)
        for choice in chunk.get("choices", ()):
            self.text += choice["delta"].get("content") or ""
            if choice["finish_reason"] is not None:
                self.finish = FINISH.get(choice["finish_reason"], "other")
        if used := chunk.get("usage"):
            self.usage = Usage(used["prompt_tokens"], used["completion_tokens"])
        return self._cancelled.is_set()


def check_gguf(path: Path) -> None:
    """Raise Misconfigured where `path` cannot be a GGUF model, before native code reads it."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER.size)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise Misconfigured(f"the GGUF file {path} cannot be read: {error.strerror}") from error
    if header[:4] != b"GGUF":
        raise Misconfigured(f"{path} is not a GGUF file: it does not begin with 'GGUF'")
    if len(header) < _HEADER.size:
        raise Misconfigured(f"the GGUF file {path} is cut off after {len(header)} bytes")
    _magic, version, tensors, entries = _HEADER.unpack(header)
    if version not in _VERSIONS:
        raise Misconfigured(f"{path} is a GGUF file of version {version}; known are 2 and 3")
    if size < _LEAST_BYTES or not 0 < tensors < size or not 0 < entries < size:
        raise Misconfigured(f"the GGUF file {path} holds no model: it is broken or cut off")


def _start(path: Path, threads: int, context: int) -> Any:
    try:
        import xllamacpp  # here: an optional extra, and 0.3 s that nobody else should pay
    except ImportError as error:
        raise Misconfigured("a GGUF model needs the extra `local`: genoma[local]") from error
    try:
        return xllamacpp.Server(_parameters(xllamacpp.CommonParams(), path, threads, context))
    except RuntimeError as error:
        raise Misconfigured(f"the GGUF file {path} cannot be loaded: it is broken") from error


def _parameters(params: Any, path: Path, threads: int, context: int) -> Any:
    params.model.path = str(path)
    params.n_ctx, params.n_parallel = context, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = 0  # else up to 8 GB of old prompts are kept
    params.verbosity = 0
    # llama.cpp opens a port on loopback whether wanted or not: a key that nobody knows shuts it.
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.api_keys = [secrets.token_urlsafe(32)]
    params.ui = params.endpoint_slots = params.endpoint_props = False
    return params


def _body(request: ChatRequest) -> dict[str, Any]:
    streamed = {"stream": True, "stream_options": {"include_usage": True}}
    return {**chat_body(request, frozenset()), **streamed}
