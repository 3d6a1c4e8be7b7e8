"""Results on their way to the database and back, by a function's return annotation."""

from __future__ import annotations

import inspect
import types
from collections.abc import Coroutine
from typing import Any, Never, NoReturn, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from koken.define.form import Form, Formless
from koken.errors import DeclarationError
from koken.model import codec
from koken.model.outcome import Outcome

FREE = (inspect.Signature.empty, Any, object, None, type(None), Never, NoReturn)
"""Annotations that say nothing about the form of a result."""
NAME = "the result"


class Result:
    """The form of a result: ``hint`` is a return annotation, outcomes in it do not count.

    ``owner`` is whose result it is, for messages.
    Raises ``DeclarationError`` when the type has no JSON form.
    """

    __slots__ = ("form", "hint")

    def __init__(self, hint: Any, *, owner: str) -> None:
        self.hint = without_outcomes(hint)
        self.form = None if self.hint in FREE else form_of(self.hint, owner)

    def dump(self, value: Any) -> str:
        """``value`` as JSON text; None whatever the annotation says.

        Raises ``Unstorable`` when it has none, ``TypeError`` when it could not be read back as
        what the annotation says.
        """
        if value is None:
            return "null"
        if isinstance(value, Coroutine):
            value.close()
            raise TypeError("the result is a coroutine; was an await forgotten?")
        if self.form is None:
            return codec.encode(value, name=NAME)
        try:
            plain = self.form.dump(value, exact=True)
        except PydanticSerializationError:
            return self.dump_other(self.form, value)
        return codec.encode(plain, name=NAME)

    def dump_other(self, form: Form, value: Any) -> str:
        """A value that is not of the annotated type, where it reads back as one that is."""
        text = codec.encode(value, name=NAME)
        try:
            form.read(text)
        except ValidationError:
            raise TypeError(
                f"the result is of type {type(value).__qualname__}, but the function says "
                f"-> {name_of(self.hint)}"
            ) from None
        return text

    def load(self, plain: Any) -> Any:
        """The typed value of plain JSON values. Raises ``pydantic.ValidationError``."""
        if plain is None or self.form is None:
            return plain
        return self.form.load(plain, name=NAME)


def form_of(hint: Any, owner: str) -> Form:
    """The form of a result; refuses types that have none in JSON."""
    try:
        form = Form(hint)
    except Formless as error:
        raise DeclarationError(f"{owner} returns {name_of(hint)}, which {error}") from None
    if form.has_secrets:
        raise DeclarationError(
            f"{owner} returns {name_of(hint)}, which has a secret in it. A result is told to "
            "whoever may read the run: return the name under which the secret is to be had."
        )
    return form


def without_outcomes(hint: Any) -> Any:
    """``Report | Retry | None`` as ``Report | None``."""
    if is_outcome(hint):
        return None
    if get_origin(hint) not in (Union, types.UnionType):
        return hint
    rest = tuple(member for member in get_args(hint) if not is_outcome(member))
    return Union[rest] if rest else None  # noqa: UP007  # made from a tuple


def is_outcome(hint: Any) -> bool:
    """Whether ``hint`` is one of the outcome classes."""
    return isinstance(hint, type) and issubclass(hint, Outcome)


def name_of(hint: Any) -> str:
    """A type as it is written in an annotation."""
    if isinstance(hint, str):
        return hint
    plain = isinstance(hint, type) and not get_args(hint)
    return hint.__name__ if plain else str(hint).replace("typing.", "")
