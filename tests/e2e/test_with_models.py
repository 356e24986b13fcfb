"""The same walk where every role is played by a model behind an OpenAI-compatible endpoint.

The models are planted: a reader says how it was told to mark its sources, and the judge likes
marks. So there is something to find that costs no more, and a cycle that works has to find it.
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

from tests.support.folders import short_folder
from tests.support.lab_process import RunningLab, running_lab
from tests.support.openai_server import ModelServer
from tests.support.roles import MISSING, Call, Handler, fill, read

MODEL = "planted-model"
ROLES = ("RAG_POSTPROCESS", "JUDGE", "MUTATOR", "ROUTER", "EMBEDDING")
QUESTION = "How long is the one-time link for the first admin valid?"


RULES = {"after every sentence": "each", "once after the last sentence": "last"}
POINTS = {"each": 9, "last": 7, "none": 4}


def tell_the_marks(call: Call) -> str:
    """Answer as the test server's reader does, and say how sources were to be marked."""
    answer = json.loads(read(call))
    told = next((marks for rule, marks in RULES.items() if rule in call.text), "none")
    return json.dumps({**answer, "answer": f"{answer['answer']} Marks: {told}."})


def like_marks(call: Call) -> str:
    """Give most points to the answer that was to mark every sentence."""
    told = re.findall(r"Marks: (each|last|none)", call.user)
    points = POINTS[told[-1]] if told else 0

    def hint(_key: str, schema: dict[str, object]) -> object:
        return points if schema.get("type") in ("integer", "number") else MISSING

    return fill(call, hint)


PLANTED: dict[str, Handler] = {"answer": tell_the_marks, "verdict": like_marks}


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
    yield Approved(lab, admin, await admin.approve("It marks the sources of what it says."))
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
    said = reply.choices[0].message.content or ""
    assert re.search(r"Marks: (each|last)", said), said  # the first draft marks nothing
