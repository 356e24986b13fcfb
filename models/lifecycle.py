"""The one place where a genome's status may change."""

from enum import StrEnum


class Status(StrEnum):
    CANDIDATE = "candidate"
    EVALUATED = "evaluated"
    PENDING_APPROVAL = "pending_approval"
    ACTIVE = "active"
    REJECTED = "rejected"
    RETIRED = "retired"


class TransitionError(ValueError):
    """A genome cannot go from {old} to {new}."""

    def __init__(self, old: Status, new: Status) -> None:
        super().__init__(f"a genome cannot go from {old} to {new}")


ALLOWED: dict[Status, frozenset[Status]] = {
    Status.CANDIDATE: frozenset({Status.EVALUATED, Status.REJECTED}),
    Status.EVALUATED: frozenset({Status.PENDING_APPROVAL, Status.REJECTED}),
    Status.PENDING_APPROVAL: frozenset({Status.ACTIVE, Status.REJECTED}),
    Status.ACTIVE: frozenset({Status.RETIRED}),
    Status.RETIRED: frozenset({Status.ACTIVE}),  # only a roll-back takes this way
    Status.REJECTED: frozenset(),
}


def check_transition(old: Status, new: Status) -> None:
    """Raise TransitionError unless `old` may become `new`."""
    if new not in ALLOWED[old]:
        raise TransitionError(old, new)
