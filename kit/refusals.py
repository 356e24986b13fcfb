"""The sentence that says that the sources are silent, in the languages of the lab."""

_REFUSALS = {
    "ar": "المصادر لا تذكر ذلك.",
    "de": "Die Quellen sagen dazu nichts.",
    "en": "The sources do not say.",
    "es": "Las fuentes no lo dicen.",
    "et": "Allikad ei ütle seda.",
    "fr": "Les sources ne le disent pas.",
    "it": "Le fonti non lo dicono.",
    "pt": "As fontes não o dizem.",
    "ru": "В источниках этого нет.",
    "zh": "资料中没有说明。",
}


def refusal_in(language: str) -> str:
    """Give the refusal in `language` (ISO 639-1), in English where we do not have it."""
    return _REFUSALS.get(language, _REFUSALS["en"])


def is_refusal(text: str) -> bool:
    """Tell whether `text` is one of these sentences and nothing else."""
    return text.strip() in _REFUSALS.values()
