"""A model server that answers so many calls and lets all others wait: a test decides how many.

Each reply carries the number of its call in blanks that JSON ignores, so that the lab's store
tells which calls were committed.
"""

import asyncio
import json
import threading
import zlib
from itertools import count
from math import inf
from pathlib import Path
from typing import Any

from starlette.responses import JSONResponse, Response

from tests.support.openai_server import ModelServer
from tests.support.roles import Call, Handler, read

BRIEFLY = "Answer as briefly as the question allows"
"""What the incumbent's prompt says, by its verbosity."""

BRIEF_TAKES_S = 0.15
"""What is better is quicker as well, by more than a process that starts can blur: the rule on
latency is by the clock, and must not decide otherwise from run to run."""

_TO_BLANKS = str.maketrans("01", "\n\t")
_FROM_BLANKS = str.maketrans("\n\t", "01")


class RationedServer(ModelServer):
    """The model server with a ration of answers; until one is set it answers all."""

    def __init__(self, log: Path, handlers: dict[str, Handler] | None = None) -> None:
        super().__init__(log, handlers={"answer": read_with_care, **(handlers or {})})
        self._ration = _Ration()
        self._numbers = count(1)
        self._loop: asyncio.AbstractEventLoop | None = None

    def ration(self, answers: float = inf) -> threading.Event:
        """Answer so many calls from now on; give what is set when they are used up.

        Whoever still waits is of a former life: these calls are let go.
        """
        former, self._ration = self._ration, _Ration(answers)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(former.over.set)
        return self._ration.used_up

    async def _chat(self, body: dict[str, Any]) -> Response:
        self._loop = asyncio.get_running_loop()
        number = next(self._numbers)
        await self._ration.take()
        if any(BRIEFLY in message["content"] for message in body["messages"]):
            await asyncio.sleep(BRIEF_TAKES_S)
        return _numbered(await super()._chat(body), number)


class _Ration:
    def __init__(self, answers: float = inf) -> None:
        self._left = answers
        self.over = asyncio.Event()
        self.used_up = threading.Event()

    async def take(self) -> None:
        if self._left < 1:
            await self.over.wait()
        self._left -= 1
        if self._left < 1:
            self.used_up.set()


def _numbered(reply: Response, number: int) -> Response:
    content = json.loads(bytes(reply.body))
    content["choices"][0]["message"]["content"] += f"{number:b}".translate(_TO_BLANKS)
    return JSONResponse(content)


def number_of(text: str) -> int:
    """Read which call a reply was to."""
    return int(text[len(text.rstrip()) :].translate(_FROM_BLANKS), 2)


def read_with_care(call: Call) -> str:
    """Answer most questions in their own words, but where the prompt asks to be brief."""
    said = json.loads(read(call))
    asked = call.user.rpartition("Question:")[2].strip()
    if BRIEFLY not in call.text and zlib.crc32(asked.encode()) % 3:
        said["answer"] = f"{asked} {said['answer']}"
    return json.dumps(said)
