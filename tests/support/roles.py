"""What the test server's model says in each role: plain, deterministic functions of the prompt."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MISSING = object()
_WORD = re.compile(r"\w+")
_FRAGMENT = re.compile(r"(?m)^\s*\[(\d+)\]")
_SECTION = re.compile(
    r"(?im)^\W*(question|reference|answer|fragments?|context|sources)\b[^\n:>]*:?"
)
_FENCED = re.compile(r"(?m)^==\w+== (\w+)[^\n]*$")
"""How the model judge's paper marks its sections."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_KINDS: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
}
_QUERY_TYPE_WORDS = {
    "how_to": ("how do", "how can", "how to", "steps", "cómo", "как "),
    "explanation": ("why", "explain", "por qué", "почему", "зачем"),
    "bsl_help": ("code", "bsl", "процедура", "функция", "код"),
}


@dataclass(frozen=True)
class Call:
    """One chat request as a handler sees it."""

    model: str
    messages: list[dict[str, str]]
    schema_name: str = ""
    schema: dict[str, Any] = field(default_factory=dict)

    @property
    def user(self) -> str:
        """All that is not instruction, in order."""
        return "\n".join(m["content"] for m in self.messages if m["role"] != "system")

    @property
    def text(self) -> str:
        return "\n".join(m["content"] for m in self.messages)


Handler = Callable[[Call], str]
"""Gives the content of the reply."""


def read(call: Call) -> str:
    """Quote the sentence of the fragments that shares most words with the question."""
    shared, number, sentence = _best_sentence(call.user)
    said = f"{sentence} [{number}]"
    if not call.schema:
        return said
    found: dict[str, Any] = {
        "abstained": not shared,
        "answer": said if shared else "The fragments do not say.",
        "key_points": [sentence] if shared else [],
        "sources": [number] if shared else [],
        "warnings": [],
    }
    return fill(call, lambda key, _schema: found.get(key, MISSING))


def judge(call: Call) -> str:
    """Score the answer by the share of the reference's and question's words that it has."""
    shared = _agreement(_sections(call.user))

    def hint(key: str, schema: dict[str, Any]) -> Any:
        if schema.get("type") in ("number", "integer"):
            return round(10 * shared)
        if schema.get("type") == "string":
            return f"{shared:.0%} of the words are there"
        return MISSING

    return fill(call, hint)


def classify(call: Call) -> str:
    """Pick the query type by keywords of the question."""
    asked = call.user.lower().rpartition("question")[2]
    hits = (name for name, words in _QUERY_TYPE_WORDS.items() if any(w in asked for w in words))
    name = next(hits, "factual_lookup")
    return fill(call, lambda _key, _schema: name) if call.schema else name


def mutate(call: Call) -> str:
    """Propose the genome of the prompt with one value moved, another one for each variant.

    Choices and bounds are read from the schema that was asked for.
    """
    genome = _genome_in(call.user)
    parts = call.schema.get("properties", {}).get("genome", {}).get("properties", {})
    number = int(([*re.findall(r"(?i)number (\d+)", call.user)] or ["1"])[-1])
    target = genome if genome.get("layer") != "routing" else _some_profile(genome, number)
    bounds = parts if target is genome else {"depth_budget": {"minimum": 1, "maximum": 4}}
    if target is not genome and "depth_budget" not in json.dumps(parts):
        bounds = {}  # another component is asked for
    movable = [name for name in sorted(target) if len(_choices(bounds.get(name, {}))) > 1]
    if movable:
        name = movable[number % len(movable)]
        others = [value for value in _choices(bounds[name]) if value != target[name]]
        target[name] = others[number % len(others)]
    elif (prompt := _prompt_asked_for(parts, genome)) is not None:
        prompt.append({"id": f"rule-{number}", "text": f"Keep rule {number}.", "origin": "mutator"})
    return json.dumps({"genome": genome, "notes": f"variant {number}"})


def _prompt_asked_for(parts: dict[str, Any], genome: dict[str, Any]) -> list[Any] | None:
    """Find the list of instructions that the schema's only field, however deep, is about."""
    for name, schema in parts.items():
        if schema.get("type") == "array":
            prompt: list[Any] = genome[name]
            return prompt
        return _prompt_asked_for(schema.get("properties", {}), genome[name])
    return None


def _some_profile(genome: dict[str, Any], number: int) -> dict[str, Any]:
    names = sorted(genome["profiles"])
    profile: dict[str, Any] = genome["profiles"][names[number % len(names)]]
    return profile


def _choices(schema: dict[str, Any]) -> list[Any]:
    """Values that a gene may take; five even steps where it is a fraction."""
    if "enum" in schema:
        return list(schema["enum"])
    if schema.get("type") == "boolean":
        return [False, True]
    if "maximum" not in schema:
        return []
    low, high = schema["minimum"], schema["maximum"]
    if schema.get("type") == "number":
        return [round(low + step * (high - low) / 4, 2) for step in range(5)]
    return list(range(low, high + 1, max(1, (high - low) // 10)))


def plain(call: Call) -> str:
    """Fill whatever schema is asked for; without one, speak like a reader."""
    return fill(call, lambda _key, _schema: MISSING) if call.schema else read(call)


DEFAULT_HANDLERS: dict[str, Handler] = {
    "answer": read,
    "verdict": judge,
    "query_type": classify,
    "proposal": mutate,
}
"""By the schema's name in `response_format`; `plain` answers where no name fits."""


def fill(call: Call, hint: Callable[[str, dict[str, Any]], Any]) -> str:
    """Make JSON that fits the schema of `call`; `hint(key, schema)` decides what it can."""
    definitions = call.schema.get("$defs", {})

    def make(key: str, schema: dict[str, Any]) -> Any:
        if "$ref" in schema:
            schema = definitions[schema["$ref"].rpartition("/")[2]]
        if (value := hint(key, schema)) is not MISSING and _fits(value, schema):
            return value
        return _default(key, schema, make)

    return json.dumps(make("", call.schema), ensure_ascii=False)


def _default(key: str, schema: dict[str, Any], make: Callable[[str, dict[str, Any]], Any]) -> Any:
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return make(key, options[0])
    if schema.get("type") == "object":
        return {name: make(name, part) for name, part in schema.get("properties", {}).items()}
    if schema.get("type") == "array":
        return [make(key, schema.get("items", {}))] * max(1, schema.get("minItems", 1))
    plain_values = {"string": "none", "integer": schema.get("minimum", 0), "boolean": False}
    return plain_values.get(schema.get("type", ""), schema.get("minimum", 0))


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    kinds: dict[str, type | tuple[type, ...]] = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": (int, float),
    }
    kind = kinds.get(schema.get("type", ""))
    return value in schema.get("enum", [value]) and (kind is None or isinstance(value, kind))


def _agreement(parts: dict[str, str]) -> float:
    """Share of the wanted words that the answer has; a refusal is right where nothing is known."""
    answer, reference = parts.get("answer", ""), parts.get("reference", "")
    if "only a refusal is right" in reference:
        return float("[" not in answer)
    known = bool(reference) and not reference.startswith("(none")
    wanted = _words(reference if known else parts.get("question", ""))
    return len(wanted & _words(answer)) / max(1, len(wanted))


def _best_sentence(prompt: str) -> tuple[int, int, str]:
    """Give (words shared with the question, number of the fragment, sentence)."""
    asked = _words(prompt.rpartition("Question:")[2])
    found: list[tuple[int, int, str]] = []
    for number, body in _parts(_FRAGMENT, prompt):
        heading, _line_end, text = body.partition("Question:")[0].strip().partition("\n")
        for sentence in filter(None, map(str.strip, _SENTENCE_END.split(text or heading))):
            found.append((len(asked & _words(sentence)), int(number), sentence))
    return max(found, key=lambda item: item[0], default=(0, 1, "The sources are silent."))


def _sections(prompt: str) -> dict[str, str]:
    """Cut a prompt at lines that begin with the name of a part."""
    mark = _FENCED if _FENCED.search(prompt) else _SECTION
    return {name.lower(): body.strip() for name, body in _parts(mark, prompt)}


def _parts(mark: re.Pattern[str], prompt: str) -> list[tuple[str, str]]:
    """Give (name in the mark, text up to the next mark) of each mark in `prompt`."""
    marks = list(mark.finditer(prompt))
    ends = [later.start() for later in marks[1:]] + [len(prompt)]
    return [(m[1], prompt[m.end() : end]) for m, end in zip(marks, ends, strict=False)]


def _genome_in(prompt: str) -> dict[str, Any]:
    """Give the first JSON object of `prompt` that names a layer; {} where there is none."""
    decoder = json.JSONDecoder()
    for start in (match.start() for match in re.finditer(r"\{", prompt)):
        try:
            value, _end = decoder.raw_decode(prompt, start)
        except ValueError:
            continue
        if isinstance(value, dict) and "layer" in value:
            return value
    return {}


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text) if len(word) > 2}
