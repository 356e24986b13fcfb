"""How long the lab stays away from an endpoint that refuses, and when it gives up."""

from time import monotonic

import pytest

from accounts.endpoints import Door
from accounts.storm import LONGEST_S, Patience, Storm
from kit.errors import ProviderBusy

BUSY = ProviderBusy("slow down")
CLOSED = Door(closed_s=8, reason="slow down")


def test_what_the_endpoint_asks_for_is_kept_up_to_an_hour() -> None:
    storm = Storm(Patience())
    assert storm.refuse(monotonic(), ProviderBusy("slow down", 7)) == 7
    assert storm.refuse(monotonic(), ProviderBusy("slow down", 86_400)) == LONGEST_S


def test_where_it_asks_for_nothing_the_waits_grow_to_a_minute() -> None:
    storm = Storm(Patience(first_wait_s=4))
    assert [storm.refuse(monotonic(), BUSY) for _ in range(6)] == [4, 8, 16, 32, 60, 60]


def test_of_calls_that_were_under_way_together_the_first_refusal_speaks_for_all() -> None:
    storm = Storm(Patience(first_wait_s=4))
    began = monotonic()
    assert [storm.refuse(began, BUSY) for _ in range(3)] == [4, 0, 0]
    assert storm.refuse(monotonic(), BUSY) == 8


def test_after_five_refusals_in_a_row_the_storms_own_words_come_through() -> None:
    storm = Storm(Patience(refusals=5))
    entry = storm.enter()
    for _ in range(4):
        storm.refuse(monotonic(), BUSY)
        storm.check(entry, CLOSED)
    storm.refuse(monotonic(), BUSY)
    with pytest.raises(ProviderBusy, match=r"slow down \(5 times in a row\)") as caught:
        storm.check(entry, CLOSED)
    assert caught.value.retry_after_s == 8


def test_where_one_gives_up_all_that_wait_with_it_do() -> None:
    storm = Storm(Patience(refusals=2))
    first = storm.enter()
    storm.refuse(monotonic(), BUSY)
    second = storm.enter()
    storm.refuse(monotonic(), BUSY)
    for entry in (first, second):
        with pytest.raises(ProviderBusy, match="2 times in a row"):
            storm.check(entry, CLOSED)
    storm.check(storm.enter(), CLOSED)


def test_whoever_comes_later_has_all_the_patience_again() -> None:
    storm = Storm(Patience(refusals=2))
    storm.refuse(monotonic(), BUSY)
    storm.refuse(monotonic(), BUSY)
    storm.check(storm.enter(), CLOSED)


def test_a_wait_that_is_longer_than_all_patience_is_not_begun() -> None:
    storm = Storm(Patience(seconds=300))
    with pytest.raises(ProviderBusy, match="not to be called for 3600 s more"):
        storm.check(storm.enter(), Door(closed_s=3600, reason="slow down"))


def test_a_call_that_began_after_the_refusal_ends_the_storm_and_an_older_one_does_not() -> None:
    storm = Storm(Patience(first_wait_s=4))
    began = monotonic()
    storm.refuse(monotonic(), BUSY)
    assert not storm.calm(began)
    assert storm.refuse(monotonic(), BUSY) == 8
    assert storm.calm(monotonic())
    assert storm.refuse(monotonic(), BUSY) == 4
