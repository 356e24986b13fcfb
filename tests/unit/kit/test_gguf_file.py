"""A file that is no model is one sentence that names it, and the process lives on."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from kit.chat import ChatRequest, Message
from kit.errors import Misconfigured, ProviderRefused
from kit.gguf_llm import GgufChat

PLAUSIBLE = struct.pack("<4sIQQ", b"GGUF", 3, 300, 20)
BODY = bytes(range(256)) * 8_000

BROKEN = {
    "empty": b"",
    "text": b"no model, only words\n" * 100_000,
    "header only": PLAUSIBLE,
    "cut in the header": PLAUSIBLE[:12],
    "version 99": struct.pack("<4sIQQ", b"GGUF", 99, 300, 20) + BODY,
    "no tensors": struct.pack("<4sIQQ", b"GGUF", 3, 0, 20) + BODY,
    "more tensors than bytes": struct.pack("<4sIQQ", b"GGUF", 3, 2**62, 20) + BODY,
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_header_is_refused_at_once(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(Misconfigured, match=r"model\.gguf"):
        GgufChat(path)


@pytest.mark.parametrize("name", ["missing.gguf", "."])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(Misconfigured, match="cannot be read"):
        GgufChat(tmp_path / name)


async def test_a_broken_body_is_refused_when_it_is_loaded(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    path = tmp_path / "model.gguf"
    path.write_bytes(PLAUSIBLE + BODY)
    model = GgufChat(path)
    with pytest.raises(Misconfigured, match=r"model\.gguf cannot be loaded"):
        await model.load()
    with pytest.raises(ProviderRefused, match=r"model\.gguf"):
        await model.chat(ChatRequest((Message("user", "?"),), 5))
    await model.close()


def test_without_the_extra_the_sentence_names_it(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(PLAUSIBLE + BODY)
    script = (
        "import asyncio, pathlib, sys\n"
        "sys.modules['xllamacpp'] = None\n"
        "from kit.gguf_llm import GgufChat\n"
        f"asyncio.run(GgufChat(pathlib.Path({str(path)!r})).load())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].startswith("kit.errors.Misconfigured: a GGUF model needs")
    assert "genoma[local]" in done.stderr
