"""When failed judgings are an outage of the judge, and when they are only missing scores."""

from kit.errors import ProviderError

OUTAGE_AFTER = 5
"""Different questions whose judging fails one after another before it is an outage.

Different ones, because the same question is judged for several genomes in a row: one that no
judge can read in time is a missing score for each of them, and no outage.
"""


class Outage:
    """Counts the failures since the judge last answered."""

    def __init__(self) -> None:
        self._failed: dict[str, ProviderError] = {}

    def note_failure(self, question: str, error: ProviderError) -> None:
        """Count a failure. Raises the first of them where it is one too many."""
        self._failed.setdefault(question, error)
        if len(self._failed) >= OUTAGE_AFTER:
            first = next(iter(self._failed.values()))
            raise first from (None if first is error else error)

    def end(self) -> None:
        """The judge has answered."""
        self._failed.clear()
