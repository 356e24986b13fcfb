"""Whatever is wrong with what the command line is given: one sentence, exit 1, nothing written."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from kit.db import psycopg_url
from lab.database import DatabaseUrls
from tests.support.command_line import CommandLine
from tests.support.openai_server import ModelServer


@pytest.fixture
def genoma(tmp_path: Path, database_urls: DatabaseUrls) -> CommandLine:
    """A terminal on a migrated, empty store."""
    return CommandLine.of(tmp_path / "home", GENOMA_DATABASE_URL=database_urls.service)


@pytest.fixture
def bare(tmp_path: Path) -> CommandLine:
    """A terminal of a fresh user."""
    return CommandLine.of(tmp_path / "home")


@contextmanager
def talking(first_words: bytes) -> Iterator[int]:
    """A server of some other protocol; give its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(64)
                    connection.sendall(first_words)

        threading.Thread(target=greet, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def corpora(urls: DatabaseUrls) -> int:
    """Count documents and corpora in the store, of every tenant."""
    assert urls.owner is not None
    engine = create_engine(psycopg_url(urls.owner))
    with engine.connect() as connection:
        count: int = connection.scalar(
            text("select (select count(*) from corpus) + (select count(*) from document)")
        )
    engine.dispose()
    return count


@pytest.mark.parametrize("words", [(), ("ask",), ("cycle", "run"), ("dance",), ("--colour",)])
def test_wrong_usage_ends_with_2(bare: CommandLine, words: tuple[str, ...]) -> None:
    done = bare(*words)
    assert done.code == 2
    assert "Usage" in done.out + done.err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GENOMA_PORT", "many"),
        ("GENOMA_PORT", "70000"),
        ("GENOMA_NIGHTLY", "25:00"),
        ("GENOMA_TIMEZONE", "Mars/Olympus"),
        ("GENOMA_THREADS", "0"),
    ],
)
def test_a_setting_that_cannot_be_is_named(bare: CommandLine, name: str, value: str) -> None:
    assert name in bare.with_settings(**{name: value})("db", "check").sentence


def test_a_database_that_does_not_listen_is_named_without_its_password(bare: CommandLine) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        url = f"postgresql://app:hush@127.0.0.1:{port}/genoma"
        sentence = bare.with_settings(GENOMA_DATABASE_URL=url)("db", "check").sentence
    assert f"127.0.0.1:{port}" in sentence
    assert "hush" not in sentence


def test_a_server_that_is_no_postgres_is_refused(bare: CommandLine) -> None:
    with talking(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        url = f"postgresql://app@127.0.0.1:{port}/genoma"
        sentence = bare.with_settings(GENOMA_DATABASE_URL=url)("db", "check").sentence
    assert f"127.0.0.1:{port}" in sentence


def test_a_superuser_is_refused_as_the_services_login(
    bare: CommandLine, database_urls: DatabaseUrls
) -> None:
    assert database_urls.owner is not None
    terminal = bare.with_settings(GENOMA_DATABASE_URL=database_urls.owner)
    assert "row-level security" in terminal("ask", "Who may see this?").sentence


@pytest.mark.parametrize("command", ["run", "web"])
def test_a_port_in_use_is_named(genoma: CommandLine, command: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        sentence = genoma.with_settings(GENOMA_PORT=port)(command).sentence
    assert f"127.0.0.1:{port}" in sentence
    assert "GENOMA_PORT" in sentence


def test_a_home_that_cannot_be_made_is_named(bare: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    home = tmp_path / "file" / "home"
    assert str(home) in bare.with_settings(GENOMA_HOME=str(home))("db", "check").sentence


def test_a_home_without_permission_to_write_is_named(bare: CommandLine) -> None:
    home = "/sys/genoma"  # where not even root may make a folder
    sentence = bare.with_settings(GENOMA_HOME=home)("db", "check").sentence
    assert "no permission" in sentence
    assert home in sentence


@pytest.mark.parametrize(
    ("content", "reason"), [(b"", "GGUF"), (b"GGUF\x03\0\0\0", "GGUF"), (b"PK\x03\x04zip", "GGUF")]
)
def test_a_broken_gguf_file_is_named(
    genoma: CommandLine, tmp_path: Path, content: bytes, reason: str
) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(content)
    settings = {"GENOMA_GGUF": str(file), "GENOMA_RAG_POSTPROCESS_MODEL": "gguf"}
    sentence = genoma.with_settings(**settings)("ask", "Is it broken?").sentence
    assert "broken.gguf" in sentence
    assert reason in sentence


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"GENOMA_JUDGE_MODEL": "gguf"}, "GENOMA_GGUF"),
        ({"GENOMA_JUDGE_MODEL": "gguf", "GENOMA_GGUF": "no/such.gguf"}, "no/such.gguf"),
        ({"GENOMA_JUDGE_MODEL": "some-model"}, "OPENAI_API_KEY"),
        ({"GENOMA_EMBEDDING_MODEL": "some-model"}, "OPENAI_API_KEY"),
    ],
)
def test_a_model_without_what_it_needs_is_refused(
    genoma: CommandLine, settings: dict[str, str], named: str
) -> None:
    assert named in genoma.with_settings(**settings)("ask", "Who judges?").sentence


def test_an_endpoint_that_fails_is_named_and_its_key_is_not(
    genoma: CommandLine, tmp_path: Path
) -> None:
    genoma.must("ingest", str(a_folder(tmp_path)))
    with ModelServer(tmp_path / "calls.jsonl") as server:
        endpoint = genoma.with_settings(OPENAI_BASE_URL=server.url, OPENAI_API_KEY="hush")
        for model in ("refused", "html"):  # one for good; one asked again, with waits
            asked = endpoint.with_settings(GENOMA_RAG_POSTPROCESS_MODEL=model)
            sentence = asked("ask", "How is tea made?", "--profile", "docs").sentence
            assert f"127.0.0.1:{server.port}" in sentence
            assert "hush" not in sentence


def test_a_question_of_no_or_too_many_characters_is_refused(
    genoma: CommandLine, tmp_path: Path
) -> None:
    genoma.must("ingest", str(a_folder(tmp_path)))
    for question, words in (("", "empty"), ("   ", "empty"), ("why " * 25_000, "8,000")):
        assert words in genoma("ask", question, "--profile", "docs").sentence


@pytest.mark.parametrize("kind", [("ingest",), ("import", "beir")])
def test_a_folder_that_is_not_there_or_empty_leaves_no_corpus(
    genoma: CommandLine, database_urls: DatabaseUrls, tmp_path: Path, kind: tuple[str, ...]
) -> None:
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "nowhere", tmp_path / "empty"):
        assert str(folder) in genoma(*kind, str(folder)).sentence
    assert corpora(database_urls) == 0


def test_files_that_are_no_text_are_named_and_the_rest_is_taken(
    genoma: CommandLine, tmp_path: Path
) -> None:
    folder = a_folder(tmp_path)
    (folder / "empty.md").write_bytes(b"")
    (folder / "noise.txt").write_bytes(bytes(range(256)) * 8)
    (folder / "nul.md").write_bytes(b"# Nul\n\nA NUL \0 stands here.\n")
    said = genoma.must("ingest", str(folder))
    assert "skipped empty.md" in said
    assert "skipped noise.txt" in said
    assert "nul.md: " in said
    assert "2 added" in said


@pytest.mark.parametrize(
    ("file", "line", "named"),
    [
        ("corpus.jsonl", "{not json", "corpus.jsonl"),
        ("queries.jsonl", "[]", "queries.jsonl"),
        ("qrels/test.tsv", "q1\tunknown\t1", "unknown"),
    ],
)
def test_a_beir_folder_with_one_bad_line_leaves_nothing(
    genoma: CommandLine,
    database_urls: DatabaseUrls,
    tmp_path: Path,
    file: str,
    line: str,
    named: str,
) -> None:
    folder = a_beir_folder(tmp_path)
    with (folder / file).open("a") as broken:
        broken.write(line + "\n")
    assert named in genoma("import", "beir", str(folder)).sentence
    assert corpora(database_urls) == 0


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("cycle", "run", "--layer", "seasoning"), "seasoning"),
        (("cycle", "run", "--layer", "routing", "--domain", "nowhere"), "nowhere"),
        (("cycle", "show", "0000"), "0000"),
        (("cycle", "resume", "not-an-id"), "not-an-id"),
        (("rollback", "--layer", "routing", "--reason", "short"), "10"),
        (("rollback", "--layer", "routing", "--reason", "It got worse."), "default"),
        (("rollback", "--layer", "seasoning", "--reason", "It got worse."), "seasoning"),
        (("key", "create", "--tenant", "nobody"), "nobody"),
        (("key", "revoke", "gen-none"), "gen-none"),
        (("ask", "Who?", "--profile", "nowhere"), "nowhere"),
    ],
)
def test_what_is_not_there_is_named(
    genoma: CommandLine, words: tuple[str, ...], named: str
) -> None:
    assert named in genoma(*words).sentence


def a_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "tea.md").write_text(
        "# Tea\n\nTea is made with hot water and steeps three minutes.\n"
    )
    return folder


def a_beir_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "set"
    (folder / "qrels").mkdir(parents=True)
    document = {"_id": "d1", "title": "Tea", "text": "Tea steeps for three minutes."}
    query = {"_id": "q1", "text": "How long does tea steep?", "metadata": {}}
    (folder / "corpus.jsonl").write_text(json.dumps(document) + "\n")
    (folder / "queries.jsonl").write_text(json.dumps(query) + "\n")
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    return folder
