"""When a night is due: once on each calendar date of a zone, whatever its clock does."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from apscheduler.triggers.base import BaseTrigger

_DAY = timedelta(days=1)


class Nightly(BaseTrigger):  # type: ignore[misc]
    """A trigger of APScheduler: at a wall time of a zone, once a calendar date.

    A wall time that the clock skips is due as long after the jump as it lies inside the gap
    (02:30 at 03:30); one that it shows twice is due the first time. APScheduler's own
    CronTrigger skips a whole date after some jumps, and fires twice in a repeated hour.
    """

    def __init__(self, at: time, zone: ZoneInfo) -> None:
        self.at = at
        self.zone = zone

    def get_next_fire_time(
        self, previous_fire_time: datetime | None, now: datetime
    ) -> datetime | None:
        """Give the first due time after the previous one, or at or after `now`, in UTC."""
        before = previous_fire_time or now - timedelta.resolution
        return self.due_at(self.last_date(before) + _DAY)

    def last_date(self, now: datetime) -> date:
        """Give the calendar date whose due time was the last one, at or before `now`."""
        now = now.astimezone(UTC)
        day = now.astimezone(self.zone).date() + _DAY
        while self.due_at(day) > now:
            day -= _DAY
        return day

    def due_at(self, day: date) -> datetime:
        """Give the moment at which `day` is due, in UTC: two times of one zone are compared and
        subtracted by their wall clocks, which is wrong by an hour around a jump."""
        wall = datetime.combine(day, self.at, tzinfo=self.zone)  # fold=0: the first of two
        return wall.astimezone(UTC)
