"""The picture of a lineage is well-formed, safe, readable without eyes, and never crowded."""

import re
from uuid import UUID
from xml.etree import ElementTree

import pytest

from evolution.breeding.gains import MeasuredGain
from evolution.breeding.lineage import Lineage, LineageNode
from evolution.breeding.lineage_drawing import choose, draw_lineage, place
from evolution.breeding.refused import RefusedNote
from models.lifecycle import Status

SVG = "{http://www.w3.org/2000/svg}"


def node(number: int, parent: int | None = None, mate: int | None = None, **other: object
         ) -> LineageNode:  # fmt: skip
    return LineageNode(
        genome_id=UUID(int=number),
        name=f"g-{number}",
        parent_id=UUID(int=parent) if parent else None,
        mate_id=UUID(int=mate) if mate else None,
        **{"domain": "d", "operator": "typed", "status": Status.EVALUATED, **other},  # type: ignore[arg-type]
    )


def gain(mean: float) -> MeasuredGain:
    return MeasuredGain(mean, 0.2, 12, proven_on=False)


def lineage(*nodes: LineageNode) -> Lineage:
    return Lineage(domain="d", layer="postprocess", nodes=nodes)


FAMILY = (
    node(1, status=Status.RETIRED),
    node(2, 1),
    node(3, 1, status=Status.ACTIVE, gain=gain(0.42)),
    node(4, 2, 3, operator="crossover", status=Status.PENDING_APPROVAL),
    node(5, 3, status=Status.REJECTED),
)


def drawn(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def names_in(svg: str) -> list[str]:
    return [e.text or "" for e in drawn(svg).iter(f"{SVG}text") if e.get("class") == "lineage-name"]


def test_every_genome_is_a_node_and_every_parent_an_edge() -> None:
    root = drawn(draw_lineage(lineage(*FAMILY)))
    classes = [e.get("class") or "" for e in root.iter()]
    assert sum("lineage-node" in c for c in classes) == 5
    assert [c for c in classes if c.startswith("lineage-parent")] == [
        "lineage-parent", "lineage-parent is-line", "lineage-parent", "lineage-parent",
    ]  # fmt: skip
    assert sum(c.startswith("lineage-mate") for c in classes) == 1


def test_the_status_is_said_in_words_and_the_gain_in_numbers() -> None:
    root = drawn(draw_lineage(lineage(*FAMILY)))
    texts = [e.text for e in root.iter(f"{SVG}text")]
    assert {"retired", "evaluated", "active", "waiting", "rejected"} <= set(texts)
    assert "+0.42 ± 0.20" in texts


def test_it_has_a_title_and_a_description_that_it_is_labelled_by() -> None:
    root = drawn(draw_lineage(lineage(*FAMILY)))
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None and description is not None
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert description.text == (
        "5 genomes from left to right, each beside its parent; g-3 serves; "
        "g-4 waits for a decision."
    )


def test_no_style_stands_in_it_so_that_a_strict_policy_shows_it() -> None:
    svg = draw_lineage(lineage(*FAMILY))
    assert not re.search(r"\sstyle=|<style|<script|\son\w+=|href|fill=|stroke=", svg)


@pytest.mark.parametrize("text", ["<script>&\"']]>", "a\0b \ud800 \x1b[1m", "ёлка 🙂 كتاب"])
def test_any_text_is_data_in_it(text: str) -> None:
    notes = (RefusedNote(operator="reflect", reason=text),)
    ugly = node(1, notes=text, reason=text, operator=text, refused=notes)
    odd = Lineage(domain=text.encode("utf-8", "replace").decode().replace("\0", ""),
                  layer="routing", nodes=(ugly,))  # fmt: skip
    root = drawn(draw_lineage(odd))
    titles = [e.text or "" for e in root.iter(f"{SVG}title")]
    assert any("proposals for it that were refused: 1" in title for title in titles)
    if "\0" not in text:
        assert any(text in title for title in titles)


def test_children_stand_to_the_right_of_both_parents_and_nobody_on_another() -> None:
    spots = place(FAMILY)
    for each in FAMILY:
        for parent in (each.parent_id, each.mate_id):
            if parent:
                assert spots[parent].x < spots[each.genome_id].x
    assert len({(spot.x, spot.y) for spot in spots.values()}) == len(FAMILY)
    assert spots[UUID(int=1)].y == (spots[UUID(int=2)].y + spots[UUID(int=3)].y) / 2


def test_of_many_genomes_the_telling_ones_are_drawn_with_all_their_ancestors() -> None:
    many = [*FAMILY, *(node(n, 3, gain=gain(-n / 100)) for n in range(6, 200)),
            node(200, 5, gain=gain(9.0))]  # fmt: skip
    svg = draw_lineage(lineage(*many), most=8)
    assert sorted(names_in(svg)) == sorted(f"g-{n}" for n in (1, 2, 3, 4, 5, 200, 6, 7))
    assert "192 further genomes are not drawn" in svg


def test_what_serves_is_drawn_however_long_its_line_is() -> None:
    chain = [node(1), *(node(n, n - 1) for n in range(2, 60)), node(60, 59, status=Status.ACTIVE)]
    assert [each.name for each in choose(chain, 10)] == [f"g-{n}" for n in range(51, 61)]
    assert len(names_in(draw_lineage(lineage(*chain), most=10))) == 10


def test_an_empty_lineage_is_a_picture_that_says_so() -> None:
    root = drawn(draw_lineage(lineage()))
    description = root.find(f"{SVG}desc")
    assert description is not None and description.text is not None
    assert description.text.startswith("0 genomes")
