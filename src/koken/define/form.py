"""The form of values of one type: checked, made plain and read back by pydantic."""

from __future__ import annotations

from typing import Any, cast

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic_core import CoreConfig, CoreSchema, SchemaSerializer

from koken.model import codec
from koken.model.secretvalues import SaysSecret, has_secrets, revealed

KEEP_NAN = CoreConfig(ser_json_inf_nan="constants")
"""Pydantic would turn NaN into null here and there; ``codec`` refuses it and names the place."""


class Formless(Exception):
    """A type whose values have no form; the message goes on from "the type, which"."""


class Form:
    """Everything about values of the type ``hint``, built once.

    Raises ``Formless`` when they cannot be kept as JSON.
    """

    __slots__ = ("adapter", "has_secrets", "serializer")

    def __init__(self, hint: Any) -> None:
        try:
            self.adapter: TypeAdapter[Any] = TypeAdapter(hint)
            schema = dict(self.adapter.core_schema)
        except PydanticUserError as error:
            raise formless(error) from None
        self.serializer = SchemaSerializer(cast("CoreSchema", schema), KEEP_NAN)
        self.has_secrets = has_secrets(schema)

    def check(self, value: Any) -> Any:
        """``value`` as the type has it. Raises ``pydantic.ValidationError``."""
        return self.adapter.validate_python(value)

    def read(self, text: str) -> Any:
        """The value of a JSON text. Raises ``pydantic.ValidationError``."""
        return self.adapter.validate_json(text)

    def load(self, plain: Any, *, name: str) -> Any:
        """The value of plain ones; ``name`` is what it is. Raises ``pydantic.ValidationError``."""
        return self.read(codec.encode(plain, name=name))

    def dump(self, value: Any, *, exact: bool = False) -> Any:
        """``value`` in JSON's types.

        Raises ``PydanticSerializationError`` when it has no such form; where ``exact``, also when
        it is not of the type.
        """
        plain = self.serializer.to_python(value, mode="json", warnings="error" if exact else "none")
        if not self.has_secrets:
            return plain
        return revealed(plain, self.serializer.to_python(value, warnings="none"))

    def json_schema(self) -> dict[str, Any]:
        """The type as a JSON Schema. Raises ``Formless`` when it has none."""
        try:
            return self.adapter.json_schema(schema_generator=SaysSecret)
        except PydanticUserError as error:
            raise formless(error) from None


def formless(error: PydanticUserError) -> Formless:
    """Why pydantic does not know a type."""
    if error.code == "class-not-fully-defined":
        return Formless("uses a class that is not defined yet. Declare the job after that class.")
    return Formless(
        "cannot be kept as JSON. Use a plain value, a pydantic model or a dataclass, or the key of "
        "something larger."
    )
