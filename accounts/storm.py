"""A storm of 429: how long the lab stays away from an endpoint, and when it gives up."""

from dataclasses import dataclass
from time import monotonic

from accounts.endpoints import Door
from kit.errors import ProviderBusy

LONGEST_S = 3600
"""Whatever an endpoint asks for: after an hour it is asked again."""


@dataclass(frozen=True)
class Patience:
    """How much of a storm a call sits out before it fails with the storm's cause."""

    refusals: int = 5
    """In a row, of whichever call: one of them tries after each wait, the others stay away."""
    seconds: float = 300
    first_wait_s: float = 4
    """Where the endpoint does not say how long: then 8, 16, ... up to a minute."""
    longest_wait_s: float = 60


@dataclass(frozen=True)
class Entry:
    """When a call came, and what the storm had been by then."""

    at: float
    refusals: int
    given_up: int


class Storm:
    """What this process has seen of an endpoint's refusals. Times are of `monotonic`."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._refusals = 0
        self._refused_at = float("-inf")
        self._began: float | None = None
        self._given_up = 0
        self._words = ""

    def enter(self) -> Entry:
        return Entry(monotonic(), self._refusals, self._given_up)

    def refuse(self, started: float, busy: ProviderBusy) -> float:
        """Count the refusal of a call that began at `started`; give the seconds to stay away.

        Of calls that were under way together, the first refusal speaks for all.
        """
        is_news = started >= self._refused_at
        if is_news:
            self._refusals += 1
            self._refused_at = monotonic()
        return min(busy.retry_after_s or (self._growing() if is_news else 0.0), LONGEST_S)

    def calm(self, started: float) -> bool:
        """A call went well: tell whether the storm is over, which an older call cannot know."""
        is_over = started >= self._refused_at
        if is_over:
            self._refusals, self._began = 0, None
        return is_over

    def check(self, entry: Entry, door: Door) -> None:
        """Raise ProviderBusy, with the endpoint's own words, where a call has waited enough.

        Where one call gives up, all that wait with it do: they would only prolong the storm.
        """
        if self._given_up == entry.given_up:
            self._judge(entry, door)
        if self._given_up != entry.given_up:
            raise ProviderBusy(self._words, door.closed_s)

    def _judge(self, entry: Entry, door: Door) -> None:
        now = monotonic()
        if not door.reason:
            self._began = None
            return
        self._began = self._began or now
        waits = door.closed_s + now - max(entry.at, self._began)
        refusals = self._refusals - entry.refusals
        if refusals >= self._patience.refusals:
            self._give_up(f"{door.reason} ({refusals} times in a row)")
        elif waits > self._patience.seconds:
            self._give_up(f"{door.reason} (not to be called for {door.closed_s:.0f} s more)")

    def _give_up(self, cause: str) -> None:
        self._given_up += 1
        self._words = f"{cause}: the lab stops asking"

    def _growing(self) -> float:
        wait = self._patience.first_wait_s * 2.0 ** (self._refusals - 1)
        return min(wait, self._patience.longest_wait_s)
