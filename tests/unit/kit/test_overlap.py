"""Overlap of texts: weighted stems, numbers in one notation, denials."""

import pytest

from kit.evidence import Evidence
from kit.overlap import Weights, bag_of, numbers_in, split_denials, spread_length


def test_the_same_number_in_any_notation_is_the_same() -> None:
    assert numbers_in("2,000 2 000 2.000 ٢٠٠٠") == {"2000"}
    assert numbers_in("0,05") == numbers_in("0.05") == {"0.05"}


def test_scripts_without_blanks_are_compared_by_pairs_of_signs() -> None:
    assert bag_of("你好世界", ("zh",)) == {"你好", "好世", "世界"}


def test_a_word_that_stands_everywhere_weighs_less_than_a_rare_one() -> None:
    weights = Weights([frozenset({"commons", "raren"}), frozenset({"commons"})])
    assert weights.of("raren") > weights.of("commons")


def test_the_share_of_nothing_is_nothing() -> None:
    assert Weights([]).share(frozenset(), frozenset({"a"})) == 0.0


@pytest.mark.parametrize(
    ("text", "denials"),
    [
        ("It is not kept.", 1),
        ("No, it is kept.", 0),
        ("Нет, это никогда не хранится.", 2),
        ("It isn\u2019t kept", 1),
    ],
)
def test_denials_are_counted_but_not_a_bare_reply(text: str, denials: int) -> None:
    assert split_denials(text)[1] == denials


def test_a_han_sign_is_as_long_as_three_letters() -> None:
    assert spread_length("你好 ab") == 9


def test_a_claim_with_another_number_is_not_supported() -> None:
    evidence = Evidence([("The link is valid for 24 hours.", "en")], "en")
    assert evidence.supports("The link is valid for 24 hours.", [0])
    assert not evidence.supports("The link is valid for 12 hours.", [0])


def test_a_cited_text_in_another_language_supports_what_has_its_numbers() -> None:
    evidence = Evidence([("The link is valid for 24 hours.", "en")], "es")
    assert evidence.supports("El enlace vale 24 horas.", [0], cited=True)
    assert not evidence.supports("El enlace vale 48 horas.", [0], cited=True)
