"""No gene carries the exam: eight words in a row of it are found in any script and wording."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.breeding.copying import CopyGuard
from evolution.breeding.leaks import find_leak
from evolution.breeding.word_runs import windows_of
from models.defaults import DEFAULT_GENOMES
from models.genes import Instruction
from models.genome import Genome, PostprocessGenome

OLD = DEFAULT_GENOMES["postprocess"]
assert isinstance(OLD, PostprocessGenome)


def with_gene(text: str, gene_id: str = "new") -> Genome:
    return OLD.model_copy(
        update={"system_prompt": (*OLD.system_prompt, Instruction(id=gene_id, text=text))}
    )


EXAM = "The least budget of a cycle is two hundred and eighty-eight judged answers, no less."


def test_eight_words_in_a_row_are_a_copy_and_seven_are_none() -> None:
    eight = "Remember: least budget of a cycle is two hundred."
    seven = "Remember: least budget of a cycle is two."
    assert CopyGuard([EXAM]).find(with_gene(eight), OLD) == (
        "system_prompt.new copies 8 or more words in a row of an evaluation question, reference "
        "or answer"
    )
    assert CopyGuard([EXAM]).find(with_gene(seven), OLD) is None


@pytest.mark.parametrize(
    ("text", "gene"),
    [
        (EXAM, "THE LEAST BUDGET — of a cycle: is (two) “hundred” and eighty!"),
        (EXAM, "the least\nbud\u00adget of\u200b a cycle is two hundred and"),
        ("Don't say that it isn't so when it's so.", "don’t say that it isn’t so when it’s"),
        (
            "Ёлку ставят в большой комнате у окна вечером тридцатого декабря.",
            "Запомни: елку ставят в БОЛЬШОЙ комнате, у окна, вечером тридцатого",
        ),
        (
            "يُحْفَظُ المِفْتَاحُ فِي مِلَفٍّ لَا يَقْرَؤُهُ إِلَّا صَاحِبُهُ وَحْدَهُ",
            "يحفظ المفتاح في ملف لا يقرؤه الا صاحبه وحده",
        ),
        ("La contraseña más larga que aceptó el sistema ayer", "la contrasena mas larga que acepto"
         " el sistema"),
        ("缓存策略决定哪些答案可以保留给下一个提问者",
         "请注意：缓存策略决定，哪些答案可以保留给下"),
        ("ผู้ดูแลระบบต้องอนุมัติจีโนมก่อนใช้งานจริงทุกครั้ง", "ผู้ดูแลระบบต้องอนุมัติจีโนมก่อนใช้งานจริงทุกครั้ง"),
        ("Ｗｅ ｓｔａｒｔ ｔｈｅ ｗｏｒｋｅｒ ａｆｔｅｒ ｅａｃｈ ｎｉｇｈｔ",
         "We start the worker after each night of"),
    ],
)  # fmt: skip
def test_no_wording_hides_a_copy(text: str, gene: str) -> None:
    extended = f"{text} of it"
    assert CopyGuard([extended]).find(with_gene(gene), OLD) is not None


def test_a_short_quotation_in_a_script_without_blanks_is_none() -> None:
    assert (
        CopyGuard(["缓存策略决定哪些答案可以保留"]).find(with_gene("请注意：缓存策略"), OLD) is None
    )


def test_what_the_incumbent_says_already_is_no_copy() -> None:
    documented = f"By default it says: {OLD.system_prompt[0].text} And so on."
    assert CopyGuard([documented]).find(OLD, OLD) is None
    kept = with_gene(f"Once more: {OLD.system_prompt[0].text}")
    assert CopyGuard([documented]).find(kept, OLD) is None


def test_words_on_both_sides_of_a_slot_are_not_in_a_row() -> None:
    gene = "The least budget of a {{slot:context}} cycle is two hundred {{slot:question}}"
    assert CopyGuard([EXAM]).find(with_gene(gene), OLD) is None


def test_what_the_mutator_has_read_counts_like_the_exam() -> None:
    guard = CopyGuard([])
    genome = with_gene("The least budget of a cycle is two hundred.")
    assert guard.find(genome, OLD) is None
    assert guard.find(genome, OLD, shown=[EXAM]) is not None


def test_the_reason_does_not_quote_the_exam() -> None:
    assert "budget" not in str(CopyGuard([EXAM]).find(with_gene(EXAM), OLD))


def test_a_shared_genome_carries_no_figure_name_or_quotation_of_a_tenant() -> None:
    read = ["Ask Frau Jansen about contract 4711. Yes. Payments are due on the 3rd."]
    assert find_leak("Mention Jansen first.", [], read) == "a name"
    assert find_leak("Jansen comes first.", [], read) == "a name"
    assert find_leak("Contracts like 4711 are old.", [], read) == "a number"
    assert find_leak("Payments are due on the first day.", [], read) == "5 words in a row"
    assert find_leak("Give at most 3 steps. Yes, 3.", [], read) is None
    assert find_leak("Contracts like 4711 are old.", ["See 4711."], read) is None


def test_only_a_shared_lab_looks_for_leaks() -> None:
    genome = with_gene("Mention contract 4711.")
    read = ["Where is contract 4711?"]
    assert CopyGuard([]).find(genome, OLD, read) is None
    assert CopyGuard([], shared=True).find(genome, OLD, read) == (
        "system_prompt.new carries a number of a tenant's text into a shared genome"
    )


@given(st.lists(st.sampled_from("abcdef"), max_size=30), st.lists(st.sampled_from("abcdef"),
       max_size=30), st.integers(2, 4))  # fmt: skip
def test_two_texts_share_a_window_exactly_where_they_share_a_run(
    one: list[str], other: list[str], words: int
) -> None:
    runs = {tuple(one[i : i + words]) for i in range(len(one) - words + 1)}
    others = {tuple(other[i : i + words]) for i in range(len(other) - words + 1)}
    assert set(windows_of(" ".join(one), words)) == runs
    shared = set(windows_of(" ".join(one), words)) & set(windows_of(" ".join(other), words))
    assert shared == runs & others
