"""`genoma run`: everything on one machine, started together and ended together."""

import asyncio
import ctypes
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn

from kit.errors import Misconfigured
from kit.log import configure_logging
from kit.settings import Settings, load_settings
from lab.firststart import FirstStart, prepare
from lab.jobs import make_jobs
from lab.terminal import bars, err, out
from lab.web import make_web
from lab.wiring import Lab, open_lab

RESTART_AFTER_S = 2.0
WORKER_MAY_TAKE_S = 3.0
"""To stop; a thread that computes vectors cannot be interrupted, and nothing is lost with it."""
_PR_SET_PDEATHSIG = 1


class _Server(uvicorn.Server):
    """Stops when told to, and lets the lab tidy up.

    uvicorn's own way raises the signal once more when it has stopped: that would end the process
    before worker and database are.
    """

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def supervise() -> None:
    """Open the lab, put the first things in place, and serve until told to stop."""
    settings = load_settings()
    check_port(settings)
    with err.status("Starting the database …"):
        lab = await asyncio.to_thread(open_lab, settings)
    jobs = make_jobs(lab)
    with bars() as report:
        async with jobs.open_async():
            first = await prepare(lab, jobs, report)
    _welcome(settings, first)
    worker = asyncio.create_task(_keep_worker())
    try:
        await serve(lab)
    finally:
        worker.cancel()
        with suppress(asyncio.CancelledError):
            await worker
        if lab.urls.embedded:
            lab.urls.embedded.stop()


async def serve(lab: Lab) -> None:
    """Serve the web process. Raises Misconfigured where the port is taken."""
    configure_logging()
    check_port(lab.settings)
    config = uvicorn.Config(
        make_web(lab),
        host=lab.settings.host,
        port=lab.settings.port,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    server = _Server(config)
    loop = asyncio.get_running_loop()
    # The other ways to be told to end are made a SIGINT by lab.terminal.
    loop.add_signal_handler(signal.SIGINT, server.handle_exit, signal.SIGINT, None)
    await server.serve()


def check_port(settings: Settings) -> None:
    """Raise Misconfigured where another program listens on the port already."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            raise Misconfigured(
                f"cannot listen on {settings.host}:{settings.port}: {error.strerror}; "
                "set GENOMA_PORT to another port"
            ) from error


def die_with_parent() -> None:
    """Ask the kernel to end this process when the one that started it dies, however it dies."""
    parent = os.environ.get("GENOMA_SUPERVISED")
    if sys.platform == "linux" and parent:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != int(parent):  # it died before the kernel was asked
            sys.exit(1)


async def _keep_worker() -> None:
    """Keep one worker process alive; end it when cancelled."""
    while True:
        environment = {**os.environ, "GENOMA_SUPERVISED": str(os.getpid())}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "lab", "work", env=environment
        )
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            process.terminate()
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), WORKER_MAY_TAKE_S)
            if process.returncode is None:
                process.kill()
            raise
        await asyncio.sleep(RESTART_AFTER_S)  # the lab may be ending, and its worker with it
        err.print(f"the worker ended with code {code}; starting another", style="yellow")


def _welcome(settings: Settings, first: FirstStart) -> None:
    """Say where the lab is. A link stands on a line of its own that no frame cuts."""
    base = f"http://{settings.host}:{settings.port}"
    out.print(f"\n[bold cyan]Genoma[/] serves on [bold]{base}/[/]")
    if first.setup_link:
        out.print("Create the first admin, once, within 24 hours:\n")
        out.print(f"  [bold cyan]{base}{first.setup_link}[/]\n", soft_wrap=True)
    out.print(f"[dim]API:[/] {base}/v1  [dim]model:[/] genoma  [dim]key in:[/] {first.key_file}")
    out.print("[dim]Ctrl-C ends it; nothing is lost.[/]\n")
