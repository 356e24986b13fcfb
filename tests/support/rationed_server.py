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
from tests.support.roles import Call, read

BRIEFLY = "Answer as briefly as the question allows"
"""What the incumbent's prompt says, by its verbosity."""

INCUMBENT = (BRIEFLY, "Begin with the answer itself", "After each statement put the number")
"""What all stands in the prompts of the incumbent, and of what differs from it little."""

_TO_BLANKS = str.maketrans("01", "\n\t")
_FROM_BLANKS = str.maketrans("\n\t", "01")


class RationedServer(ModelServer):
    """The model server with a ration of answers; until one is set it answers all.

    Under the incumbent's prompt an answer takes `incumbent_s`. The rule on latency goes by the
    clock, which kills and a busy machine bring out of step: with a second or two it decides the
    same in all runs, because what is better is quicker as well.
    """

    def __init__(self, log: Path, incumbent_s: float = 0.0) -> None:
        super().__init__(log, handlers={"answer": read_with_care})
        self._incumbent_s = incumbent_s
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
        ration = self._ration
        await ration.take()
        prompt = "".join(message["content"] for message in body["messages"])
        if all(text in prompt for text in INCUMBENT):
            await asyncio.sleep(self._incumbent_s)
        reply = await super()._chat(body)
        ration.note_answer()
        return _numbered(reply, number)


class _Ration:
    def __init__(self, answers: float = inf) -> None:
        self._to_begin = self._to_end = answers
        self.over = asyncio.Event()
        self.used_up = threading.Event()

    async def take(self) -> None:
        self._to_begin -= 1
        if self._to_begin < 0:
            await self.over.wait()

    def note_answer(self) -> None:
        self._to_end -= 1
        if self._to_end < 1:
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
