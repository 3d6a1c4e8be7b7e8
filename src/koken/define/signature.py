"""What a function's signature says about it as a body: its context, its arguments, its colour."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic.fields import FieldInfo

from koken.define.asynccontext import AsyncContext
from koken.define.context import Context
from koken.define.facts import Facts
from koken.define.result import name_of
from koken.errors import DeclarationError

EMPTY = inspect.Parameter.empty
CONTEXT_NAMES = ("ctx", "context")
METHOD_NAMES = ("self", "cls")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of a body."""

    name: str
    hint: Any
    default: Any = EMPTY
    keyword_only: bool = False

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A function as a body: ``parameters`` are its arguments without the context."""

    is_async: bool
    takes_context: bool
    parameters: tuple[Parameter, ...]
    result: Any


def read(fn: Callable[..., Any], job: str) -> Signature:
    """The signature of ``fn``, the body of the job ``job``.

    Raises ``DeclarationError`` when a run could not call it.
    """
    if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        raise DeclarationError(
            f"job {job!r} yields; a job answers once. Return a list, or save() what is done so far."
        )
    hints = hints_of(fn, job)
    raw = list(inspect.signature(fn).parameters.values())
    is_async = inspect.iscoroutinefunction(fn)
    takes_context = asks_for_context(fn, raw, hints, job)
    for parameter in raw:
        check_kind(fn, parameter, job)
        check_default(parameter, job)
    if not takes_context and raw:
        check_first(fn, raw[0], hints, job)
    return Signature(
        is_async=is_async,
        takes_context=takes_context,
        parameters=tuple(
            Parameter(
                name=parameter.name,
                hint=hints.get(parameter.name, Any),
                default=parameter.default,
                keyword_only=parameter.kind is parameter.KEYWORD_ONLY,
            )
            for parameter in (raw[1:] if takes_context else raw)
        ),
        result=hints.get("return", EMPTY),
    )


def hints_of(fn: Callable[..., Any], job: str) -> dict[str, Any]:
    """The type hints of ``fn``, with texts and forward references resolved."""
    try:
        return get_type_hints(fn, include_extras=True)
    except NameError as error:
        raise DeclarationError(
            f"job {job!r}: a type hint of {fn.__name__} names {error.name!r}, which is not known "
            "in its module. Import it there, outside `if TYPE_CHECKING:`."
        ) from None
    except (AttributeError, SyntaxError, TypeError) as error:
        raise DeclarationError(
            f"job {job!r}: a type hint of {fn.__name__} is none: {error}."
        ) from None


def asks_for_context(
    fn: Callable[..., Any], raw: list[inspect.Parameter], hints: dict[str, Any], job: str
) -> bool:
    """Whether ``fn`` wants a context; refuses one in the wrong place or of the wrong colour."""
    places = [place for place, each in enumerate(raw) if is_context(hints.get(each.name))]
    if not places:
        return False
    wanted = AsyncContext if inspect.iscoroutinefunction(fn) else Context
    if places != [0]:
        if len(places) > 1:
            raise DeclarationError(
                f"job {job!r}: {fn.__name__} asks for the context twice. "
                f"Take {raw[places[1]].name} out."
            )
        (place,) = places
        found = raw.pop(place)
        call = written(fn, [(found.name, wanted.__name__), *spelled_out(raw)])
        raise DeclarationError(
            f"job {job!r}: the context comes first: {call}. Found it as argument {place + 1}."
        )
    asked = hints[raw[0].name]
    if not issubclass(asked, wanted):
        colour = "async def" if wanted is AsyncContext else "def"
        raise DeclarationError(
            f"job {job!r} is {colour}, but asks for {asked.__name__}. "
            f"Write {raw[0].name}: {wanted.__name__}."
        )
    return True


def is_context(hint: Any) -> bool:
    """Whether an annotation asks for the context."""
    return isinstance(hint, type) and issubclass(hint, Facts)


def check_kind(fn: Callable[..., Any], parameter: inspect.Parameter, job: str) -> None:
    """Refuse parameters that cannot be given by name."""
    name = parameter.name
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise DeclarationError(
            f"job {job!r}: argument {name!r} is positional-only, but a run gives arguments by "
            f'name. Take the "/" out of def {fn.__name__}(…).'
        )
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
        raise DeclarationError(
            f"job {job!r} takes {stars}{name}, but each argument of a run has a name and a type. "
            "Write them out, or take one list or dict."
        )


def check_default(parameter: inspect.Parameter, job: str) -> None:
    """Refuse what pydantic says of fields in place of a default: the body would get that."""
    if not isinstance(parameter.default, FieldInfo):
        return
    name, kind = parameter.name, name_of(parameter.annotation)
    hint = "…" if parameter.annotation is EMPTY else kind
    given = parameter.default
    default = "" if given.is_required() else f" = {given.get_default()!r}"
    if given.default_factory is not None:
        default = " = …"
    raise DeclarationError(
        f"job {job!r}: the default of {name!r} is a Field(…), which the function would get as it "
        f"is. Write {name}: Annotated[{hint}, Field(…)]{default}, and the default outside of it."
    )


def check_first(
    fn: Callable[..., Any], first: inspect.Parameter, hints: dict[str, Any], job: str
) -> None:
    """Refuse a first argument that readers or type checkers take for something else."""
    hint = hints.get(first.name)
    colour = "AsyncContext" if inspect.iscoroutinefunction(fn) else "Context"
    if first.name in hints and hint in (Any, object):
        call = written(fn, [("ctx", colour), (first.name, name_of(hint))])
        raise DeclarationError(
            f"job {job!r}: the first argument {first.name!r} is typed {name_of(hint)}, which type "
            f"checkers take for the context. Give it a type, or ask for the context: {call}."
        )
    if hint is None and first.name in CONTEXT_NAMES:
        raise DeclarationError(
            f"job {job!r}: {first.name!r} has no type. Write {first.name}: {colour}."
        )
    if hint is None and first.name in METHOD_NAMES:
        raise DeclarationError(
            f"job {job!r} is a method and asks for {first.name!r}, which a run does not have. "
            "Declare a function."
        )


def spelled_out(parameters: list[inspect.Parameter]) -> list[tuple[str, str]]:
    """Names and annotations as they stand in the source."""
    return [
        (each.name, "" if each.annotation is EMPTY else name_of(each.annotation))
        for each in parameters
    ]


def written(fn: Callable[..., Any], parameters: list[tuple[str, str]]) -> str:
    """The head of ``fn`` with other parameters, as it should be written."""
    colour = "async def" if inspect.iscoroutinefunction(fn) else "def"
    inside = ", ".join(f"{name}: {hint}" if hint else name for name, hint in parameters)
    return f"{colour} {fn.__name__}({inside})"
