"""A genome's status goes along the allowed ways and no other."""

from itertools import product

import pytest

from models.lifecycle import ALLOWED, Status, TransitionError, check_transition

WAYS = {
    ("candidate", "evaluated"),
    ("candidate", "rejected"),
    ("evaluated", "pending_approval"),
    ("evaluated", "rejected"),
    ("pending_approval", "active"),
    ("pending_approval", "rejected"),
    ("active", "retired"),
    ("retired", "active"),
}


@pytest.mark.parametrize(("old", "new"), list(product(Status, Status)))
def test_only_the_allowed_ways_are_open(old: Status, new: Status) -> None:
    if (old.value, new.value) in WAYS:
        check_transition(old, new)
    else:
        with pytest.raises(TransitionError, match=f"cannot go from {old} to {new}"):
            check_transition(old, new)


def test_no_way_to_active_leads_past_a_person() -> None:
    before_active = {old for old in Status if Status.ACTIVE in ALLOWED[old]}
    assert before_active == {Status.PENDING_APPROVAL, Status.RETIRED}


def test_what_is_rejected_stays_so() -> None:
    assert ALLOWED[Status.REJECTED] == frozenset()
