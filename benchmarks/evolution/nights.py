"""Many nights of proofs under a rule that says how sure each of them has to be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evolution.proof.group_sequential import find_crossing
from evolution.proof.wealth import Entry

Rule = Callable[[Sequence[Entry]], float]

_TIMES = np.array([0.25, 0.5, 0.75, 1.0])


@dataclass(frozen=True)
class Nights:
    """What was put up in each night of each run, whether it was true, and the rates given."""

    shown: NDArray[np.bool_]
    true: NDArray[np.bool_]
    alphas: NDArray[np.float64]

    @property
    def false_share(self) -> float:
        """Mean over runs of the share of what was put up that is not better."""
        false = (self.shown & ~self.true).sum(axis=1)
        return float(np.mean(false / np.maximum(self.shown.sum(axis=1), 1)))

    @property
    def any_false(self) -> float:
        return float((self.shown & ~self.true).any(axis=1).mean())

    def power(self, night: int | None = None) -> float:
        """Share of what is true that was shown: in one night (from 0), or in all."""
        cut = slice(None) if night is None else slice(night, night + 1)
        true = self.true[:, cut]
        return float((self.shown[:, cut] & true).sum() / max(true.sum(), 1))


def run_nights(rule: Rule, effects: NDArray[np.float64], seed: int = 1) -> Nights:
    """Let `rule` set the error rate of each night's proof. `effects` has shape (runs, nights).

    An effect is the mean of the proof's z at its last look: 0 where nothing is better,
    gain / SD x sqrt(pairs) where something is.
    """
    p = _draw_p(effects, np.random.default_rng(seed))
    shown, alphas = np.zeros(p.shape, dtype=bool), np.zeros(p.shape)
    for run, row in enumerate(p):
        history: list[Entry] = []
        for night, value in enumerate(row):
            alphas[run, night] = rule(history)
            shown[run, night] = value <= alphas[run, night]
            history.append(Entry(alphas[run, night], bool(shown[run, night])))
    return Nights(shown, effects > 0, alphas)


def _draw_p(effects: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw the least error rates at which the proofs would show their claims. Same shape.

    A proof is a Brownian motion with drift, seen four times: it shows the claim at rate a where
    it is above the bound of rate a before it is found hopeless.
    """
    steps = rng.normal(0.0, 0.5, (*effects.shape, 4))
    path = np.cumsum(steps, axis=-1) + effects[..., None] * _TIMES
    hopeless = np.maximum.accumulate((path <= 0) & (_TIMES >= 0.5), axis=-1)
    highest = np.where(hopeless, -np.inf, path).max(axis=-1)
    bounds = np.linspace(0.5, 6.0, 45)
    p: NDArray[np.float64] = np.exp(np.interp(highest, bounds, _log_rates(*bounds), left=0.0))
    return p


@lru_cache
def _log_rates(*bounds: float) -> list[float]:
    """Give the logarithms of the rates whose bounds at the last look these are."""
    return [float(np.log(max(find_crossing(bound, _TIMES), 1e-12))) for bound in bounds]
