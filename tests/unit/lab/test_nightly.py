"""A night is due exactly once a calendar date, also where the clock jumps."""

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.settings import Settings
from lab.nightly import Nightly
from lab.schedule import due_key, next_nightly
from models.tables import DEFAULT_TENANT

MADRID = Nightly(time(2, 30), ZoneInfo("Europe/Madrid"))
LOS_ANGELES = Nightly(time(0, 0), ZoneInfo("America/Los_Angeles"))
HAVANA = Nightly(time(0, 30), ZoneInfo("America/Havana"))


def simulate(night: Nightly, first: date, last: date, step: timedelta) -> list[datetime]:
    """Let a clock run from the start of `first` to the end of `last`, as a scheduler does."""
    now = datetime.combine(first, time.min, night.zone).astimezone(UTC)
    end = datetime.combine(last + timedelta(days=1), time.min, night.zone).astimezone(UTC)
    due = night.get_next_fire_time(None, now)
    fired = []
    while now < end:
        while due is not None and due <= now:
            fired.append(due)
            due = night.get_next_fire_time(due, now)
        now += step
    return fired


def dates(first: date, last: date) -> list[date]:
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


@pytest.mark.parametrize(
    ("night", "first", "last"),
    [
        pytest.param(MADRID, date(2026, 3, 27), date(2026, 3, 31), id="02:30 is missing"),
        pytest.param(MADRID, date(2026, 10, 23), date(2026, 10, 27), id="02:30 comes twice"),
        pytest.param(LOS_ANGELES, date(2026, 3, 6), date(2026, 3, 11), id="midnight, on"),
        pytest.param(LOS_ANGELES, date(2026, 10, 30), date(2026, 11, 3), id="midnight, back"),
        pytest.param(HAVANA, date(2026, 3, 6), date(2026, 3, 10), id="00:30 is missing"),
        pytest.param(HAVANA, date(2026, 10, 30), date(2026, 11, 3), id="00:30 comes twice"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("minutes", [1, 17, 45])
def test_each_calendar_date_has_exactly_one_run(
    night: Nightly, first: date, last: date, minutes: int
) -> None:
    fired = simulate(night, first, last, timedelta(minutes=minutes))
    assert [due.astimezone(night.zone).date() for due in fired] == dates(first, last)


def test_the_missing_time_is_made_up_for_after_the_jump() -> None:
    due = MADRID.due_at(date(2026, 3, 29))
    assert due == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    assert due.astimezone(MADRID.zone).time() == time(3, 30)


def test_of_a_repeated_time_the_first_counts() -> None:
    assert MADRID.due_at(date(2026, 10, 25)) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


def test_a_night_made_up_for_after_midnight_still_belongs_to_its_own_date() -> None:
    late = Nightly(time(23, 0), ZoneInfo("UTC"))
    assert late.last_date(datetime(2026, 5, 2, 1, 0, tzinfo=UTC)) == date(2026, 5, 1)
    assert late.last_date(datetime(2026, 5, 2, 23, 0, tzinfo=UTC)) == date(2026, 5, 2)


def test_the_second_time_a_repeated_hour_is_seen_names_the_same_date() -> None:
    first, second = (datetime(2026, 10, 25, hour, 31, tzinfo=UTC) for hour in (0, 1))
    keys = {
        due_key(DEFAULT_TENANT, "routing", "default", MADRID.last_date(now))
        for now in (first, second)
    }
    assert keys == {f"nightly:{DEFAULT_TENANT}:routing:default:2026-10-25"}


def test_no_nightly_time_means_no_nightly_cycles() -> None:
    assert next_nightly(Settings(nightly=""), datetime(2026, 5, 1, tzinfo=UTC)) is None


def test_the_next_night_is_told_in_the_labs_zone() -> None:
    settings = Settings(nightly="02:30", timezone="Europe/Madrid")
    due = next_nightly(settings, datetime(2026, 7, 1, 12, tzinfo=UTC))
    assert due is not None
    assert due.isoformat() == "2026-07-02T02:30:00+02:00"


@given(
    zone=st.sampled_from(
        ["Europe/Madrid", "America/Los_Angeles", "America/Havana", "Africa/Casablanca",
         "Australia/Lord_Howe", "Asia/Tehran", "America/Sao_Paulo", "UTC"]
    ),
    at=st.times(timezones=st.none()).map(lambda t: t.replace(second=0, microsecond=0, fold=0)),
    hours=st.integers(0, 12 * 365 * 24),
)  # fmt: skip
def test_due_times_follow_each_other_by_one_date(zone: str, at: time, hours: int) -> None:
    start = datetime(2015, 1, 1, tzinfo=UTC) + timedelta(hours=hours)
    night = Nightly(at, ZoneInfo(zone))
    dues = []
    due = night.get_next_fire_time(None, start)
    for _ in range(400):
        assert due is not None
        dues.append(due)
        due = night.get_next_fire_time(due, due)
    days = [night.last_date(due) for due in dues]
    assert dues[0] >= start
    assert all(b - a == timedelta(days=1) for a, b in pairwise(days))
    assert all(timedelta(hours=22) < b - a < timedelta(hours=26) for a, b in pairwise(dues))
