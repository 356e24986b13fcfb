"""What changed between two genomes is told gene by gene."""

from models.defaults import DEFAULT_GENOMES, DEFAULT_SET
from models.diff import GeneChange, changed_genes, genes_of
from models.genome import LAYERS

POSTPROCESS, ROUTING = DEFAULT_SET.postprocess, DEFAULT_SET.routing
PROMPT = POSTPROCESS.system_prompt


def test_a_genome_does_not_differ_from_itself() -> None:
    for layer in LAYERS:
        assert changed_genes(DEFAULT_GENOMES[layer], DEFAULT_GENOMES[layer]) == ()


def test_a_number_and_a_choice_are_told_with_both_values() -> None:
    after = POSTPROCESS.model_copy(update={"chunk_count": 7, "verbosity": "concise"})
    assert changed_genes(POSTPROCESS, after) == (
        GeneChange(path="chunk_count", before=4, after=7),
        GeneChange(path="verbosity", before="adaptive", after="concise"),
    )


def test_a_gene_of_a_profile_is_told_by_its_path() -> None:
    how_to = ROUTING.profiles["how_to"].model_copy(update={"format": "bullets"})
    after = ROUTING.model_copy(update={"profiles": {**ROUTING.profiles, "how_to": how_to}})
    (change,) = changed_genes(ROUTING, after)
    assert change == GeneChange(path="profiles.how_to.format", before="steps", after="bullets")


def test_genes_that_only_moved_are_one_change() -> None:
    after = POSTPROCESS.model_copy(update={"system_prompt": PROMPT[::-1]})
    (change,) = changed_genes(POSTPROCESS, after)
    assert change.path == "system_prompt (order)"
    assert change.before.split() == change.after.split()[::-1]


def test_a_dropped_instruction_is_told_with_its_text() -> None:
    after = POSTPROCESS.model_copy(update={"system_prompt": PROMPT[1:]})
    dropped = changed_genes(POSTPROCESS, after)[0]
    assert (dropped.path, dropped.before, dropped.after) == (
        f"system_prompt.{PROMPT[0].id}",
        PROMPT[0].text,
        None,
    )


def test_layer_and_version_are_no_genes() -> None:
    assert {"layer", "schema_version"}.isdisjoint(genes_of(POSTPROCESS))
