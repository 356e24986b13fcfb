"""The fixed part of a model reader's instructions: the answer contract and the genes of choice."""

from models.genes import render
from pipeline.ports import Reading

_VERBOSITY = {
    "concise": "Answer in one sentence.",
    "adaptive": "Answer as briefly as the question allows: one to three sentences.",
    "comprehensive": "Answer in full: all that the fragments say on the question.",
}
_CITATION = {
    "always": "Put [n], the number of its fragment, after every sentence.",
    "inline": "Put [n], the number of its fragment, once after the last sentence drawn from it.",
    "sources_only": "Put no [n] into the text; list the fragments under `sources` alone.",
}
_FORMAT = {
    "prose": "Write running text.",
    "bullets": "Write a list, one point a line, each beginning with `- `.",
    "steps": "Write numbered steps, one a line: `1. `, `2. `.",
}
_CONTRACT = """\
Reply with JSON: `abstained` (true only if the fragments hold no answer), `answer`, `key_points` \
(at most 3, short), `sources` (numbers of the fragments used), `warnings` (what a reader must \
know: contradictions, gaps; else empty).
Example, for a fragment "[2] Opening hours: The library closes at 18:00.":
{"abstained": false, "answer": "%s", "key_points": ["closes at 18:00"], "sources": [2], \
"warnings": []}"""
_EXAMPLE = "The library closes at 18:00"


def rules_for(reading: Reading) -> str:
    """Say what the chosen genes and the contract ask for, one rule a line."""
    genome = reading.genomes.postprocess
    profile = reading.genomes.routing.profiles[reading.query_type]
    own, _ = render(profile.system_prompt, {})
    marked = genome.citation_policy != "sources_only"
    example = f"{_EXAMPLE}{' [2]' if marked else ''}."
    rules = (_VERBOSITY[genome.verbosity], _CITATION[genome.citation_policy])
    contract = _CONTRACT.replace("%s", example)
    return "\n".join((own, *rules, _FORMAT[profile.format], contract))
