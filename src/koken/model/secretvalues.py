"""Secrets of pydantic (``SecretStr`` and its like): kept as they are, called secret in the schema.

Pydantic writes ten asterisks for them. What is stored has to be the value, for the body needs it;
that nobody is shown it is said by ``writeOnly`` in the JSON Schema.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, Secret, SecretBytes, SecretStr
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticSerializationError, core_schema, to_jsonable_python
from typing_extensions import override

KINDS = (SecretStr, SecretBytes, Secret)
LISTS = (list, tuple, set, frozenset, deque)
ASTERISKS = '"**********"'
"""How JSON has a secret of pydantic where its type is not known."""
DEEPEST = 100
"""Values within values that are looked through."""


class SaysSecret(GenerateJsonSchema):
    """JSON Schemas that call each secret one; pydantic itself leaves out ``Secret[date]``."""

    @override
    def json_or_python_schema(self, schema: core_schema.JsonOrPythonSchema) -> JsonSchemaValue:
        found = super().json_or_python_schema(schema)
        return {**found, "writeOnly": True} if writes_asterisks(schema) else found


def writes_asterisks(schema: Mapping[str, Any]) -> bool:
    """Whether values of a core schema are written as asterisks."""
    function = schema.get("serialization", {}).get("function")
    return getattr(function, "__module__", "") == Secret.__module__ and "secret" in getattr(
        function, "__name__", ""
    )


def has_secrets(schema: Any) -> bool:
    """Whether values of a core schema may have secrets in them."""
    if isinstance(schema, Mapping):
        return writes_asterisks(schema) or any(map(has_secrets, schema.values()))
    return isinstance(schema, list | tuple) and any(map(has_secrets, schema))


def revealed(plain: Any, python: Any) -> Any:
    """A plain value with its secrets; ``python`` is the same value with pydantic's own of them."""
    if isinstance(python, KINDS):
        return to_jsonable_python(python.get_secret_value())
    try:
        if isinstance(plain, dict) and isinstance(python, dict):
            pairs = zip(plain.items(), python.values(), strict=True)
            return {key: revealed(item, other) for (key, item), other in pairs}
        if isinstance(plain, list) and isinstance(python, LISTS):
            return [revealed(item, other) for item, other in zip(plain, python, strict=True)]
    except ValueError:
        raise PydanticSerializationError(
            "a serializer of its own changes how many values there are beside a secret"
        ) from None
    return plain


def secret_within(value: Any, path: str, deep: int = DEEPEST) -> str | None:
    """The place of a secret of pydantic in a value of no known type; None where there is none."""
    if isinstance(value, KINDS):
        return path
    if not deep:
        return None
    if isinstance(value, BaseModel):
        value = dict(value)
    elif hasattr(value, "__dataclass_fields__"):
        value = vars(value)
    parts: Iterable[tuple[str, Any]] = ()
    if isinstance(value, Mapping):
        parts = ((f"{path}.{key}", item) for key, item in value.items())
    elif isinstance(value, LISTS):
        parts = ((f"{path}[{no}]", item) for no, item in enumerate(value))
    found = (secret_within(item, at, deep - 1) for at, item in parts)
    return next((each for each in found if each is not None), None)
