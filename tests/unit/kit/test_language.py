"""The language of short questions, where an identifier alone guesses."""

import pytest

from kit.language import detect_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Who pays?", "en"),
        ("rollback", "en"),
        ("cycle budget", "en"),
        ("How do I roll back a genome?", "en"),
        ("¿genoma?", "es"),
        ("quien paga", "es"),
        ("como volver atras", "es"),
        ("presupuesto de un ciclo", "es"),
        ("Кто платит?", "ru"),
        ("откат", "ru"),
        ("Wie viel kostet das?", "de"),
    ],
)
def test_a_short_question_is_told(text: str, language: str) -> None:
    assert detect_language(text) == language


@pytest.mark.parametrize("default", ["en", "es", "ru"])
def test_a_cyrillic_text_is_never_taken_for_a_latin_language(default: str) -> None:
    assert detect_language("Что делает GENOMA_CONCURRENCY?", default) == "ru"
    assert detect_language("Что такое Rolling Update Window?", default) == "ru"


def test_serbian_is_told_from_russian_by_its_own_letters() -> None:
    assert detect_language("Ко је платио овај циклус и љубазно рекао?") == "sr"


@pytest.mark.parametrize("text", ["", "  \n", "123 456", "std437", "?!", "日本語"])
def test_a_text_without_known_letters_has_the_default_language(text: str) -> None:
    assert detect_language(text, "ru") == "ru"


def test_code_and_addresses_do_not_speak_for_a_text() -> None:
    text = "Откат:\n```\ngenoma rollback --layer routing --reason what the admin says\n```\n"
    assert detect_language(text + "см. https://example.org/how-to-roll-back") == "ru"
