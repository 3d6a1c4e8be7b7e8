"""What an argument takes, in words: ``whole number, at least 0``, ``list of texts``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from koken.model.fields import Schema

DEEPEST = 3
"""Lists within lists that are told."""
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
KINDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "yes or no"}
FORMATS = {"date": "date", "date-time": "date and time", "time": "time", "duration": "duration"}
BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "pattern": "like {}",
}
MANY = ("text", "whole number", "number", "exact number", "date", "time", "duration", "list")
"""What has a plural with an s."""
Plain = Callable[[Schema], tuple[Schema, bool]]
"""Gives a schema without references, and whether null is allowed beside it."""


def takes(schema: Schema, plain: Plain, depth: int = 0) -> str:
    """What a value of a schema without references is; ``plain`` opens what is within."""
    if "enum" in schema or "const" in schema:
        every = schema.get("enum", [schema.get("const")])
        return f"one of {', '.join(map(chosen, every))}"
    if is_decimal(schema):
        return "exact number"
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        return " or ".join(
            dict.fromkeys(takes(plain(each)[0], plain, depth + 1) for each in branches)
        )
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items")
        if isinstance(items, dict) and items and depth < DEEPEST:
            return f"list of {many(takes(plain(items)[0], plain, depth + 1))}"
        return "list"
    if kind == "object":
        names = schema.get("properties")
        return f"object with {', '.join(names)}" if names else "object"
    if kind not in KINDS:
        return "anything"
    told = FORMATS.get(schema.get("format", ""), KINDS[kind])
    bounds = [text.format(schema[key]) for key, text in BOUNDS.items() if key in schema]
    return ", ".join([told, *bounds])


def many(words: str) -> str:
    """More than one of it: ``texts``, ``objects with a, b``."""
    if words.startswith("object"):
        return words.replace("object", "objects", 1)
    first = words.partition(",")[0]
    return words.replace(first, f"{first}s", 1) if first in MANY else words


def chosen(value: Any) -> str:
    """A choice as it is written in JSON, texts without their marks."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def is_decimal(schema: Schema) -> bool:
    """Whether it is an exact number, which may be a number or a text."""
    branches = schema.get("anyOf", ())
    kinds = sorted(str(each.get("type")) for each in branches)
    patterned = any("pattern" in each for each in branches)
    written = NUMBER.fullmatch(str(schema.get("default", "")))
    return kinds == ["number", "string"] and bool(patterned or written)
