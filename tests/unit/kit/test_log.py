"""A log that cannot be written stops nothing that it tells of."""

import io
import sys
from collections.abc import Iterator

import pytest
import stamina
import structlog

from kit.chat import ChatRequest, Message
from kit.errors import ProviderUnreachable
from kit.fakes import ScriptedChat
from kit.log import configure_logging
from kit.retry import Retrying


class FullDisk(io.StringIO):
    def write(self, line: str) -> int:
        raise OSError(28, "No space left on device")


class ClosedPipe(io.StringIO):
    def write(self, line: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


class Closed(io.StringIO):
    def write(self, line: str) -> int:
        raise ValueError("I/O operation on closed file")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    stderr = sys.stderr
    yield
    sys.stderr = stderr
    structlog.reset_defaults()
    stamina.instrumentation.set_on_retry_hooks(None)


@pytest.mark.parametrize("stream", [FullDisk, ClosedPipe, Closed])
async def test_a_retry_that_cannot_be_logged_still_gets_its_reply(
    stream: type[io.StringIO],
) -> None:
    chat = ScriptedChat([ProviderUnreachable("gone"), "well"])
    sys.stderr = stream()
    configure_logging()
    reply = await Retrying(chat, first_wait_s=0.001).chat(ChatRequest((Message("user", "?"),), 9))
    assert reply.text == "well"


def test_what_can_be_written_is_written() -> None:
    sys.stderr = io.StringIO()
    configure_logging()
    structlog.get_logger().warning("trying again", why="busy")
    assert '"event": "trying again"' in sys.stderr.getvalue()
