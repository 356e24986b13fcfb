"""Quality, cost and latency: who is beaten by nobody, and what may be traded."""

from uuid import UUID, uuid4

from evolution.breeding.population import Member
from evolution.buying.evaluate import Contender
from evolution.buying.results import Scored
from evolution.front import cost_ratio, economy_of, is_affordable, is_saving, pareto_front
from evolution.proof.claims import TradeRule
from models.defaults import DEFAULT_SET
from models.tables import EvolutionGenome

RULE = TradeRule()
QUESTIONS = [UUID(int=n) for n in range(30)]


def member(
    tokens: int, latency_ms: float = 100.0, micros: int = 0, questions: list[UUID] = QUESTIONS
) -> Member:
    genome_id = uuid4()
    answers = {
        q: Scored(q, 6.0, latency_ms=latency_ms, tokens=tokens, micros=micros) for q in questions
    }
    name = f"g-{genome_id.hex[:6]}"
    contender = Contender(genome_id, name, DEFAULT_SET)
    row = EvolutionGenome(id=genome_id, operator="design", notes="", content_hash=name)
    return Member(row, DEFAULT_SET.postprocess, contender, answers)


def test_nobody_on_the_front_is_beaten_in_all_three() -> None:
    best, cheap, fast = member(500), member(100), member(400, latency_ms=20)
    beaten, equal = member(600), member(500)
    gains = [(best, 1.0), (cheap, 0.2), (fast, 0.1), (beaten, 0.9), (equal, 1.0)]
    front = pareto_front(gains)
    assert {p.genome_id for p in front} == {m.row.id for m in (best, cheap, fast, equal)}
    assert [p.gain for p in front] == [1.0, 1.0, 0.2, 0.1]


def test_two_answers_say_nothing_of_cost() -> None:
    assert economy_of(member(100, questions=QUESTIONS[:2])) is None
    assert pareto_front([(member(100, questions=QUESTIONS[:2]), 1.0)]) == ()


def test_money_counts_where_there_is_a_price_else_tokens() -> None:
    assert cost_ratio(member(100, micros=30), member(100, micros=60)) == 0.5
    assert cost_ratio(member(50), member(100)) == 0.5
    assert cost_ratio(member(0), member(0)) == 1.0


def test_costs_are_compared_on_common_questions() -> None:
    ours, theirs = member(100), member(100, questions=QUESTIONS[:10])
    for q in QUESTIONS[10:]:
        ours.answers[q] = Scored(q, 6.0, tokens=9_000)
    assert cost_ratio(theirs, ours) == 1.0


def test_a_fifth_less_is_saving_and_a_tenth_more_is_the_most() -> None:
    ours = member(1_000)
    assert is_saving(member(790), ours, RULE) and not is_saving(member(810), ours, RULE)
    assert is_affordable(member(1_100), ours, RULE)
    assert not is_affordable(member(1_101), ours, RULE)


def test_who_is_much_slower_is_neither_affordable_nor_saving() -> None:
    slow = member(500, latency_ms=400.0)
    assert not is_affordable(slow, member(1_000), RULE)
    assert not is_saving(slow, member(1_000), RULE)


def test_answers_that_were_not_timed_say_nothing_of_latency() -> None:
    ours, slow = member(1_000), member(500, latency_ms=400.0)
    for q in QUESTIONS[11:]:
        slow.answers[q] = Scored(q, 6.0, tokens=500)
    assert is_affordable(slow, ours, RULE)  # eleven pairs are too few
    economy = economy_of(slow)
    assert economy is not None and economy.p95_ms == 400.0
