"""A start form turned from fields into JSON and back, with what was typed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from koken.web.console.startfields import MISSING, Field


def spelled_out(fields: Iterable[Field], values: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for somebody to change: what was given, and the defaults of the rest.

    Objects that must be given are there with all that is in them, and null for what has no
    default. Secrets are left out, and so is what may be left out and has no default that is known.
    """
    found: dict[str, Any] = {}
    for each in fields:
        value = values.get(each.name, each.default)
        if each.secret:
            continue
        if each.kind == "group" and isinstance(value, Mapping):
            found[each.name] = spelled_out(each.fields, value)
        elif value is not MISSING:
            found[each.name] = value
        elif each.kind == "group" and each.required:
            found[each.name] = spelled_out(each.fields, {})
        elif each.required or each.nullable:
            found[each.name] = [] if each.kind == "lines" else None
    return found


def unplaced(
    fields: Iterable[Field], values: Mapping[str, Any], before: str = ""
) -> Iterator[tuple[str, str]]:
    """What fields cannot show of values, by its path: it would be lost."""
    known = {each.name: each for each in fields}
    for name, value in values.items():
        path, each = f"{before}{name}", known.get(name)
        if each is None:
            yield path, "has no field"
        elif each.secret or value is None:
            continue
        elif each.kind == "group":
            if isinstance(value, Mapping):
                yield from unplaced(each.fields, value, f"{path}.")
            else:
                yield path, "is no object"
        elif each.kind == "switch" and not isinstance(value, bool):
            yield path, "is neither true nor false"
        elif each.kind == "choice" and value not in each.choices:
            yield path, "is not one of the choices"
