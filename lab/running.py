"""Running one cycle in this process, under a lease."""

import os
import socket
from uuid import UUID

from evolution.cycle import run_cycle
from evolution.lease import hold
from evolution.shapes import CycleResult
from lab.wiring import Lab, make_cycle_parts


async def run_held(lab: Lab, tenant: UUID, cycle_id: UUID) -> CycleResult:
    """Take a cycle, run it to its end, let it go. Raises what `hold` and `run_cycle` raise."""
    async with hold(lab.db, tenant, cycle_id, holder_name()) as db:
        return await run_cycle(await make_cycle_parts(lab, db, tenant, cycle_id), cycle_id)


def holder_name() -> str:
    """Name this process so that a person finds it: machine and process id."""
    return f"{socket.gethostname()}:{os.getpid()}"
