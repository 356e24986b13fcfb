"""NUL, lone surrogates, emoji, Cyrillic: stored in texts, arrays and JSONB, read and diffed."""

from sqlalchemy import select

from kit.db import Database
from models.defaults import DEFAULT_GENOMES
from models.diff import changed_genes
from models.genome import dump_genome
from models.tables import DEFAULT_TENANT, CachedAnswer, Corpus, EvolutionGenome
from models.tables.base import utc_now
from models.upgrade import load_genome

UGLY = "ёлка 🙂 \ud800 x\0y كتاب"
STORED = "ёлка 🙂 ? x\u2400y كتاب"


async def test_any_text_is_stored_in_columns_arrays_and_json(db: Database) -> None:
    async with db.transaction(DEFAULT_TENANT) as tx:
        corpus = Corpus(tenant_id=DEFAULT_TENANT, name="any")
        tx.add(corpus)
        await tx.flush()
        tx.add(
            CachedAnswer(
                tenant_id=DEFAULT_TENANT, corpus_id=corpus.id, fingerprint="f", question_key="k",
                question=UGLY, history=[{"content": UGLY}], answer={"answer": UGLY},
                source_ids=[UGLY, "plain"], expires_at=utc_now(),
            )
        )  # fmt: skip
    async with db.transaction(DEFAULT_TENANT) as tx:
        row = (await tx.scalars(select(CachedAnswer))).one()
    assert row.question == STORED
    assert row.history == [{"content": STORED}]
    assert row.answer == {"answer": STORED}
    assert row.source_ids == [STORED, "plain"]


async def test_a_stored_genome_with_any_text_can_be_read_and_diffed(db: Database) -> None:
    content = dump_genome(DEFAULT_GENOMES["postprocess"])
    content["system_prompt"][0]["text"] = UGLY
    async with db.transaction() as tx:
        tx.add(EvolutionGenome(domain="d", layer="postprocess", schema_version=1, content=content,
                               content_hash="x", operator="hand", notes=UGLY))  # fmt: skip
    async with db.transaction() as tx:
        row = (await tx.scalars(select(EvolutionGenome))).one()
    assert row.notes == STORED
    [change] = changed_genes(DEFAULT_GENOMES["postprocess"], load_genome(row.content))
    assert change.after == STORED
