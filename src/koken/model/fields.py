"""JSON Schemas as they are stored: what they refer to, and the order in which fields were declared.

Stored JSON does not keep the order of an object's fields. So a schema says it itself, under
``x-order``, in each object that stands within another; that of the whole is kept beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Schema = Mapping[str, Any]
ORDER = "x-order"
"""The names of an object's fields in the order of declaration."""
BY_NAME = ("properties", "$defs")
"""What has schemas by the names of fields or types, which may be any words."""
VALUES = ("default", "examples", "const", "enum")
"""What is a value, not a schema."""
DEEPEST = 10
"""References to references that are followed."""


def noted(schema: Schema) -> dict[str, Any]:
    """A schema of which each object within says the order of its fields."""

    def one(part: Schema) -> dict[str, Any]:
        made = within(part, one)
        names = list(part.get("properties", ()))
        return {**made, ORDER: names} if len(names) > 1 else made

    return within(schema, one)


def restored(schema: Schema) -> dict[str, Any]:
    """A stored schema with the fields of each object in the order of declaration."""
    made = within(schema, restored)
    if ORDER in made:
        made["properties"] = in_order(made["properties"], made[ORDER])
    return made


def within(schema: Schema, change: Callable[[Schema], Any]) -> dict[str, Any]:
    """A schema with each schema directly in it changed."""
    made: dict[str, Any] = {}
    for key, item in schema.items():
        if key in BY_NAME:
            made[key] = {name: changed(part, change) for name, part in item.items()}
        elif key in VALUES:
            made[key] = item
        elif isinstance(item, list):
            made[key] = [changed(part, change) for part in item]
        else:
            made[key] = changed(item, change)
    return made


def changed(part: Any, change: Callable[[Schema], Any]) -> Any:
    """A schema changed; what is none stays."""
    return change(part) if isinstance(part, Mapping) else part


def in_order(found: Mapping[str, Any], names: Any) -> dict[str, Any]:
    """A mapping with these names first, as far as it has them."""
    return {name: found[name] for name in names if name in found} | dict(found)


def arranged(value: Any, schema: Schema, root: Schema | None = None) -> Any:
    """A plain value with the fields of its objects in the order of declaration."""
    root = schema if root is None else root
    found = fitting(schema, value, root)
    if isinstance(value, list):
        items = found.get("items")
        return [arranged(each, items, root) for each in value] if items else value
    if not isinstance(value, Mapping):
        return value
    parts: Schema = found.get("properties", {})
    rest = found.get("additionalProperties")
    other: Schema = rest if isinstance(rest, Mapping) else {}
    return {
        name: arranged(item, parts.get(name, other), root)
        for name, item in in_order(value, found.get(ORDER, parts)).items()
    }


def fitting(schema: Schema, value: Any, root: Schema) -> Schema:
    """The schema that tells of a value's fields or items: behind references, and of several the
    first that knows all fields."""
    found = followed(schema, root)
    branches = [each for key in ("anyOf", "oneOf", "allOf") for each in found.get(key, ())]
    wanted = "items" if isinstance(value, list) else "properties"
    known = [one for each in branches if wanted in (one := followed(each, root))]
    if wanted in found or not known:
        return found
    if isinstance(value, Mapping):
        whole = [one for one in known if value.keys() <= one["properties"].keys()]
        return (whole or known)[0]
    return known[0]


def followed(schema: Schema, root: Schema) -> Schema:
    """A schema, or what it refers to."""
    for _ in range(DEEPEST):
        reference = schema.get("$ref", "")
        if not reference.startswith("#/"):
            break
        found: Any = root
        for step in reference[2:].split("/"):
            found = found.get(step, {})
        schema = found
    return schema
