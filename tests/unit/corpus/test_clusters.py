"""Near-duplicates are one question to a proof."""

import random
from dataclasses import dataclass

from corpus.clusters import find_clusters


@dataclass(frozen=True)
class Asked:
    external_id: str
    text: str
    source_ids: tuple[str, ...] = ("a.md",)
    parallel_id: str | None = None
    language: str = "en"


def test_questions_that_differ_in_case_and_marks_share_a_cluster() -> None:
    assert find_clusters([Asked("1", "Who pays?", ()), Asked("2", "who  PAYS", ())]) == ["1", "1"]


def test_parallel_questions_share_a_cluster() -> None:
    asked = [
        Asked("1", "Who pays?", ("en.md",), "p7"),
        Asked("2", "¿Quién paga?", ("es.md",), "p7", "es"),
        Asked("3", "¿Cuándo?", ("es.md",), "p8", "es"),
    ]
    assert find_clusters(asked) == ["1", "1", "3"]


def test_nearly_the_same_words_on_one_document_share_a_cluster() -> None:
    one = Asked("1", "How long does an admin session last?")
    other = Asked("2", "How long do admin sessions last?")
    assert find_clusters([one, other]) == ["1", "1"]


def test_different_questions_on_one_document_do_not() -> None:
    one = Asked("1", "How long does an admin session last?")
    other = Asked("2", "How long must a password be?")
    assert find_clusters([one, other]) == ["1", "2"]


def test_nearly_the_same_words_on_different_documents_do_not() -> None:
    one = Asked("1", "How long does a session last?", ("a.md",))
    other = Asked("2", "How long does a session last then?", ("b.md",))
    assert find_clusters([one, other]) == ["1", "2"]


def test_a_chain_is_one_cluster_named_after_its_first_question() -> None:
    asked = [Asked("1", "a b", ()), Asked("2", "x y", (), "p"), Asked("3", "A B!", (), "p")]
    assert find_clusters(asked) == ["1", "1", "1"]


def test_who_names_no_document_is_compared_with_all() -> None:
    one = Asked("1", "How long does an admin session last?", ("a.md",))
    other = Asked("2", "How long do admin sessions last?", ())
    assert find_clusters([one, other]) == ["1", "1"]


def test_no_close_pair_is_overlooked() -> None:
    """Whatever is skipped unseen, the pairs are those of comparing each with each."""
    rng = random.Random(5)
    texts = [" ".join(rng.sample("abcdefghijkl", rng.randint(1, 6))) for _ in range(150)]
    found = find_clusters([Asked(str(n), text, ()) for n, text in enumerate(texts)])
    words = [set(text.split()) for text in texts]
    for one in range(150):
        for other in range(one):
            if len(words[one] & words[other]) >= 0.6 * len(words[one] | words[other]):
                assert found[one] == found[other]
