"""Texts that a claim is held against: do they say it, with the same numbers?"""

from collections.abc import Iterable, Sequence

from kit.overlap import Weights, bag_of, numbers_in
from kit.sentences import split_units

SUPPORTED_FROM = 0.6
"""The weighted share of a claim's stems that a text must hold to support it."""


class Evidence:
    """Texts, each with its language (ISO 639-1), numbered from 0 as they were given."""

    def __init__(self, texts: Sequence[tuple[str, str]], language: str) -> None:
        self.languages = tuple(sorted({language, *(code for _, code in texts)}))
        self._language = language
        self._codes = [code for _, code in texts]
        self._bags = [bag_of(text, self.languages) for text, _ in texts]
        self._numbers = [numbers_in(text) for text, _ in texts]
        units = (unit.text for text, code in texts for unit in split_units(text, code))
        self.weights = Weights(bag_of(unit, self.languages) for unit in units)

    @property
    def numbers(self) -> frozenset[str]:
        """All numbers of all texts."""
        return frozenset().union(*self._numbers)

    def share(self, claim: str, among: Iterable[int]) -> float:
        """The greatest weighted share of the claim's stems that one of the texts holds, 0-1.

        Translations share no stems: of a text in another language the numbers count as well.
        """
        bag, numbers = bag_of(claim, self.languages), numbers_in(claim)
        return max((self._share(bag, numbers, at) for at in among), default=0.0)

    def supports(self, claim: str, among: Iterable[int], *, cited: bool = False) -> bool:
        """Tell whether one of the texts says the claim and holds all of its numbers.

        Of a claim that names a text in another language nothing but the numbers can be told.
        """
        bag, numbers = bag_of(claim, self.languages), numbers_in(claim)
        return any(
            numbers <= self._numbers[at]
            and (
                (cited and self._is_foreign(at)) or self._share(bag, numbers, at) >= SUPPORTED_FROM
            )
            for at in among
        )

    def _share(self, bag: frozenset[str], numbers: frozenset[str], at: int) -> float:
        by_stems = self.weights.share(bag, self._bags[at])
        if not numbers or not self._is_foreign(at):
            return by_stems
        return max(by_stems, len(numbers & self._numbers[at]) / len(numbers))

    def _is_foreign(self, at: int) -> bool:
        return self._codes[at] != self._language
