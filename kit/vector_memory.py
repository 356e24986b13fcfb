"""Vectors kept in memory, so that a text is embedded once in a process."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from kit.embedding import Embedder, Vectors

_Role = Literal["query", "passage"]


class _Row(NamedTuple):
    """Where a vector is or will be: a row of what a call gives."""

    call: "asyncio.Task[Vectors]"
    at: int


class VectorMemory:
    """An embedder that remembers: the texts that were asked for longest ago are forgotten first.

    Two askers of one text at the same time share one call. A call that fails is forgotten.
    """

    def __init__(self, embedder: Embedder, capacity: int = 20_000) -> None:
        self._embedder = embedder
        self._capacity = capacity
        self._rows: OrderedDict[tuple[_Role, str], _Row] = OrderedDict()

    @property
    def name(self) -> str:
        return self._embedder.name

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self._embed("query", texts)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return await self._embed("passage", texts)

    async def _embed(self, role: _Role, texts: Sequence[str]) -> Vectors:
        missing = [text for text in dict.fromkeys(texts) if (role, text) not in self._rows]
        if missing:
            self._call(role, missing)
        rows = [self._rows[role, text] for text in texts]
        for text in texts:
            self._rows.move_to_end((role, text))
        self._forget_oldest()
        vectors = [(await asyncio.shield(row.call))[row.at] for row in rows]
        return np.array(vectors, dtype=np.float32)

    def _call(self, role: _Role, texts: list[str]) -> None:
        embedder = self._embedder
        embed = embedder.embed_queries if role == "query" else embedder.embed_passages
        call = asyncio.ensure_future(embed(texts))
        self._rows.update({(role, text): _Row(call, at) for at, text in enumerate(texts)})
        call.add_done_callback(lambda done: self._forget_failed(done, role, texts))

    def _forget_failed(self, call: "asyncio.Task[Vectors]", role: _Role, texts: list[str]) -> None:
        if call.cancelled() or call.exception() is not None:
            for text in texts:
                self._rows.pop((role, text), None)

    def _forget_oldest(self) -> None:
        while len(self._rows) > self._capacity:
            self._rows.popitem(last=False)


def remembering(embedder: Embedder) -> VectorMemory:
    """Give `embedder` a memory, where it has none yet: what is shared is embedded once."""
    return embedder if isinstance(embedder, VectorMemory) else VectorMemory(embedder)
