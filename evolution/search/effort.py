"""How a search spends its judged answers: first rounds, trials, a last check."""

from dataclasses import dataclass

BASE = 20
"""Questions that the incumbent answers first: they anchor the effect of each question."""

DESIGNS = 24
"""Random designs before the model has a say, where no former night has left a memory."""

PER_TRIAL = 3
"""Questions a trial: many genomes, few answers each. The model adds them up."""

LEAST_ROUND = 24
"""Judged answers a round, at least: the model is fitted once a round."""

DESIGN_SHARE = 3
"""Random designs take at most the third part of the answers."""


@dataclass(frozen=True)
class Effort:
    """Numbers of judged answers, and of questions."""

    answers: int
    """Of the whole search."""
    base: int
    per_trial: int
    designs: int
    round: int
    check: int
    """Kept for the last, at most: finalists answer what the incumbent has answered."""
    same_questions: bool = False
    """Every trial is put to the same first `per_trial` questions: they are one stream."""


def plan_effort(answers: int, questions: int, most_trials: int, concurrency: int) -> Effort:
    """Divide `answers` judged answers of a search over `questions` questions.

    Where `most_trials` is small, each trial gets more questions. A round is made of whole waves
    of `concurrency` answers at once, so that nobody waits for the last one of a wave.
    """
    base = max(1, min(BASE, questions, answers // 3))
    check = min(3 * base, answers // 8)
    left = answers - base - check
    per_trial = max(1, min(questions, max(PER_TRIAL, left // most_trials)))
    designs = min(DESIGNS, left // DESIGN_SHARE // per_trial, most_trials)
    waves = -(-LEAST_ROUND // concurrency)
    return Effort(answers, base, per_trial, designs, max(per_trial, waves * concurrency), check)


def plan_streams(answers: int, questions: int, most_trials: int, per_question: int) -> Effort:
    """Divide the answers where a trial is a whole stream of questions, replayed.

    The incumbent takes `per_question` judged answers a question, a trial at most one more.
    """
    block = min(LEAST_ROUND, questions, max(1, answers // (per_question + 4)))
    left = answers - per_question * block
    designs = min(DESIGNS, left // DESIGN_SHARE // block, most_trials)
    return Effort(answers, block, block, designs, 4 * block, 0, same_questions=True)
