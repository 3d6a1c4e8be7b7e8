"""The fields of a form, made from a job's arguments: what can be typed, chosen, ticked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from koken.model.fields import Schema
from koken.model.hiding import calls_secret, may_be_text, opened
from koken.web.console.fieldwords import is_decimal, takes

DEEPEST = 4
"""Objects within objects that have fields of their own; what is deeper is written as JSON."""
MISSING: Any = object()
"""Where there is no default."""
FORMATS = {"date": "date", "date-time": "instant", "time": "time"}
ITEMS = {"string": "text", "integer": "integer", "number": "number"}
"""Items of lists that are written one a line."""
KINDS = {"string": "text", "integer": "integer", "number": "number", "boolean": "switch"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """An argument, or a part of one.

    ``kind``: text, integer, number, decimal, switch, choice, date, instant, time, lines, json or
    group.
    """

    path: str
    """``customer.name``, as messages about arguments have it."""
    name: str
    kind: str
    takes: str = ""
    """What it takes, in words."""
    hint: str = ""
    required: bool = False
    """Whether a start must give it, or the object that it is in must have it."""
    nullable: bool = False
    default: Any = MISSING
    secret: bool = False
    """Whether nobody is shown its value."""
    choices: tuple[Any, ...] = ()
    item: str = ""
    """The kind of each of its lines."""
    fields: tuple[Field, ...] = ()

    @property
    def optional(self) -> bool:
        """Whether a group may be left out."""
        return not self.required or self.nullable

    def within(self) -> Iterator[Field]:
        """Itself and all fields in it."""
        yield self
        for each in self.fields:
            yield from each.within()


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes the fields of one schema; ``secret`` says of a name whether its value is hidden."""

    root: Schema
    secret: Callable[[str], bool]
    depth: int = 0
    hidden: bool = False
    """Whether all that is made is secret, as what it stands in is."""
    seen: tuple[str, ...] = field(default=())

    def of_object(self, schema: Schema, before: str = "") -> tuple[Field, ...]:
        """The fields for the properties of an object."""
        required = schema.get("required", ())
        return tuple(
            self.one(name, f"{before}{name}", part, required=name in required)
            for name, part in schema.get("properties", {}).items()
        )

    def one(self, name: str, path: str, part: Schema, *, required: bool) -> Field:
        """The field for one property."""
        schema, nullable = self.plain(part)
        called = any(map(calls_secret, opened([part], self.root)))
        named = self.secret(name) and may_be_text(part, self.root)
        hidden = self.hidden or called or named
        kind = kind_of(schema, required=required, nullable=nullable)
        if hidden and kind == "switch":
            kind = "choice"  # a tick that nobody may see cannot be left as it is
        item = self.item_of(schema) if kind == "json" and not hidden else ""
        made = Field(
            path=path,
            name=name,
            kind="lines" if item else kind,
            takes=takes(schema, self.plain),
            hint=str(schema.get("description", "")),
            required=required,
            nullable=nullable,
            default=schema.get("default", MISSING),
            secret=hidden,
            choices=choices_of(schema, kind),
            item=item,
        )
        if kind != "group":
            return made
        if self.depth == DEEPEST:
            return replace(made, kind="json")
        deeper = replace(self, depth=self.depth + 1, hidden=hidden)
        return replace(made, fields=deeper.of_object(schema, f"{path}."))

    def item_of(self, schema: Schema) -> str:
        """The kind of the items of a list that is written one a line; empty for all else."""
        items = schema.get("items")
        if schema.get("type") != "array" or "prefixItems" in schema or not isinstance(items, dict):
            return ""
        part, nullable = self.plain(items)
        if nullable or "enum" in part or "const" in part:
            return ""
        return ITEMS.get(str(part.get("type")), "")

    def plain(self, part: Schema) -> tuple[Schema, bool]:
        """A schema without references, and whether null is allowed beside it."""
        schema, nullable = self.followed(part), False
        branches = schema.get("anyOf") or schema.get("oneOf") or ()
        others = [each for each in branches if each.get("type") != "null"]
        if len(others) == 1:
            around = {
                key: item for key, item in schema.items() if key not in ("anyOf", "oneOf", "title")
            }
            schema = {**self.plain(others[0])[0], **around}
            nullable = len(others) < len(branches)
        elif others:
            nullable = len(others) < len(branches)
            schema = {**schema, "anyOf": others}
        return schema, nullable

    def followed(self, part: Schema) -> Schema:
        """A schema with what its reference leads to; references to references are followed."""
        schema = part
        for _ in range(10):
            reference = schema.get("$ref", "")
            if not reference and len(schema.get("allOf", ())) == 1:
                reference = schema["allOf"][0].get("$ref", "")
            if not reference.startswith("#/"):
                return schema
            found: Any = self.root
            for step in reference[2:].split("/"):
                found = found.get(step, {})
            rest = {key: item for key, item in schema.items() if key not in ("$ref", "allOf")}
            schema = {**found, **rest}
        return schema


def fields_of(schema: Schema, secret: Callable[[str], bool]) -> tuple[Field, ...]:
    """The fields for a job's arguments, in their order."""
    return Maker(schema, secret).of_object(schema)


def formless(schema: Schema) -> bool:
    """Whether a job takes arguments that it does not name, so that there are no fields for them."""
    return not schema or bool(schema.get("additionalProperties", "properties" not in schema))


def kind_of(schema: Schema, *, required: bool, nullable: bool) -> str:
    """How a value is written."""
    if "enum" in schema or "const" in schema:
        return "choice"
    if is_decimal(schema):
        return "decimal"
    kind = schema.get("type")
    if kind == "object":
        return "json" if formless(schema) else "group"
    if kind == "boolean" and (required or nullable):
        return "choice"
    if kind == "string":
        return FORMATS.get(schema.get("format", ""), "text")
    return KINDS.get(kind, "json") if isinstance(kind, str) else "json"


def choices_of(schema: Schema, kind: str) -> tuple[Any, ...]:
    """What can be chosen."""
    if kind != "choice":
        return ()
    if "const" in schema:
        return (schema["const"],)
    found: Sequence[Any] = schema.get("enum", (True, False))
    return tuple(found)


def dump(value: Any) -> str:
    """A value as JSON that people can edit."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def told(value: Any) -> str:
    """A choice as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
