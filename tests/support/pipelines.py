"""Scopes, states, answers and a clock for the tests of pipelines and what stands on them."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from models.contract import Answer, Chunk, Citation
from models.defaults import DEFAULT_SET
from models.profile import ProfileSettings
from models.tables import DEFAULT_TENANT
from pipeline.ports import Scope
from pipeline.state import State

HOURS = Chunk(
    chunk_id="c1",
    source_id="hours",
    title="Opening hours",
    text="The library closes at 18:00 on weekdays.",
    url_or_internal_ref="https://library.example/hours",
    similarity=0.9,
)
FINES = Chunk(
    chunk_id="c2",
    source_id="fines",
    title="Fines",
    text="A late book costs 0.50 a day.",
    url_or_internal_ref="fines.md",
    similarity=0.85,
)
CLOSES = Answer(
    answer="The library closes at 18:00 on weekdays [1].",
    key_points=("closes at 18:00",),
    sources=(
        Citation(
            number=1,
            source_id="hours",
            title="Opening hours",
            url_or_internal_ref="https://library.example/hours",
            chunk_id="c1",
        ),
    ),
    supportedness=1.0,
    reader="canned reader",
)
QUESTION = "When does the library close?"


@dataclass
class HandClock:
    """A clock that is moved by hand."""

    time: datetime = field(default_factory=lambda: datetime(2026, 3, 1, tzinfo=UTC))

    def now(self) -> datetime:
        return self.time

    def move(self, by: timedelta) -> None:
        self.time += by


def make_scope(corpus_id: UUID | None = None, **changes: Any) -> Scope:
    scope = Scope(
        tenant_id=DEFAULT_TENANT,
        profile="default",
        domain="default",
        corpus_id=corpus_id or uuid4(),
        corpus="library",
        corpus_version=1,
        settings=ProfileSettings(),
        abstain_below=0.8,
    )
    return replace(scope, **changes)


def make_state(scope: Scope | None = None, **changes: Any) -> State:
    state = State(uuid4(), scope or make_scope(), QUESTION, "en", DEFAULT_SET)
    return replace(state, **changes)
