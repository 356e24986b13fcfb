"""Structured logs on standard error: readable in a terminal, JSON where nobody watches."""

import logging
import sys
from contextlib import suppress
from typing import TextIO

import stamina
import structlog


def configure_logging(level: int = logging.INFO) -> None:
    """Set structlog up once, at the start of a process."""
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer()
        if sys.stderr.isatty()
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(_Forgiving(sys.stderr)),  # type: ignore[arg-type]
    )
    stamina.instrumentation.set_on_retry_hooks([_announce_retry])


class _Forgiving:
    """A stream whose failures stop nobody: a full disk or a closed pipe costs lines, not work."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, line: str) -> None:
        with suppress(OSError, ValueError):  # ValueError: the stream is closed
            self._stream.write(line)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()


def _announce_retry(details: stamina.instrumentation.RetryDetails) -> None:
    """Say in words that something is tried again, and when."""
    structlog.get_logger().warning(
        "trying again", why=str(details.caused_by), in_s=round(details.wait_for, 1)
    )
