"""The memory of a domain in the store: gene bank, gains, evidence, refusals, ancestors."""

from dataclasses import replace
from uuid import UUID, uuid4

from sqlalchemy import select

from evolution.breeding.copying import CopyGuard, is_shared_lab, load_exam_texts
from evolution.breeding.crossover import common_ancestor
from evolution.breeding.evidence import (
    Evidence,
    bank_notes,
    load_failures,
    load_known,
    load_tried,
)
from evolution.breeding.gains import MeasuredGain, load_gains
from evolution.breeding.gene_bank import GeneWorth, bank_genes, genes_in, is_measured, load_bank
from evolution.breeding.refused import Refused, RefusedNote, keep_refused, load_refused
from kit.db import Database
from models.genome import content_hash, genome_name
from models.lifecycle import Status
from models.tables import DEFAULT_TENANT, BankedGene, RefusedProposal
from tests.support.text_genes import LAYER, OLD, add_question, make_nights, with_gene

BRIEF = GeneWorth("system_prompt", "brief", "Be brief.", "mutator", 12, 0.4, 0.1, 0.7)
OTHER = uuid4()


async def bank(db: Database, cycle_id: UUID | None, *genes: GeneWorth) -> None:
    async with db.transaction(DEFAULT_TENANT) as tx:
        await bank_genes(tx, "d", LAYER, cycle_id, genes)


async def banked(db: Database, tenant: UUID = DEFAULT_TENANT) -> tuple[GeneWorth, ...]:
    async with db.transaction(tenant) as tx:
        return await load_bank(tx, "d", LAYER)


async def test_the_bank_keeps_every_instruction_best_first(db: Database) -> None:
    nights = await make_nights(db)
    cycle = await nights.cycle()
    harm = replace(BRIEF, gene_id="long", text="Be long.", worth=-0.3, low=-0.5, high=-0.1)
    new = replace(BRIEF, gene_id="x", text="Count.", worth=None, low=None, high=None, tried=3)
    await bank(db, cycle, new, harm, BRIEF)
    assert await banked(db) == (BRIEF, harm, new)


async def test_banking_twice_changes_nothing_and_a_measured_worth_is_kept(db: Database) -> None:
    cycle = await (await make_nights(db)).cycle()
    await bank(db, cycle, BRIEF, BRIEF)
    await bank(db, cycle, BRIEF)
    assert await banked(db) == (BRIEF,)
    await bank(db, cycle, replace(BRIEF, worth=None, low=None, high=None, tried=4))
    assert await banked(db) == (BRIEF,)


async def test_a_newer_worth_replaces_the_old_one_and_who_brought_a_gene_first_stays(
    db: Database,
) -> None:
    nights = await make_nights(db)
    first, second = await nights.cycle(), await nights.cycle()
    await bank(db, first, BRIEF)
    newer = replace(BRIEF, gene_id="other", origin="g-1", tried=40, worth=0.2, low=0.1, high=0.3)
    await bank(db, second, newer)
    [gene] = await banked(db)
    assert gene == replace(newer, gene_id="brief", origin="mutator")
    async with db.transaction(DEFAULT_TENANT) as tx:
        assert (await tx.scalars(select(BankedGene.cycle_id))).one() == first


def test_a_worth_is_said_where_a_gene_was_there_and_away_in_a_fifth_each() -> None:
    assert is_measured(2, 8) and is_measured(8, 2)
    assert not is_measured(1, 9) and not is_measured(9, 1)
    assert not is_measured(0, 0)


async def test_genes_that_came_by_hand_are_everybodys_others_stay_with_their_tenant(
    db: Database,
) -> None:
    nights = await make_nights(db)
    await make_nights(db, OTHER)
    cycle = await nights.cycle()
    by_hand = genes_in(OLD)
    await bank(db, cycle, BRIEF, *by_hand)
    assert len(await banked(db)) == len(by_hand) + 1
    assert {gene.key for gene in await banked(db, OTHER)} == {gene.key for gene in by_hand}


async def test_the_mutator_reads_the_best_and_the_worst_of_a_long_bank(db: Database) -> None:
    genes = [replace(BRIEF, text=f"Rule {n}.", worth=(50 - n) / 10) for n in range(60)]
    notes = bank_notes([*genes, *genes_in(OLD)], OLD)
    own = [note for note in notes if note.in_genome]
    others = [note.text for note in notes if not note.in_genome]
    assert [note.text for note in own] == [gene.text for gene in genes_in(OLD)]
    assert others == [f"Rule {n}." for n in (*range(12), *range(48, 60))]


async def test_gains_are_paired_by_question_and_a_proof_counts_more(db: Database) -> None:
    nights = await make_nights(db)
    incumbent = await nights.genome(OLD, Status.ACTIVE)
    child = await nights.genome(with_gene("Be brief."), parent_id=incumbent)
    cycle = await nights.cycle(incumbent)
    await nights.scores(cycle, incumbent, [5, 5, None, 9, 1])
    await nights.scores(cycle, child, [6, 7, 9, None])
    async with db.transaction(DEFAULT_TENANT) as tx:
        [gain] = (await load_gains(tx, "d", LAYER)).values()
    assert str(gain) == "+1.50 ± 0.50 of 10 on 2 search questions"
    proof = await nights.cycle(incumbent, result={"outcome": "nothing_better"})
    running = await nights.cycle(incumbent)
    for each, score in ((proof, 4.0), (running, 9.0)):
        await nights.scores(each, incumbent, [5], phase="confirm")
        await nights.scores(each, child, [score], phase="confirm")
    async with db.transaction(DEFAULT_TENANT) as tx:
        gains = await load_gains(tx, "d", LAYER)
    assert gains == {child: MeasuredGain(-1.0, None, 1, proven_on=True)}


async def test_repeated_judgings_are_one_question(db: Database) -> None:
    nights = await make_nights(db)
    incumbent = await nights.genome(OLD, Status.ACTIVE)
    child = await nights.genome(with_gene("Be brief."))
    cycle = await nights.cycle(incumbent)
    for replicate, score in enumerate((4, 6)):
        await nights.scores(cycle, incumbent, [score], replicate=replicate)
    await nights.scores(cycle, child, [7])
    async with db.transaction(DEFAULT_TENANT) as tx:
        gains = await load_gains(tx, "d", LAYER)
    assert gains[child] == MeasuredGain(2.0, None, 1, proven_on=False)


async def test_failures_come_worst_first_with_what_each_criterion_says(db: Database) -> None:
    nights = await make_nights(db)
    genome = await nights.genome(OLD, Status.ACTIVE)
    cycle = await nights.cycle(genome)
    ids = await nights.scores(cycle, genome, [8, 2, None, 5])
    async with db.transaction(DEFAULT_TENANT) as tx:
        all_of_them = await load_failures(tx, cycle, genome)
        early = await load_failures(tx, cycle, genome, asked=ids[:1])
    assert [failure.score for failure in all_of_them] == [2, 5, 8]
    assert all_of_them[0].criteria["concision"].reason == "too long"
    assert [failure.score for failure in early] == [8]


async def test_no_evidence_of_one_tenant_reaches_another(db: Database) -> None:
    nights = await make_nights(db)
    await make_nights(db, OTHER)
    incumbent = await nights.genome(OLD, Status.ACTIVE)
    cycle = await nights.cycle(incumbent)
    secret = "Ask for the 4711 contract"
    child = await nights.genome(with_gene("Be brief."), cycle_id=cycle, notes=secret)
    await nights.scores(cycle, incumbent, [1])
    await nights.scores(cycle, child, [2])
    await refuse(db, cycle, Refused(1, "reflect", secret, secret))
    async with db.transaction(OTHER) as tx:
        assert await load_failures(tx, cycle, incumbent) == ()
        assert await load_tried(tx, "d", LAYER) == ()
        assert await load_refused(tx, "d", LAYER, uuid4()) == ()
        assert await load_gains(tx, "d", LAYER) == {}
        known = await load_known(tx, "d", LAYER, uuid4())
        assert await is_shared_lab(tx)
    dead = with_gene("Be brief.")
    assert known[content_hash(dead)] == (
        f"it is {genome_name(dead)}, tried before: no gain was measured"
    )


async def test_what_was_tried_is_told_with_its_gain(db: Database) -> None:
    nights = await make_nights(db)
    incumbent = await nights.genome(OLD, Status.ACTIVE)
    cycle = await nights.cycle(incumbent)
    child = await nights.genome(with_gene("Be brief."), cycle_id=cycle, notes="brief")
    await nights.genome(with_gene("x"), Status.REJECTED, cycle_id=cycle, notes="other")
    await nights.scores(cycle, incumbent, [5, 5])
    await nights.scores(cycle, child, [4, 5])
    async with db.transaction(DEFAULT_TENANT) as tx:
        tried = await load_tried(tx, "d", LAYER)
        known = await load_known(tx, "d", LAYER, uuid4())
        own = await load_known(tx, "d", LAYER, cycle)
    assert set(tried) == {
        "brief (−0.50 ± 0.50 of 10 on 2 search questions)",
        "other (turned down by a person)",
    }
    assert known[content_hash(with_gene("Be brief."))].endswith(
        "tried before: −0.50 ± 0.50 of 10 on 2 search questions"
    )
    assert set(own) == {content_hash(OLD)}


async def refuse(db: Database, cycle_id: UUID, refused: Refused) -> None:
    async with db.transaction(DEFAULT_TENANT) as tx:
        await keep_refused(tx, DEFAULT_TENANT, cycle_id, "d", LAYER, refused)


async def test_a_refusal_is_kept_once_with_whatever_was_written(db: Database) -> None:
    cycle = await (await make_nights(db)).cycle()
    ugly = Refused(3, "reflect", "no\0 \ud800", "\0\ud800 <think>" + "x" * 50_000)
    await refuse(db, cycle, ugly)
    await refuse(db, cycle, ugly)
    async with db.transaction(DEFAULT_TENANT) as tx:
        row = (await tx.scalars(select(RefusedProposal))).one()
    assert row.reason == "no\u2400 ?"
    assert row.text.startswith("\u2400? <think>xxx")
    assert len(row.text) == 4_000


async def test_the_mutator_reads_each_reason_of_other_nights_once(db: Database) -> None:
    nights = await make_nights(db)
    first, second, now = [await nights.cycle() for _ in range(3)]
    for cycle in (first, second):
        await refuse(db, cycle, Refused(1, "reflect", "a lost slot"))
    await refuse(db, second, Refused(2, "reflect", "a copy"))
    await refuse(db, now, Refused(1, "reflect", "of this very cycle"))
    async with db.transaction(DEFAULT_TENANT) as tx:
        notes = await load_refused(tx, "d", LAYER, now)
    assert [note.reason for note in notes] == ["a copy", "a lost slot"]
    fresh = RefusedNote(operator="reflect", reason="just now")
    evidence = Evidence(failures=(), dialogues=(), tried=(), refused=notes)
    shown = evidence.with_refused([fresh, notes[0], fresh]).refused
    assert shown == (fresh, notes[0], notes[1])


async def test_the_nearest_common_ancestor_is_found_over_parents_and_mates(db: Database) -> None:
    nights = await make_nights(db)
    root = await nights.genome(OLD)
    ids = {}
    for name, parent, mate in (
        ("a", None, None), ("b", None, None), ("a1", "a", None), ("b1", "b", None),
        ("child", "a1", "b1"), ("a2", "a", None), ("b2", "b1", None),
    ):  # fmt: skip
        ids[name] = await nights.genome(
            with_gene(name), parent_id=ids.get(parent or "", root), mate_id=ids.get(mate or "")
        )
    stranger = await nights.genome(with_gene("stranger"))
    parents = {"parent_id": ids["a"], "mate_id": ids["b"]}
    twins = [await nights.genome(with_gene(name), **parents) for name in ("twin", "other twin")]

    async def nearest(one: UUID, other: UUID) -> UUID | None:
        async with db.transaction() as tx:
            row = await common_ancestor(tx, one, other)
        return row.id if row else None

    assert await nearest(ids["a1"], ids["a2"]) == ids["a"]
    assert await nearest(ids["a1"], ids["b1"]) == root
    assert await nearest(ids["child"], ids["b2"]) == ids["b1"]
    assert await nearest(ids["a"], ids["a1"]) == ids["a"]
    assert await nearest(ids["a"], stranger) is None
    first = min("a", "b", key=lambda name: content_hash(with_gene(name)))
    assert await nearest(*twins) == ids[first]  # both are as near: the content decides


async def test_the_exam_is_all_questions_and_references_of_the_corpus(db: Database) -> None:
    nights = await make_nights(db)
    reference = "the harbour master keeps the third key in his own desk"
    async with db.transaction(DEFAULT_TENANT) as tx:
        await add_question(tx, nights, "Where does he keep it?", reference)
        await add_question(tx, nights, "Does anybody know?", None)
        await tx.flush()
        texts = await load_exam_texts(tx, nights.corpus_id)
        assert not await is_shared_lab(tx)
    assert sorted(texts) == ["Does anybody know?", "Where does he keep it?", reference]
    guard = CopyGuard(texts)
    assert guard.find(with_gene(f"Know that {reference}."), OLD) is not None
