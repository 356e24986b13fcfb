"""Fakes of product quality: models and embedders that need nothing and always do the same."""

import asyncio
import hashlib
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from kit.chat import ChatReply, ChatRequest, Usage
from kit.embedding import Vectors
from kit.errors import ProviderError, ProviderRefused

Scripted = str | ChatReply | ProviderError
Script = Callable[[ChatRequest], Scripted] | Sequence[Scripted]

_CHARS_PER_TOKEN = 4
_WORD = re.compile(r"\w+")
_FEATURES_PER_WORD = 8


class ScriptedChat:
    """A ChatModel that plays a script: one entry a call, or a function of the request.

    A text is given back as a real model would give it, cut at `max_tokens` (four characters
    a token) with finish_reason `length`; a ChatReply as it stands; a ProviderError is raised.
    A sequence that is played to its end refuses further calls.
    """

    provider = "scripted"

    def __init__(self, replies: Script, name: str = "scripted", latency_s: float = 0.0) -> None:
        self.name = name
        self.requests: list[ChatRequest] = []
        """Every request so far, in order, those that failed included."""
        self._reply = replies if callable(replies) else _player(iter(replies), name)
        self._latency_s = latency_s

    @property
    def calls(self) -> int:
        return len(self.requests)

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        reply = self._reply(request)
        await asyncio.sleep(self._latency_s)
        if isinstance(reply, ProviderError):
            raise reply
        return reply if isinstance(reply, ChatReply) else self._say(reply, request)

    def _say(self, text: str, request: ChatRequest) -> ChatReply:
        allowed = request.max_tokens * _CHARS_PER_TOKEN
        prompt = sum(_tokens(message.content) for message in request.messages)
        usage = Usage(prompt, min(_tokens(text), request.max_tokens))
        return ChatReply(
            text[:allowed], "length" if len(text) > allowed else "stop", self.name, usage
        )


class HashEmbedder:
    """An Embedder that hashes words: texts are as similar as the words they share.

    Each word sets the same few signed places of the vector wherever it stands (feature
    hashing: Weinberger et al. 2009), so that two texts without a common word are nearly
    orthogonal, and the cosine of two texts grows with the words in common.
    """

    def __init__(self, dimension: int = 384) -> None:
        self.name = f"hash-{dimension}"
        self._dimension = dimension

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for place, sign in self._features(text):
                row[place] += sign
            row /= np.linalg.norm(row)
        return vectors

    def _features(self, text: str) -> Iterator[tuple[int, float]]:
        words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
        for word in words or [""]:  # an empty text has a direction too: its length must be 1
            digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=64).digest()
            for at in range(0, 4 * _FEATURES_PER_WORD, 4):
                number = int.from_bytes(digest[at : at + 4])
                yield (number >> 1) % self._dimension, 1.0 if number & 1 else -1.0


def _player(script: Iterator[Scripted], name: str) -> Callable[[ChatRequest], Scripted]:
    def play(_request: ChatRequest) -> Scripted:
        return next(script, ProviderRefused(f"the script of {name} has no further reply"))

    return play


def _tokens(text: str) -> int:
    return math.ceil(len(text) / _CHARS_PER_TOKEN)
