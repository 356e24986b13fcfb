"""JSON schemas as the strict mode of chat endpoints wants them."""

from typing import Any

from pydantic import BaseModel

_LEFT_OUT = frozenset({"default", "title", "description", "pattern"})
"""Keywords, not fields of these names: a field's schema is an object."""


def strict_schema(model: type[BaseModel], name: str) -> dict[str, Any]:
    """Give the schema of `model`: nested parts inlined, every field required, no further ones.

    `name` becomes its title, by which an endpoint knows it. The order of fields is kept: it is
    the order in which a model writes. A mapping with a closed set of keys becomes an object of
    these keys; patterns and defaults go: what is read is checked against the model anyway.
    """
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    return {**_strict(schema, definitions), "title": name}


def _strict(value: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_strict(item, definitions) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _strict(definitions[value["$ref"].rsplit("/", 1)[1]], definitions)
    if "propertyNames" in value:
        keys = _strict(value["propertyNames"], definitions)["enum"]
        each = value["additionalProperties"]
        value = {"type": "object", "properties": dict.fromkeys(keys, each)}
    plain = {
        key: _strict(item, definitions)
        for key, item in value.items()
        if not (key in _LEFT_OUT and not isinstance(item, dict))
    }
    if plain.get("type") == "object":
        plain |= {"required": list(plain["properties"]), "additionalProperties": False}
    return plain
