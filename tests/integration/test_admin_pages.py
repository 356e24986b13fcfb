"""The pages show what the store holds, and every button does what it says."""

import re
from datetime import UTC, datetime
from uuid import uuid4

import httpx2
import pytest
from admin_world import (
    NAME,
    add_approval,
    add_cycle,
    add_running_cycle,
    make_world,
    post,
    signed_in,
)
from sqlalchemy import select, update

from admin_ui.reading.genomes import load_serving
from evolution.genomes import load_incumbent
from evolution.shapes import Trade
from kit.db import Database
from models.defaults import DEFAULT_GENOMES, TUTORIAL_POSTPROCESS
from models.genome import genome_name
from models.tables import DEFAULT_TENANT, Approval, AuditLog, Cycle

REASON = "Answers are shorter and still cited."


async def rows_of(browser: httpx2.AsyncClient) -> list[str]:
    """Walk the list of cycles from its first page to its last; give the links in order."""
    found: list[str] = []
    path: str | None = "/admin/cycles"
    while path:
        page = (await browser.get(path)).text
        found += [part.split('"', 1)[0] for part in page.split('href="/admin/cycles/')[1:]]
        older = re.search(r'href="(/admin/cycles\?after=[^"]+)" rel="next"', page)
        path = older[1] if older else None
    return found


async def test_cycles_made_in_one_instant_appear_once_each_while_more_arrive(db: Database) -> None:
    world = await make_world(db)
    instant = datetime(2026, 11, 1, tzinfo=UTC)
    made = {str(await add_cycle(world, created_at=instant)) for _ in range(45)}
    async with signed_in(world) as browser:
        first = (await browser.get("/admin/cycles")).text
        assert "45 cycles in all" in first
        await add_cycle(world, created_at=datetime(2026, 11, 2, tzinfo=UTC))
        found = await rows_of(browser)
    assert len(found) == 46
    assert made < set(found)


async def test_starting_a_cycle_leads_to_its_page_and_is_audited(db: Database) -> None:
    world = await make_world(db)
    async with signed_in(world) as browser:
        fields = {"layer": "routing", "domain": "default", "budget": "", "max_mutations": "5"}
        done = await post(browser, "/admin/cycles", "/admin/cycles", **fields)
        assert done.status_code == 303
        assert (await browser.get(done.headers["location"])).status_code == 200
    assert world.started == [("routing", "default", None, 5, NAME)]
    async with db.transaction() as tx:
        assert NAME in await tx.scalars(select(AuditLog.actor).filter_by(action="start cycle"))


@pytest.mark.parametrize(
    ("budget", "message"),
    [("100", "12 + 3 x 12 + 2 x 120 = 288"), ("many", "whole number"), ("-3", "whole number")],
)
async def test_a_cycle_that_cannot_be_is_refused_beside_the_form(
    db: Database, budget: str, message: str
) -> None:
    world = await make_world(db)
    async with signed_in(world) as browser:
        fields = {"layer": "routing", "domain": "tutorial", "budget": budget}
        page = await post(browser, "/admin/cycles", "/admin/cycles", **fields)
    assert page.status_code == 422
    assert message in page.text
    assert f'value="{budget}"' in page.text
    assert "<option selected>routing" in page.text
    assert world.started == []


async def test_a_poll_gets_the_living_part_once_and_then_nothing_until_it_changes(
    db: Database,
) -> None:
    world = await make_world(db)
    cycle_id = await add_running_cycle(world)
    async with signed_in(world) as browser:
        page = (await browser.get(f"/admin/cycles/{cycle_id}")).text
        assert "Searching: 24 of about 300 answers." in page
        assert 'hx-trigger="every 2s"' in page and "chunk_count" in page
        poll = page.split('hx-get="', 1)[1].split('"', 1)[0].replace("&amp;", "&")
        htmx = {"hx-request": "true"}
        assert (await browser.get(poll, headers=htmx)).status_code == 204
        async with db.transaction(DEFAULT_TENANT) as tx:
            await tx.execute(update(Cycle).filter_by(id=cycle_id).values(status="done", spent=30))
        part = await browser.get(poll, headers=htmx)
    assert part.status_code == 200
    assert part.text.strip().startswith('<div id="live"') and "<html" not in part.text
    assert "hx-trigger" not in part.text


async def test_a_failed_cycle_says_why(db: Database) -> None:
    world = await make_world(db)
    cycle_id = await add_cycle(world, status="failed", error="the judge answered 500")
    async with signed_in(world) as browser:
        page = (await browser.get(f"/admin/cycles/{cycle_id}")).text
    assert "The cycle failed." in page and "The judge answered 500." in page


@pytest.mark.parametrize("path", ["/admin/cycles", "/admin/approvals"])
async def test_an_unknown_id_and_no_id_at_all_are_not_found(db: Database, path: str) -> None:
    world = await make_world(db)
    async with signed_in(world) as browser:
        for name in (str(uuid4()), "x"):
            assert (await browser.get(f"{path}/{name}")).status_code == 404


async def test_an_approval_shows_verdict_genes_and_the_worst_question_first(db: Database) -> None:
    world = await make_world(db)
    approval_id = await add_approval(world)
    async with signed_in(world) as browser:
        page = (await browser.get(f"/admin/approvals/{approval_id}")).text
        home = (await browser.get("/admin")).text
    assert "BETTER</span> by +0.62 of 10" in page
    assert "interval +0.21 … +1.04" in page and "120 fresh questions" in page
    assert "<del>1</del>" in page and "<ins>4</ins>" in page
    assert page.index("What lost?") < page.index("What gained?")
    assert "old reasoning on What lost?" in page and "new answer to: What lost?" in page
    assert "&lt;b&gt;&amp;" in page and "<b>&" not in page
    assert "One genome waits for your decision" in home


async def test_an_approval_of_a_cheaper_genome_says_by_how_much_and_what_it_may_lose(
    db: Database,
) -> None:
    world = await make_world(db)
    trade = Trade(unit="micros", incumbent_cost=900, candidate_cost=630,
                  incumbent_p95_ms=4_000, candidate_p95_ms=3_800)  # fmt: skip
    approval_id = await add_approval(
        world, decision="cheaper", claim="cheaper", margin=0.3, trade=trade
    )
    async with signed_in(world) as browser:
        page = (await browser.get(f"/admin/approvals/{approval_id}")).text
    assert "CHEAPER</span> by 30 %, not worse by 0.3 of 10" in page
    assert "cost -30 %" in page and "p95 latency -5 %" in page


async def test_the_gain_of_the_search_stands_beside_that_of_the_proof(db: Database) -> None:
    world = await make_world(db)
    approval_id = await add_approval(world)
    async with db.transaction(DEFAULT_TENANT) as tx:
        cycle_id = (await tx.scalars(select(Approval.cycle_id))).one()
    async with signed_in(world) as browser:
        for path in (f"/admin/approvals/{approval_id}", f"/admin/cycles/{cycle_id}"):
            page = (await browser.get(path)).text
            assert "gain in the search +0.90" in page
            assert "gain in the proof +0.62" in page


async def test_approving_serves_the_genome_and_shows_who_and_why(db: Database) -> None:
    world = await make_world(db)
    approval_id = await add_approval(world)
    path = f"/admin/approvals/{approval_id}"
    async with signed_in(world) as browser:
        done = await post(browser, path, f"{path}/approve", reason=REASON)
        assert (done.status_code, done.headers["location"]) == (303, path)
        page = (await browser.get(path)).text
        genomes = (await browser.get("/admin/genomes")).text
    assert "Approved" in page and REASON in page and NAME in page
    assert 'name="reason"' not in page
    async with db.transaction() as tx:
        active = await load_incumbent(tx, "tutorial", "postprocess")
    assert f"g-{active.content_hash[:10]}" in genomes
    assert "Roll back to <span" in genomes and REASON in genomes


async def test_a_short_reason_is_refused_and_kept(db: Database) -> None:
    world = await make_world(db)
    path = f"/admin/approvals/{await add_approval(world)}"
    async with signed_in(world) as browser:
        page = await post(browser, path, f"{path}/reject", reason="too bad")
    assert page.status_code == 422
    assert "Give a reason of at least 10 characters." in page.text
    assert ">too bad</textarea>" in page.text


async def test_an_approval_whose_ground_moved_is_void_and_keeps_the_reason(db: Database) -> None:
    world = await make_world(db)
    path = f"/admin/approvals/{await add_approval(world)}"
    async with signed_in(world) as browser:
        world.models["judge"] = "another judge"
        page = await post(browser, path, f"{path}/approve", reason=REASON)
        listed = (await browser.get("/admin/approvals")).text
    assert page.status_code == 409
    assert "Nothing was decided." in page.text and "the judge is now another judge" in page.text
    assert REASON in page.text
    assert "Void: the judge is now another judge" in listed


async def test_deciding_twice_shows_what_was_decided_first(db: Database) -> None:
    world = await make_world(db)
    path = f"/admin/approvals/{await add_approval(world)}"
    async with signed_in(world) as browser:
        await post(browser, path, f"{path}/reject", reason=REASON)
        page = await post(browser, path, f"{path}/approve", reason="I did not see that one.")
    assert page.status_code == 409
    assert f"rejected by {NAME}: {REASON}" in page.text


async def test_rolling_back_brings_the_earlier_genome_and_names_it_before(db: Database) -> None:
    world = await make_world(db)
    path = f"/admin/approvals/{await add_approval(world)}"
    fields = {"domain": "tutorial", "layer": "postprocess"}
    async with signed_in(world) as browser:
        await post(browser, path, f"{path}/approve", reason=REASON)
        short = await post(
            browser, "/admin/genomes", "/admin/genomes/rollback", reason="bad", **fields
        )
        assert short.status_code == 422 and ">bad</textarea>" in short.text
        done = await post(
            browser, "/admin/genomes", "/admin/genomes/rollback", reason="Citations went.", **fields
        )
        assert done.headers["location"] == "/admin/genomes#tutorial-postprocess"
        again = await post(
            browser, "/admin/genomes", "/admin/genomes/rollback", reason="And once more.", **fields
        )
    assert again.status_code == 409
    async with db.transaction(DEFAULT_TENANT) as tx:
        serving = {(s.domain, s.layer): s for s in await load_serving(tx)}
    now = serving[("tutorial", "postprocess")]
    assert now.name == genome_name(TUTORIAL_POSTPROCESS)
    assert [line.action for line in now.history] == ["rollback", "approve", "seed"]


async def test_a_domain_without_a_genome_shows_what_it_falls_back_to(db: Database) -> None:
    world = await make_world(db)
    async with db.transaction(DEFAULT_TENANT) as tx:
        serving = {(s.domain, s.layer): s for s in await load_serving(tx)}
    place = serving[("tutorial", "routing")]
    assert (place.source, place.name) == ("default", genome_name(DEFAULT_GENOMES["routing"]))
    async with signed_in(world) as browser:
        assert "from default" in (await browser.get("/admin")).text


async def test_an_answer_links_its_citations_and_names_its_genomes(db: Database) -> None:
    world = await make_world(db)
    async with signed_in(world) as browser:
        fields = {"question": "How is a roll-back done?", "profile": "default"}
        page = (await post(browser, "/admin/playground", "/admin/playground", **fields)).text
    assert 'href="#s-1"' in page and 'id="s-1"' in page
    assert "The fragment &lt;script&gt;says&lt;/script&gt; so." in page
    assert all(genome_name(genome) in page for genome in DEFAULT_GENOMES.values())
    assert "built-in" in page and "12.5 ms" in page


@pytest.mark.parametrize(
    ("question", "status", "message"),
    [("   ", 422, "Write a question."), ("x" * 100_000, 413, "at most 8,000 characters")],
)
async def test_a_question_of_no_or_too_many_characters_is_refused(
    db: Database, question: str, status: int, message: str
) -> None:
    world = await make_world(db)
    async with signed_in(world) as browser:
        fields = {"question": question, "profile": "default"}
        page = await post(browser, "/admin/playground", "/admin/playground", **fields)
    assert page.status_code == status
    assert message in page.text


async def test_a_cycle_is_paused_resumed_and_cancelled_on_its_page(db: Database) -> None:
    world = await make_world(db)
    cycle_id = await add_running_cycle(world)
    path = f"/admin/cycles/{cycle_id}"
    async with signed_in(world) as browser:
        assert "/pause" in (await browser.get(path)).text
        assert (await post(browser, path, f"{path}/pause")).status_code == 303
        page = (await browser.get(path)).text
        assert "/resume" in page and "/pause" not in page and "paused" in page
        assert (await post(browser, path, f"{path}/resume")).status_code == 303
        assert (await post(browser, path, f"{path}/cancel")).status_code == 303
        page = (await browser.get(path)).text
        assert "Cancel</button>" not in page and "cancelled" in page
        refused = await post(browser, path, f"{path}/resume")
    assert refused.status_code == 409
    assert "does not go on" in refused.text
    async with db.transaction() as tx:
        done = list(await tx.scalars(select(AuditLog.action).order_by(AuditLog.created_at)))
    assert done[-3:] == ["pause cycle", "resume cycle", "cancel cycle"]


async def test_a_cycles_page_shows_what_it_has_spent_of_each_limit(db: Database) -> None:
    world = await make_world(db)
    cycle_id = await add_cycle(
        world,
        limits={"tokens": 1_000_000, "micros": 2_500_000},
        spent_calls=812,
        spent_tokens=345_120,
        spent_micros=350_000,
    )
    async with signed_in(world) as browser:
        page = (await browser.get(f"/admin/cycles/{cycle_id}")).text
    assert "<dt>Model calls</dt><dd>812</dd>" in page
    assert "<dt>Tokens</dt><dd>345,120<small> of 1,000,000</small></dd>" in page
    assert "<dt>Money</dt><dd>0.35<small> of 2.5</small></dd>" in page
    assert "Wall time" not in page
