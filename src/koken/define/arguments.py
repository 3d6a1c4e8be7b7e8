"""Arguments on their way from a call to the database and from there to a function.

Both ways go through one validator, built once from the function's type hints.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NotRequired

from pydantic import ConfigDict, ValidationError, with_config
from pydantic_core import PydanticSerializationError
from typing_extensions import TypedDict

from koken.define.body import NOT_STARTED, json_or_text
from koken.define.form import Form, Formless
from koken.define.problems import by_path, invalid
from koken.define.result import name_of
from koken.define.signature import Parameter
from koken.define.spelling import meant
from koken.errors import DeclarationError, InvalidArguments
from koken.model import codec, fields

NONE: dict[str, Any] = {}
"""No arguments; shared, so nobody writes into it."""

typed_dict: Any = TypedDict  # a type checker wants the names of the fields, known only later


class Arguments:
    """The arguments of a job's function.

    ``job`` is the job's name, for messages.
    Raises ``DeclarationError`` when one has a type that cannot be kept as JSON.
    """

    __slots__ = ("defaults", "form", "job", "open", "parameters", "required", "schema")

    def __init__(self, parameters: Sequence[Parameter], *, job: str) -> None:
        self.job = job
        self.parameters = {each.name: each for each in parameters}
        self.required = tuple(each.name for each in parameters if each.required)
        self.open = frozenset(each.name for each in parameters if each.hint in (Any, object))
        self.form = form_of(parameters, job)
        self.defaults = self.plain_defaults()
        self.schema = self.json_schema()

    def named(self, job: str) -> Arguments:
        """The same arguments, as those of ``job``."""
        other = copy.copy(self)
        other.job = job
        return other

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Plain values by name of a call; what the call leaves out is left out."""
        if not args and not kwargs and not self.required:
            return {}
        values, problems = self.by_name(args, kwargs)
        return self.plain(self.checked(values, problems, self.form.check))

    def bind_plain(self, plain: Mapping[str, Any]) -> dict[str, Any]:
        """As ``bind``, of values that came as JSON."""
        values, problems = self.by_name((), plain)
        return self.plain(self.checked(values, problems, self.from_plain))

    def bind_text(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """As ``bind``, of texts: taken as they stand where the type allows it, else as JSON."""
        values: dict[str, Any] = dict(texts)
        values |= {name: json_or_text(texts[name]) for name in self.open & texts.keys()}
        known = {name: value for name, value in values.items() if name in self.parameters}
        try:
            read = self.from_plain(known)
            if known.keys() == values.keys():
                return self.plain(read)
        except ValidationError as error:
            unfit = {str(detail["loc"][0]) for detail in error.errors() if detail["loc"]}
            values |= {name: json_or_text(texts[name]) for name in unfit & texts.keys()}
        return self.bind_plain(values)

    def from_plain(self, values: dict[str, Any]) -> dict[str, Any]:
        """Typed values of plain ones. Raises ``ValidationError``."""
        found: dict[str, Any] = self.form.read(self.encode(values))
        return found

    def checked(
        self,
        values: dict[str, Any],
        problems: Mapping[str, str],
        read: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> dict[str, Any]:
        """Typed values. Raises ``InvalidArguments`` with all that is wrong: what a call has
        besides its values, and what these are."""
        if not problems:
            try:
                return read(values)
            except ValidationError as error:
                raise invalid(self.job, by_path(error, self.schema), end=NOT_STARTED) from None
        more: Mapping[str, str] = {}
        try:
            read({name: value for name, value in values.items() if name in self.parameters})
        except ValidationError as error:
            more = by_path(error, self.schema)
        except InvalidArguments as error:
            more = error.problems
        raise invalid(self.job, {**problems, **more}, end=NOT_STARTED)

    def typed(self, plain: Mapping[str, Any]) -> dict[str, Any]:
        """Keyword arguments for the function, of stored values."""
        if not plain:
            return NONE
        try:
            values: dict[str, Any] = self.form.read(self.encode(plain))
        except ValidationError as error:
            raise invalid(self.job, by_path(error, self.schema, values=False)) from None
        return values

    def by_name(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """The values of a call by the arguments' names, as Python itself would give them out.

        With them what is wrong with the call, whatever the values are.
        """
        places = [each.name for each in self.parameters.values() if not each.keyword_only]
        problems: dict[str, str] = {}
        if len(args) > len(places):
            problems[""] = f"takes {counted(len(places))} without a name, {len(args)} were given"
        values = dict(zip(places, args, strict=False))
        problems |= {name: "is given twice" for name in kwargs if name in values}
        unknown = [name for name in kwargs if name not in self.parameters]
        hints = meant(unknown, self.parameters)
        problems |= {name: f"is not an argument.{hint}" for name, hint in hints.items()}
        values |= kwargs
        problems |= {name: "is missing" for name in self.required if name not in values}
        return values, problems

    def plain(self, values: dict[str, Any]) -> dict[str, Any]:
        """Typed values as plain ones. Raises ``InvalidArguments`` for what cannot be kept."""
        try:
            plain = self.dump(values)
        except (PydanticSerializationError, UnicodeEncodeError):
            raise invalid(self.job, self.unstorable(values), end=NOT_STARTED) from None
        self.encode(plain)
        return plain

    def dump(self, values: dict[str, Any]) -> dict[str, Any]:
        """``values`` in JSON's types."""
        plain: dict[str, Any] = self.form.dump(values)
        return plain

    def encode(self, plain: Mapping[str, Any]) -> str:
        """Plain values as JSON text. Raises ``InvalidArguments`` for what cannot be kept."""
        try:
            return codec.encode(plain, name="the whole")
        except codec.Unstorable as error:
            problems = self.unstorable(plain) or {"": str(error)}
            raise invalid(self.job, problems, end=NOT_STARTED) from None

    def unstorable(self, values: Mapping[str, Any]) -> dict[str, str]:
        """The arguments that cannot be kept as JSON, and why."""
        problems = {}
        for name, value in values.items():
            try:
                codec.encode(self.dump({name: value}).get(name), name=name)
            except (codec.Unstorable, PydanticSerializationError) as error:
                problems[name] = str(error)
            except UnicodeEncodeError:
                problems[name] = codec.SURROGATE.format(name=name)
        return problems

    def plain_defaults(self) -> dict[str, Any]:
        """The defaults as plain values, of those arguments whose default has such a form."""
        optional = {
            each.name: each.default for each in self.parameters.values() if not each.required
        }
        unfit = self.unstorable(optional)
        return self.dump({name: value for name, value in optional.items() if name not in unfit})

    def json_schema(self) -> dict[str, Any]:
        """The arguments as a JSON Schema, defaults included."""
        try:
            schema = self.form.json_schema()
        except Formless:
            raise blame(self.parameters.values(), self.job) from None
        for name, value in self.defaults.items():
            schema["properties"][name]["default"] = value
        return fields.noted(schema)


def form_of(parameters: Iterable[Parameter], job: str) -> Form:
    """The form of a job's arguments, as a dictionary of those that are given."""
    hints = {
        each.name: each.hint if each.required else NotRequired[each.hint] for each in parameters
    }
    no_others = with_config(ConfigDict(extra="forbid"))
    try:
        return Form(no_others(typed_dict(job, hints)))
    except Formless:
        raise blame(parameters, job) from None


def blame(parameters: Iterable[Parameter], job: str) -> DeclarationError:
    """The error for the first argument whose type has no form."""
    for each in parameters:
        try:
            Form(each.hint).json_schema()
        except Formless as error:
            kind = name_of(each.hint)
            return DeclarationError(
                f"job {job!r}: argument {each.name!r} has the type {kind}, which {error}"
            )
    return DeclarationError(f"job {job!r}: its arguments have no form together.")


def counted(number: int) -> str:
    """``1 argument``, ``2 arguments``."""
    return "1 argument" if number == 1 else f"{number or 'no'} arguments"
