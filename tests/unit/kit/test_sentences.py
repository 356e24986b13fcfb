"""Sentences: every script, and Markdown's own units."""

from kit.sentences import split_sentences, split_units


def test_abbreviations_and_numbers_do_not_end_a_sentence() -> None:
    text = "Dr. Smith paid $3.50 for it. Really? Yes!"
    assert split_sentences(text, "en") == ["Dr. Smith paid $3.50 for it.", "Really?", "Yes!"]


def test_cjk_arabic_and_cyrillic_are_split_like_english() -> None:
    assert split_sentences("你好。世界!你是谁?", "zh") == ["你好。", "世界!", "你是谁?"]
    assert split_sentences("مرحبا بالعالم. كيف حالك؟", "ar") == ["مرحبا بالعالم.", "كيف حالك؟"]
    assert split_sentences("Это так. См. п. 3. Да!", "ru") == ["Это так.", "См. п. 3.", "Да!"]


def test_headings_items_and_rows_are_units_of_their_own() -> None:
    text = "# Title\nBody text.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| x | 3 |\n"
    assert [(unit.kind, unit.text) for unit in split_units(text, "en")] == [
        ("heading", "Title"),
        ("sentence", "Body text."),
        ("item", "one"),
        ("item", "two"),
        ("heading", "a | b"),
        ("row", "x | 3"),
    ]


def test_a_code_block_stays_whole() -> None:
    units = split_units("Run it:\n\n```sh\nmake run. Now\n# no heading\n```\n", "en")
    assert [unit.text for unit in units] == [
        "Run it:",
        "```sh\nmake run. Now\n# no heading\n```",
    ]


def test_a_code_block_that_was_cut_is_closed() -> None:
    assert split_sentences("```\na = 1\n", "en") == ["```\na = 1\n```"]
    assert split_sentences("Text.\n\n    a = 1\n", "en")[1] == "```\na = 1\n```"


def test_a_wrapped_line_is_one_sentence() -> None:
    assert split_sentences("It is\nwrapped. Yes.", "en") == ["It is wrapped.", "Yes."]


def test_an_empty_text_has_no_sentence() -> None:
    assert split_sentences("", "en") == []


def test_an_unknown_language_is_split_all_the_same() -> None:
    assert split_sentences("One here. Two here.", "xx") == ["One here.", "Two here."]
