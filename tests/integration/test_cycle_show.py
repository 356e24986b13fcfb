"""What a cycle has spent, as the command line shows it."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from evolution.buying.ledgers import Line, book_lab
from kit.db import Database
from lab.database import DatabaseUrls
from models.tables import DEFAULT_TENANT
from tests.integration.admin_world import add_cycle, make_world
from tests.support.command_line import CommandLine


async def test_show_prints_what_was_spent_of_each_limit_and_what_was_lost(
    db: Database, database_urls: DatabaseUrls, tmp_path: Path
) -> None:
    world = await make_world(db)
    an_hour_ago = datetime.now(UTC) - timedelta(hours=1)
    cycle_id = await add_cycle(
        world,
        status="running",
        budget=600,
        spent=431,
        limits={"tokens": 1_000_000, "micros": 2_500_000, "seconds": 3_600},
        spent_calls=1_812,
        spent_tokens=345_120,
        spent_micros=350_000,
        ran_s=1_200.0,
        resumed_at=an_hour_ago,
        lease_until=an_hour_ago + timedelta(seconds=34),  # killed: no longer counted than that
    )
    await lose(db, cycle_id, 700)
    await lose(db, cycle_id, 534)
    genoma = CommandLine.of(tmp_path / "home", GENOMA_DATABASE_URL=database_urls.service)
    shown = await asyncio.to_thread(genoma.must, "cycle", "show", str(cycle_id)[:8])
    rows = [line.split() for line in shown.splitlines()]
    assert ["judged", "answers", "431", "600"] in rows
    assert ["model", "calls", "1,812", "–"] in rows
    assert ["tokens", "345,120", "1,000,000"] in rows
    assert ["money", "0.35", "2.5"] in rows
    assert ["wall", "time", "1,234", "s", "3,600", "s"] in rows
    assert "calls lost in flight: 2; counted as spent, with 1,234 tokens" in shown


async def lose(db: Database, cycle_id: UUID, tokens: int) -> None:
    line = Line("generation", "answer", "m", tokens, cycle_id, outcome="lost_in_flight")
    async with db.transaction(DEFAULT_TENANT) as tx:
        await book_lab(tx, DEFAULT_TENANT, line)
