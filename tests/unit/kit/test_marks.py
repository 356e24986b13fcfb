"""Citation marks: found in text, never in code, never guessed."""

from kit.marks import claims_in, keep_marks, marked_numbers, without_marks


def test_marks_are_found_in_order_each_once() -> None:
    assert marked_numbers("A [2]. B [1, 3][2].") == (2, 1, 3)


def test_an_index_in_code_is_no_mark() -> None:
    text = "See `a[1]`, ``b[2]`` and\n```\nc[3]\n```\nbut [4]."
    assert marked_numbers(text) == (4,)


def test_a_link_is_no_mark() -> None:
    assert marked_numbers("see [1](https://example.org) and [2]") == (2,)


def test_unwanted_numbers_leave_the_text_and_the_rest_stays() -> None:
    text = "A [1, 7]. B [7]. `x[7]`"
    assert keep_marks(text, lambda number: number != 7) == "A [1]. B. `x[7]`"


def test_without_marks_is_the_plain_sentence() -> None:
    assert without_marks("It is so [1][2].") == "It is so."


def test_a_mark_after_the_full_stop_belongs_to_the_sentence_before() -> None:
    claims = claims_in("It is so. [1] It is more. [2]", "en")
    assert [(claim.text, claim.numbers) for claim in claims] == [
        ("It is so.", (1,)),
        ("It is more.", (2,)),
    ]


def test_a_claim_of_cjk_text_keeps_its_own_mark() -> None:
    claims = claims_in("链接有效期为二十四小时[1]。会话持续十二小时[2]。", "zh")
    assert [claim.numbers for claim in claims] == [(1,), (2,)]
