"""Bodies of jobs that other programs declare, by the JSON Schema of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import fastjsonschema
from fastjsonschema import JsonSchemaValueException
from typing_extensions import override

from koken.define.body import NOT_STARTED, Body
from koken.define.problems import invalid, path_of
from koken.define.spelling import meant
from koken.model.fields import Schema, fitting

Check = Callable[[Any], Any]
Path = tuple[int | str, ...]


class Stored(Body):
    """A body of which only the JSON Schema of its arguments is known."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.parameters = schema
        self.required = tuple(schema.get("required", ()))
        self.check = compiled(schema)
        self.parts: dict[int, Check] = {}
        """Checks of parts of the schema by their identity, made when something does not fit."""

    @override
    def bind_plain(self, plain: Mapping[str, Any]) -> dict[str, Any]:
        values = super().bind_plain(plain)
        known = self.argument_names or ()
        free = self.parameters.get("additionalProperties")
        unknown = [] if free else [name for name in values if name not in known]
        hints = meant(unknown, known)
        problems = {name: f"is not an argument.{hint}" for name, hint in hints.items()}
        rest = {name: value for name, value in values.items() if name not in problems}
        try:
            self.check(dict(rest))
        except JsonSchemaValueException as error:
            problems |= self.misfits(self.parameters, rest, ()) or told(error, ())
        if problems:
            raise invalid(self.label, problems, end=NOT_STARTED)
        return values

    def misfits(self, schema: Schema, value: Any, path: Path) -> dict[str, str]:
        """All that does not fit, by its place."""
        found = fitting(schema, value, self.parameters)
        problems: dict[str, str] = {}
        if isinstance(value, Mapping) and "properties" in found:
            parts = found["properties"]
            for name in found.get("required", ()):
                if name not in value:
                    problems[path_of((*path, name))] = "is missing"
            for name in [name for name in parts if name in value]:
                problems |= self.misfits(parts[name], value[name], (*path, name))
        elif isinstance(value, list) and isinstance(found.get("items"), Mapping):
            for place, item in enumerate(value):
                problems |= self.misfits(found["items"], item, (*path, place))
        return problems or self.alone(schema, value, path)

    def alone(self, schema: Schema, value: Any, path: Path) -> dict[str, str]:
        """What does not fit about a value as a whole."""
        if not path:
            return {}
        check = self.parts.get(id(schema))
        if check is None:
            definitions = {"$defs": self.parameters.get("$defs", {})}
            check = self.parts[id(schema)] = compiled({**definitions, **schema})
        try:
            check(value)
        except JsonSchemaValueException as error:
            return told(error, path)
        return {}


def compiled(schema: Schema) -> Check:
    """The check of one schema."""
    made: Check = fastjsonschema.compile(dict(schema), use_default=False)
    return made


def told(error: JsonSchemaValueException, path: Path) -> dict[str, str]:
    """What a check says, in words; ``path`` is where the value is that it was given."""
    parts = [int(part) if part.isdigit() else part for part in map(str, error.path[1:])]
    problem = str(error.message).removeprefix(str(error.name)).strip()
    return {path_of((*path, *parts)): f"the value {problem}"}
