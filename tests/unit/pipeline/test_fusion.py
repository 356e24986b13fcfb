"""Reciprocal rank fusion, by hand."""

import pytest

from pipeline.fusion import fuse


def test_an_item_in_both_rankings_beats_the_first_of_one() -> None:
    scores = fuse([(1.0, ["a", "b"]), (1.0, ["b", "c"])], k=10)
    assert list(scores) == ["b", "a", "c"]
    assert scores == {
        "b": pytest.approx(1 / 12 + 1 / 11),
        "a": pytest.approx(1 / 11),
        "c": pytest.approx(1 / 12),
    }


def test_a_weight_multiplies_what_its_ranking_gives() -> None:
    assert fuse([(0.5, ["a"]), (1.0, ["b"])], k=10) == {"b": 1 / 11, "a": 0.5 / 11}


def test_equals_keep_the_order_of_first_sight() -> None:
    assert list(fuse([(1.0, ["a"]), (1.0, ["b"])], k=1)) == ["a", "b"]


def test_nothing_fuses_to_nothing() -> None:
    assert fuse([], k=10) == {}
