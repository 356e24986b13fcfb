"""The memory of vectors: each text is embedded once, a failure is not remembered."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from kit.embedding import Vectors
from kit.errors import ProviderUnreachable
from kit.fakes import HashEmbedder
from kit.vector_memory import VectorMemory


class CountingEmbedder:
    """Counts the texts that it is given; can fail a number of times first."""

    name = "counting"

    def __init__(self, failures: int = 0) -> None:
        self.seen: list[str] = []
        self._failures = failures

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self.embed_passages(texts)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        await asyncio.sleep(0)
        self.seen.extend(texts)
        if self._failures:
            self._failures -= 1
            raise ProviderUnreachable("the endpoint is down")
        return await HashEmbedder().embed_passages(texts)


async def test_a_text_is_embedded_once_even_by_two_askers_at_once() -> None:
    counting = CountingEmbedder()
    memory = VectorMemory(counting)
    one, two = await asyncio.gather(
        memory.embed_passages(["a", "b", "a"]), memory.embed_passages(["b"])
    )
    assert counting.seen == ["a", "b"]
    assert np.array_equal(one[1], two[0])


async def test_a_query_is_not_taken_for_a_passage() -> None:
    counting = CountingEmbedder()
    memory = VectorMemory(counting)
    await memory.embed_queries(["a"])
    await memory.embed_passages(["a"])
    assert counting.seen == ["a", "a"]


async def test_a_failed_call_is_tried_anew() -> None:
    memory = VectorMemory(CountingEmbedder(failures=1))
    with pytest.raises(ProviderUnreachable):
        await memory.embed_passages(["a"])
    assert (await memory.embed_passages(["a"])).shape == (1, 384)


async def test_the_text_asked_for_longest_ago_is_forgotten() -> None:
    counting = CountingEmbedder()
    memory = VectorMemory(counting, capacity=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        await memory.embed_passages([text])
    assert counting.seen == ["a", "b", "c", "b"]
