"""The same walk where every role is played by a model behind an OpenAI-compatible endpoint.

The models are planted: a reader says how many fragments it was given, and the judge likes many.
So there is something to find, and a cycle that works has to find it.
"""

import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from admin_person import Admin, set_up
from openai import AsyncOpenAI
from playwright.async_api import Browser, expect

from tests.support.lab_process import RunningLab, running_lab, short_folder
from tests.support.openai_server import ModelServer
from tests.support.roles import MISSING, Call, Handler, fill, read

MODEL = "planted-model"
ROLES = ("RAG_POSTPROCESS", "JUDGE", "MUTATOR", "ROUTER", "EMBEDDING")
QUESTION = "How long is the one-time link for the first admin valid?"


def count_fragments(call: Call) -> str:
    """Answer as the test server's reader does, and say how many fragments there were."""
    answer = json.loads(read(call))
    count = len(re.findall(r"(?m)^\s*\[\d+\]", call.user))
    return json.dumps({**answer, "answer": f"{answer['answer']} Read {count} fragments."})


def like_many(call: Call) -> str:
    """Give a point for each fragment that was read, ten at the most."""
    counts = [int(found) for found in re.findall(r"Read (\d+) fragments", call.user)]
    points = min(10, max(counts, default=0))

    def hint(_key: str, schema: dict[str, object]) -> object:
        return points if schema.get("type") in ("integer", "number") else MISSING

    return fill(call, hint)


PLANTED: dict[str, Handler] = {"answer": count_fragments, "verdict": like_many}


@dataclass(frozen=True)
class Approved:
    lab: RunningLab
    admin: Admin
    genome: str


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningLab]:
    log: Path = tmp_path_factory.mktemp("models") / "calls.jsonl"
    with ModelServer(log, handlers=PLANTED) as server, short_folder() as folder:
        models = {f"GENOMA_{role}_MODEL": MODEL for role in ROLES}
        with running_lab(folder / "home", OPENAI_BASE_URL=server.url, **models) as started:
            yield started
            assert started.interrupt() == 0, started.said


@pytest.fixture(scope="module")
async def approved(lab: RunningLab, browser: Browser) -> AsyncIterator[Approved]:
    context = await browser.new_context()
    admin = await set_up(await context.new_page(), lab.url, lab.setup_link)
    await admin.watch_cycle()
    yield Approved(lab, admin, await admin.approve("It reads more fragments before it answers."))
    await context.close()


async def test_the_approved_genome_answers_and_the_page_names_the_model(approved: Approved) -> None:
    answered = await approved.admin.ask(QUESTION, "tutorial")
    assert answered["postprocess"] == approved.genome
    await expect(approved.admin.page.locator(".reading")).to_contain_text(MODEL)


async def test_the_model_is_asked_under_the_approved_genome(approved: Approved) -> None:
    lab = approved.lab
    async with AsyncOpenAI(base_url=f"{lab.url}/v1", api_key=lab.api_key) as client:
        reply = await client.chat.completions.create(
            model="genoma/tutorial", messages=[{"role": "user", "content": QUESTION}]
        )
    assert reply.model_extra is not None
    assert reply.model_extra["genoma"]["genomes"]["postprocess"] == approved.genome
    assert reply.model_extra["genoma"]["reader"] == MODEL
    read_now = re.search(r"Read (\d+) fragments", reply.choices[0].message.content or "")
    assert read_now
    assert int(read_now[1]) > 1  # the first draft reads one
