"""Genomes are points of the space around their incumbent, and points are genomes."""

from hypothesis import given
from hypothesis import strategies as st

from evolution.breeding.gene_bank import GeneWorth, prompts_of
from evolution.breeding.genome_space import GenomeSpace, make_space
from models.defaults import DEFAULT_GENOMES
from models.genes import Instruction
from models.genome import LAYERS, Genome, Layer, content_hash, dump_genome, parse_genome

POSTPROCESS = DEFAULT_GENOMES["postprocess"]
INERT = frozenset({"postprocess.system_prompt", "postprocess.system_prompt_reduce"})
RULE = "Say first what follows from it."


def with_rule(text: str = RULE, gene_id: str = "first") -> Genome:
    content = dump_genome(POSTPROCESS)
    content["system_prompt"] = [{"id": gene_id, "text": text}, *content["system_prompt"]]
    return parse_genome(content)


def banked(text: str = RULE, high: float | None = None) -> GeneWorth:
    worth = None if high is None else high - 0.5
    return GeneWorth("system_prompt", "first", text, "reflect", 40, worth, worth, high)


def space_of(*others: Genome, bank: tuple[GeneWorth, ...] = ()) -> GenomeSpace:
    return make_space(POSTPROCESS, others, bank, frozenset())


def names_of(space: GenomeSpace) -> set[str]:
    return {gene.name for gene in space.space.genes}


@given(st.sampled_from(LAYERS), st.data())
def test_what_a_point_says_is_what_its_genome_says(layer: Layer, data: st.DataObject) -> None:
    incumbent = DEFAULT_GENOMES[layer]
    space = make_space(incumbent, (), (), frozenset())
    levels = (st.integers(0, len(gene.levels) - 1) for gene in space.space.genes)
    point = data.draw(st.tuples(*levels))
    genome = space.genome_at(point)
    if genome is not None:
        assert parse_genome(dump_genome(genome)) == genome
        assert space.point_of(genome) == point


def test_the_incumbent_is_the_origin() -> None:
    for layer in LAYERS:
        space = make_space(DEFAULT_GENOMES[layer], (), (), frozenset())
        assert space.genome_at(space.origin) == DEFAULT_GENOMES[layer]


def test_a_new_rule_is_a_switch_that_brings_it_back_word_by_word() -> None:
    child = with_rule()
    space = space_of(child)
    gene = next(g for g in space.space.genes if g.name == "system_prompt#first")
    assert (gene.kind, gene.group) == ("switch", "system_prompt")
    point = space.point_of(child)
    assert point is not None and point != space.origin
    again = space.genome_at(point)
    assert again is not None
    assert {g.text for g in prompts_of(again)["system_prompt"]} == {
        g.text for g in prompts_of(child)["system_prompt"]
    }


def test_a_genome_with_a_text_that_nobody_knows_here_has_no_point() -> None:
    assert space_of().point_of(with_rule()) is None
    assert space_of(with_rule()).point_of(with_rule("Something else altogether.")) is None


def test_two_texts_of_one_instruction_and_its_absence_are_levels() -> None:
    space = space_of(with_rule(), with_rule("Give the conclusion first."))
    gene = next(g for g in space.space.genes if g.name == "system_prompt#first")
    assert gene.kind == "choice" and len(gene.levels) == 3


def test_a_rule_of_the_bank_can_come_back_unless_it_was_shown_to_harm() -> None:
    assert "system_prompt#first" in names_of(space_of(bank=(banked(),)))
    assert "system_prompt#first" in names_of(space_of(bank=(banked(high=0.2),)))
    assert "system_prompt#first" not in names_of(space_of(bank=(banked(high=-0.1),)))


def test_an_instruction_that_carries_a_slot_is_never_switched_off() -> None:
    space = space_of(with_rule())
    for gene in space.space.genes:
        if gene.kind == "switch":
            written: Instruction = next(iter(space.texts[gene.name].values()))
            assert "{" not in written.text


def test_inert_prompts_are_no_genes_and_stay_as_they_are() -> None:
    space = make_space(POSTPROCESS, (), (banked(),), INERT)
    assert names_of(space) == {"chunk_count", "max_tokens", "citation_policy", "verbosity"}
    other = space.genome_at((0,) * 4)
    assert other is not None
    assert prompts_of(other) == prompts_of(POSTPROCESS)
    assert content_hash(other) != content_hash(POSTPROCESS)
