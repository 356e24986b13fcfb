"""The mean never hides what is missing."""

from judge.aggregate import are_comparable, summarise
from judge.verdict import CRITERIA, CriterionVerdict, Unscored, Verdict


def scored(score: float) -> Verdict:
    criterion = CriterionVerdict(reason="-", score=score)
    return Verdict(criteria=dict.fromkeys(CRITERIA, criterion), judge="j")


MISSING = Unscored(reason="the reply is not JSON", judge="j")


def test_a_judge_failure_lowers_the_coverage_and_not_the_mean() -> None:
    summary = summarise([scored(8), scored(8), scored(8), MISSING])
    assert (summary.mean, summary.scored, summary.unscored, summary.total) == (8.0, 3, 1, 4)
    assert summary.coverage == 0.75
    assert str(summary) == "8.00 over 3 judged of 4 (75%)"


def test_failing_half_of_the_time_is_no_way_to_win() -> None:
    honest = summarise([scored(10)] * 5 + [scored(0)] * 5)
    broken = summarise([scored(10)] * 5 + [MISSING] * 5)
    assert (honest.mean, broken.mean) == (5.0, 10.0)
    assert (honest.coverage, broken.coverage) == (1.0, 0.5)
    assert not are_comparable(honest, broken)
    assert are_comparable(honest, honest)


def test_nothing_scored_has_no_mean_and_no_nan() -> None:
    for judgements in ([], [MISSING, MISSING]):
        summary = summarise(judgements)
        assert summary.mean is None
        assert "nan" not in str(summary).lower()
