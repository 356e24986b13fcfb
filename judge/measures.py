"""What can be counted and compared in an exam without a model: the ground of the built-in judge."""

from dataclasses import dataclass
from functools import cached_property

from judge.port import Exam
from kit.evidence import Evidence
from kit.language import detect_language
from kit.marks import Claim, claims_in, find_marks, without_marks
from kit.overlap import bag_of, numbers_in, spelled_numbers, split_denials
from models.contract import Citation

ECHO_FROM = 0.85
"""A claim of which so much stands in the question says nothing new."""
AGREE_FROM = 0.6
"""From here on two sentences are the same but for a `not`."""
SAME_MATTER_FROM = 0.5
"""From here on two sentences speak of the same thing, so that their numbers can be compared."""


@dataclass(frozen=True)
class Measures:
    """An exam taken apart: the answer's claims against question, fragments and reference."""

    exam: Exam
    claims: tuple[Claim, ...]
    nearness: tuple[float, ...]
    """For each claim 0-1: how near its meaning is to question and reference."""

    @cached_property
    def evidence(self) -> Evidence:
        """The fragments, and behind them the reference as one more text that may support."""
        texts = [(chunk.text, chunk.language) for chunk in self.exam.chunks]
        if self.exam.reference.answer:
            texts.append((self.exam.reference.answer, self.exam.language))
        return Evidence(texts, self.exam.language)

    @cached_property
    def plain(self) -> str:
        return without_marks(self.exam.answer.answer)

    @cached_property
    def is_translated(self) -> bool:
        """Tell whether the answer is in another language than its question and reference."""
        language = self.exam.language
        return detect_language(self.plain, language) != language

    @cached_property
    def question_bag(self) -> frozenset[str]:
        return self._bag(self.exam.question)

    @cached_property
    def claim_bags(self) -> tuple[frozenset[str], ...]:
        return tuple(self._bag(claim.text) for claim in self.claims)

    @cached_property
    def wanted(self) -> frozenset[str]:
        """The stems that an answer must bring: the reference's own, or the question's."""
        if not self.exam.reference.answer:
            return self.question_bag
        bag = self._bag(self.exam.reference.answer)
        return (bag - self.question_bag) or bag

    @cached_property
    def telling(self) -> tuple[int, ...]:
        """Which claims say more than the question did."""
        share = self.evidence.weights.share
        return tuple(
            at
            for at, bag in enumerate(self.claim_bags)
            if share(bag, self.question_bag) < ECHO_FROM
        )

    @cached_property
    def supported(self) -> tuple[bool, ...]:
        """For each claim, whether its own fragment, else any, or the reference says it."""
        given, everything = len(self.exam.chunks), range(self._texts)
        named = [[n - 1 for n in claim.numbers if 1 <= n <= given] for claim in self.claims]
        return tuple(
            self.evidence.supports(claim.text, (*among, *range(given, self._texts)), cited=True)
            if among
            else self.evidence.supports(claim.text, everything)
            for claim, among in zip(self.claims, named, strict=True)
        )

    @cached_property
    def numbers_known(self) -> tuple[bool, ...]:
        """For each claim, whether all its numbers stand in fragments, reference or question."""
        known = self.evidence.numbers | numbers_in(self.exam.question)
        return tuple(numbers_in(claim.text) <= known for claim in self.claims)

    @cached_property
    def recall(self) -> float:
        """The weighted share of what was wanted that the telling claims bring."""
        brought = frozenset[str]().union(*(self.claim_bags[at] for at in self.telling))
        return self.evidence.weights.share(self.wanted, brought)

    @cached_property
    def closeness(self) -> float:
        return max((self.nearness[at] for at in self.telling), default=0.0)

    @cached_property
    def numbers_wanted(self) -> frozenset[str]:
        """The figures of the reference that the question does not give away."""
        reference = self.exam.reference.answer or ""
        return numbers_in(reference) - numbers_in(self.exam.question)

    @cached_property
    def numbers_missed(self) -> frozenset[str]:
        return self.numbers_wanted - numbers_in(self.plain) - spelled_numbers(self.plain)

    @cached_property
    def contradiction(self) -> str:
        """The first claim that speaks of what the reference says, and says otherwise."""
        if not self.exam.reference.answer:
            return ""
        return next((c for at in self.telling if self._contradicts(c := self.claims[at].text)), "")

    @cached_property
    def valid_sources(self) -> tuple[Citation, ...]:
        chunks = self.exam.chunks
        return tuple(
            source
            for source in self.exam.answer.sources
            if source.number <= len(chunks)
            and chunks[source.number - 1].chunk_id == source.chunk_id
        )

    @cached_property
    def invalid_count(self) -> int:
        listed = len(self.exam.answer.sources) - len(self.valid_sources)
        marks = (n for mark in find_marks(self.exam.answer.answer) for n in mark.numbers)
        return listed + sum(not 1 <= n <= len(self.exam.chunks) for n in marks)

    @cached_property
    def gold_share(self) -> float | None:
        """The share of the cited fragments that come from a document known to hold the answer."""
        gold = set(self.exam.reference.source_ids)
        if not gold:
            return None
        cited = {source.chunk_id: source.source_id in gold for source in self.valid_sources}
        return sum(cited.values()) / len(cited) if cited else 0.0

    @cached_property
    def covered(self) -> tuple[bool, ...]:
        """For each claim, whether its own mark or the next one in its run stands for it."""
        covered = [bool(claim.numbers) for claim in self.claims]
        for at in range(len(covered) - 2, -1, -1):
            named = self._named_after(at)
            if not covered[at] and named:
                covered[at] = self.evidence.supports(self.claims[at].text, named, cited=False)
        return tuple(covered)

    @cached_property
    def repeated(self) -> int:
        """How many claims say again what one before them said."""
        return sum(
            any(_alike(bag, earlier) for earlier in self.claim_bags[:at])
            for at, bag in enumerate(self.claim_bags)
        )

    @property
    def _texts(self) -> int:
        return len(self.exam.chunks) + bool(self.exam.reference.answer)

    def _named_after(self, at: int) -> list[int]:
        """The fragments that the first marked claim after `at` names, as places from 0."""
        following = next((claim for claim in self.claims[at + 1 :] if claim.numbers), None)
        numbers = following.numbers if following else ()
        return [n - 1 for n in numbers if 1 <= n <= len(self.exam.chunks)]

    def _bag(self, text: str) -> frozenset[str]:
        return bag_of(text, self.evidence.languages)

    def _contradicts(self, claim: str) -> bool:
        """Other numbers than the reference's, or one of the two denies while their words agree."""
        reference = self.exam.reference.answer or ""
        said, denials = split_denials(claim)
        known, known_denials = split_denials(reference)
        said_bag, known_bag = self._words(said), self._words(known)
        share = self.evidence.weights.share
        if share(said_bag, known_bag | self.question_bag) >= SAME_MATTER_FROM:
            numbers = numbers_in(claim) - numbers_in(self.exam.question)
            if self.numbers_missed and numbers and not numbers & self.numbers_wanted:
                return True
        both = min(share(said_bag, known_bag), share(known_bag, said_bag))
        return both >= AGREE_FROM and bool(denials) != bool(known_denials)

    def _words(self, text: str) -> frozenset[str]:
        return frozenset(term for term in self._bag(text) if not term[0].isdigit())


def take_apart(exam: Exam) -> tuple[Claim, ...]:
    """Cut the answer into the claims that are measured."""
    return tuple(claims_in(exam.answer.answer, exam.language))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= 0.8 * max(len(one | other), 1)
