"""The command line from the first document to a finished cycle, as the handbook tells it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lab.database import DatabaseUrls
from models.defaults import DEFAULT_SET
from tests.support.command_line import CommandLine
from tests.support.lab_process import ROOT

COMMANDS = (
    "run", "web", "work", "ingest", "import", "ask", "cycle", "genome", "rollback", "key",
    "admin", "db",
)  # fmt: skip
DRINKS = ("tea", "coffee", "cocoa", "juice", "milk", "water")


@pytest.fixture
def genoma(tmp_path: Path, database_urls: DatabaseUrls) -> CommandLine:
    return CommandLine.of(tmp_path / "home", GENOMA_DATABASE_URL=database_urls.service)


def test_help_names_every_command_and_loads_nothing_heavy(genoma: CommandLine) -> None:
    said = genoma.must("--help")
    assert all(re.search(rf"\b{name}\b", said) for name in COMMANDS)
    probe = "import sys, lab.cli; print(sorted({'sqlalchemy', 'numpy', 'openai'} & {*sys.modules}))"
    loaded = subprocess.check_output([sys.executable, "-c", probe], cwd=ROOT, text=True)
    assert loaded.strip() == "[]"


def test_an_ingested_folder_answers_with_sources_genomes_and_the_readers_label(
    genoma: CommandLine, tmp_path: Path
) -> None:
    folder = tmp_path / "kitchen"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nGreen tea steeps for three minutes at 80 degrees.\n")
    assert "1 added, 0 changed" in genoma.must("ingest", str(folder))
    assert "0 added, 0 changed, 1 unchanged" in genoma.must("ingest", str(folder))
    said = genoma.must("ask", "How long does green tea steep?", "--profile", "kitchen")
    assert "three minutes" in said
    assert "tea.md" in said
    assert "built-in" in said
    assert all(name in said for name in DEFAULT_SET.names().values())
    assert "is gone" in genoma.must("forget", "tea.md", "--corpus", "kitchen")
    said = genoma.must("ask", "How long does green tea steep?", "--profile", "kitchen")
    assert "three minutes" not in said
    assert "'tea.md'" in genoma("forget", "tea.md", "--corpus", "kitchen").sentence


def test_a_cycle_is_run_listed_and_shown_with_its_numbers(
    genoma: CommandLine, tmp_path: Path
) -> None:
    taken = genoma.must("import", "beir", str(drinks(tmp_path)), "--corpus", "bar")
    assert "6 added" in taken
    order = ("--layer", "postprocess", "--domain", "bar", "--budget", "60", "--seed", "1")
    ran = genoma.must("cycle", "run", *order, "--max-mutations", "3")
    assert "60 judged answers pay for up to 3 candidates and no proof" in ran
    assert "of 60 judged answers" in ran
    assert "3 candidates tried on" in ran  # too few are left for a proof: nothing is put up
    cycle = ran[ran.index("Cycle ") + 6 :][:8]
    assert cycle in genoma.must("cycle", "list")
    shown = genoma.must("cycle", "show", cycle)
    assert "done" in shown
    assert DEFAULT_SET.names()["postprocess"] in shown
    assert genoma("cycle", "resume", cycle).code == 0


def test_keys_links_and_genomes_are_made_and_listed(genoma: CommandLine) -> None:
    key = genoma.must("key", "create").strip()
    assert len(key) > 30
    assert "revoked" in genoma.must("key", "revoke", key[:12])
    assert re.search(
        r"http://127\.0\.0\.1:8000/admin/setup\?token=\S{20,}\n", genoma.must("admin", "link")
    )
    listed = genoma.must("genome", "list")
    assert all(name in listed for name in DEFAULT_SET.names().values())
    assert "ready" in genoma.must("db", "check")


def drinks(tmp_path: Path) -> Path:
    """Six documents with eighteen questions, in BEIR layout."""
    folder = tmp_path / "drinks"
    (folder / "qrels").mkdir(parents=True)
    documents = [
        {"_id": d, "title": d, "text": f"{d} is served at {40 + i} degrees. A cup holds {i + 3} "
                                       f"ounces. The price of {d} is {i + 2} coins."}
        for i, d in enumerate(DRINKS)
    ]  # fmt: skip
    asked = ("How hot is {}?", "How much {} fits into a cup?", "What does {} cost?")
    queries = [
        {"_id": f"{drink}-{n}", "text": text.format(drink), "metadata": {"lang": "en"}}
        for drink in DRINKS
        for n, text in enumerate(asked)
    ]
    judged = [f"{drink}-{n}\t{drink}\t1" for drink in DRINKS for n in range(3)]
    write(folder / "corpus.jsonl", [json.dumps(d) for d in documents])
    write(folder / "queries.jsonl", [json.dumps(q) for q in queries])
    write(folder / "qrels" / "test.tsv", ["query-id\tcorpus-id\tscore", *judged])
    return folder


def write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n")
