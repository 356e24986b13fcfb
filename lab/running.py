"""Running one cycle in this process, under a lease; others may do units of it."""

import os
import socket
from dataclasses import replace
from uuid import UUID

from procrastinate import App

from evolution.buying.hands import Desks, units_at_once
from evolution.cycle import run_cycle
from evolution.lease import hold
from evolution.shapes import CycleResult
from lab.units import QueuedHands
from lab.wiring import Lab, make_cycle_parts


async def run_held(lab: Lab, jobs: App, desks: Desks, tenant: UUID, cycle_id: UUID) -> CycleResult:
    """Take a cycle, run it to its end, let it go. Raises what `hold` and `run_cycle` raise."""
    async with hold(lab.db, tenant, cycle_id, holder_name()) as db:
        parts = await make_cycle_parts(lab, db, tenant, cycle_id)
        here = units_at_once(parts.concurrency)
        hands = QueuedHands(jobs, desks, db, tenant, cycle_id, here)
        return await run_cycle(replace(parts, hands=hands), cycle_id)


def holder_name() -> str:
    """Name this process so that a person finds it: machine and process id."""
    return f"{socket.gethostname()}:{os.getpid()}"
