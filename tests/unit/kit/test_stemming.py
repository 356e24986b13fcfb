"""What BM25 counts."""

from kit.stemming import MAX_TERM_CHARS, terms


def test_forms_of_a_word_share_a_term() -> None:
    assert terms("Running runs", ["en"]) == ["run", "run"]
    assert set(terms("запросы запросов Запросами", ["ru"])) == {"запрос"}
    assert terms("preguntas", ["es"]) == terms("pregunta", ["es"])


def test_a_compound_identifier_gives_itself_and_its_parts() -> None:
    assert terms("snake_case", []) == ["snake_case", "snake", "case"]
    assert terms("HTTPServer", []) == ["httpserver", "http", "server"]
    assert terms("ОбработкаЗаполнения", ["ru"]) == ["обработказаполнен", "обработк", "заполнен"]


def test_a_code_is_kept_whole_and_without_its_sign() -> None:
    assert terms("#std437", ["en"]) == terms("std437", ["en"]) == ["std437"]
    assert terms("GENOMA_PORT", ["en"])[0] == "genoma_port"


def test_a_word_is_stemmed_only_in_languages_of_its_script() -> None:
    assert terms("запросы", ["en", "ru"]) == ["запрос"]
    assert terms("queries", ["ru"]) == ["queries"]


def test_several_languages_give_each_stem_once() -> None:
    stems = terms("animales", ["en", "es"])
    assert sorted(stems) == sorted(set(terms("animales", ["en"]) + terms("animales", ["es"])))
    assert terms("std", ["en", "es"]) == ["std"]


def test_an_accent_is_the_same_however_it_is_typed() -> None:
    assert terms("man\u0303ana", ["es"]) == terms("ma\u00f1ana", ["es"])


def test_a_run_without_blanks_makes_no_term() -> None:
    assert terms("A" * 2_000_000, ["en"]) == []
    assert terms("a" * MAX_TERM_CHARS, []) != []
