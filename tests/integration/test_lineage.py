"""The lineage as it is stored: who came from whom, what it gained, why it went."""

from pathlib import Path

import pytest

from evolution.breeding.lineage import LineageNode, load_lineage
from evolution.breeding.lineage_drawing import draw_lineage
from evolution.breeding.refused import Refused, keep_refused
from kit.db import Database
from lab.database import DatabaseUrls
from models.defaults import DEFAULT_SET
from models.lifecycle import Status
from models.tables import DEFAULT_TENANT, Approval, ApprovalDecision
from tests.support.command_line import CommandLine
from tests.support.text_genes import LAYER, OLD, make_nights, with_gene


async def test_the_lineage_tells_parents_gains_and_reasons(db: Database) -> None:
    nights = await make_nights(db)
    root = await nights.genome(OLD, Status.RETIRED, domain="default", operator="hand")
    active = await nights.genome(with_gene("a"), Status.ACTIVE, parent_id=root)
    cycle = await nights.cycle(active)
    made = {"parent_id": active, "cycle_id": cycle}
    down = await nights.genome(with_gene("b"), Status.REJECTED, **made)
    unproven = await nights.genome(with_gene("c"), operator="reflect_all", **made)
    child = await nights.genome(with_gene("d"), parent_id=down, mate_id=unproven, cycle_id=cycle,
                                operator="crossover")  # fmt: skip
    await nights.scores(cycle, active, [5, 5])
    await nights.scores(cycle, child, [6, 7])
    said = {"finalist_id": str(unproven), "outcome": "nothing_better", "sentence": "Not proven: 0."}
    await nights.cycle(active, result=said)
    async with db.transaction(DEFAULT_TENANT) as tx:
        approval = Approval(tenant_id=DEFAULT_TENANT, genome_id=down, incumbent_id=active,
                            cycle_id=cycle, digest="x", evidence={})  # fmt: skip
        tx.add(approval)
        await tx.flush()
        tx.add(ApprovalDecision(tenant_id=DEFAULT_TENANT, approval_id=approval.id, actor="ann",
                                verdict="rejected", reason="far too long"))  # fmt: skip
        refused = Refused(1, "reflect", "a lost slot", "…", active)
        await keep_refused(tx, DEFAULT_TENANT, cycle, "d", LAYER, refused)
    async with db.transaction(DEFAULT_TENANT) as tx:
        lineage = await load_lineage(tx, "d", LAYER)
    nodes: dict[object, LineageNode] = {node.genome_id: node for node in lineage.nodes}
    assert [node.genome_id for node in lineage.nodes] == [root, active, down, unproven, child]
    assert nodes[root].domain == "default"
    assert nodes[down].reason == "turned down: far too long"
    assert nodes[unproven].reason == "Not proven: 0."
    assert str(nodes[child].gain) == "+1.50 ± 0.50 of 10 on 2 search questions"
    assert (nodes[child].parent_id, nodes[child].mate_id) == (down, unproven)
    assert nodes[child].operator == "crossover"
    assert [note.reason for note in nodes[active].refused] == ["a lost slot"]
    svg = draw_lineage(lineage)
    assert svg.count("lineage-node") == 5
    assert "turned down: far too long" in svg


@pytest.fixture
def genoma(tmp_path: Path, database_urls: DatabaseUrls) -> CommandLine:
    return CommandLine.of(tmp_path / "home", GENOMA_DATABASE_URL=database_urls.service)


def test_the_command_shows_the_lineage_as_a_tree(genoma: CommandLine) -> None:
    said = genoma.must("genome", "lineage", "--layer", "postprocess")
    assert "default/postprocess: 1 genomes" in said
    assert f"{DEFAULT_SET.names()['postprocess']} by hand: first genome (active)" in said
    wrong = genoma("genome", "lineage", "--layer", "tea")
    assert "there is no layer 'tea'" in wrong.sentence
