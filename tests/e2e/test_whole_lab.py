"""From a first start to an approved genome that answers, and back: in a real browser.

Built-in parts alone, on the handbook. The tests of this module follow one another on one lab.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import httpx2
import numpy as np
import pytest
from admin_person import Admin, set_up
from openai import AsyncOpenAI
from playwright.async_api import Browser

from models.defaults import TUTORIAL_POSTPROCESS
from models.genome import genome_name
from tests.support.folders import short_folder
from tests.support.lab_process import RunningLab, running_lab

QUESTION = "How long is the one-time link for the first admin valid?"
FIRST_DRAFT = genome_name(TUTORIAL_POSTPROCESS)


@dataclass(frozen=True)
class Approved:
    """A lab whose welcome cycle has been approved."""

    lab: RunningLab
    admin: Admin
    genome: str
    waits: list[float]
    """Seconds that small requests took while the cycle ran."""


@pytest.fixture(scope="module")
def lab() -> Iterator[RunningLab]:
    with short_folder() as folder, running_lab(folder / "home") as started:
        yield started
        assert started.interrupt() == 0, started.said


@pytest.fixture(scope="module")
async def approved(lab: RunningLab, browser: Browser) -> AsyncIterator[Approved]:
    context = await browser.new_context()
    problems: list[str] = []
    page = await context.new_page()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    admin = await set_up(page, lab.url, lab.setup_link)
    waits: list[float] = []
    knocking = asyncio.create_task(knock(lab, waits))
    await admin.watch_cycle()
    knocking.cancel()
    genome = await admin.approve("The answers are better and their sources are right.")
    yield Approved(lab, admin, genome, waits)
    await context.close()
    assert problems == []


async def knock(lab: RunningLab, waits: list[float]) -> None:
    """Ask for a trivial page again and again; note how long each took."""
    async with httpx2.AsyncClient() as client:
        while True:
            started = time.perf_counter()
            assert (await client.get(f"{lab.url}/healthz")).status_code == 200
            waits.append(time.perf_counter() - started)
            await asyncio.sleep(0.05)


async def ask_api(lab: RunningLab, question: str) -> dict[str, str]:
    """Ask as a client does, through the field's own SDK; give layer -> genome that answered."""
    async with AsyncOpenAI(base_url=f"{lab.url}/v1", api_key=lab.api_key) as client:
        reply = await client.chat.completions.create(
            model="genoma/tutorial", messages=[{"role": "user", "content": question}]
        )
    assert reply.model_extra is not None
    assert "24 hours" in (reply.choices[0].message.content or "")
    assert reply.model_extra["citations"]
    genomes: dict[str, str] = reply.model_extra["genoma"]["genomes"]
    return genomes


async def test_a_cycle_runs_beside_the_web_process_and_does_not_hold_it_up(
    approved: Approved,
) -> None:
    """What a cycle held up would be slow in every window; what the machine does, in some."""
    windows = [approved.waits[i : i + 50] for i in range(0, len(approved.waits) - 50, 50)]
    assert windows
    assert min(float(np.quantile(window, 0.99)) for window in windows) < 0.1


async def test_the_approved_genome_answers_in_the_playground(approved: Approved) -> None:
    assert approved.genome != FIRST_DRAFT
    answered = await approved.admin.ask(QUESTION, "tutorial")
    assert answered["postprocess"] == approved.genome


async def test_the_approved_genome_answers_over_the_api(approved: Approved) -> None:
    assert (await ask_api(approved.lab, QUESTION))["postprocess"] == approved.genome


async def test_rolling_back_lets_the_earlier_genome_answer_again(approved: Approved) -> None:
    reason = "Back to the first draft, to compare."
    assert await approved.admin.roll_back("tutorial", "postprocess", reason) == FIRST_DRAFT
    assert (await approved.admin.ask(QUESTION, "tutorial"))["postprocess"] == FIRST_DRAFT
    assert (await ask_api(approved.lab, QUESTION))["postprocess"] == FIRST_DRAFT
