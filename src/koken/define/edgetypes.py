"""Types along an edge: whether a result can be what a parameter wants.

Only what is surely wrong counts as wrong. Results travel as JSON, so a text and what is written as
one (a date, a path) fit each other, and so do an object and a class with fields.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
)
from uuid import UUID

from typing_extensions import TypeAliasType, is_typeddict

from koken.define.result import name_of

LISTS = (list, tuple, set, frozenset, Sequence, Collection, Iterable, Set)
TEXTUAL = (str, bytes, date, time, timedelta, Decimal, PurePath, UUID)
NUMBERS = (int, float, Decimal)
SCALARS = (*NUMBERS, *TEXTUAL, Enum, type(None))


def fits(gives: Any, wants: Any) -> bool:
    """Whether a value of the type ``gives`` may be one of the type ``wants``."""
    return any(one_fits(given, wanted) for given in members(gives) for wanted in members(wants))


def members(hint: Any) -> list[Any]:
    """The types that a hint allows: those of a union, the classes of literals."""
    if isinstance(hint, NewType):
        return members(hint.__supertype__)
    if isinstance(hint, TypeAliasType):
        return members(hint.__value__)
    origin = get_origin(hint)
    if origin is Annotated:
        return members(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        return [each for member in get_args(hint) for each in members(member)]
    if origin is Literal:
        return list({type(value) for value in get_args(hint)})
    return [type(None) if hint is None else hint]


def one_fits(gives: Any, wants: Any) -> bool:
    """``fits``, of two types that are no unions."""
    given, wanted = kind_of(gives), kind_of(wants)
    if not is_known(given) or not is_known(wanted):
        return True
    if is_list(given) or is_list(wanted):
        return is_list(given) and is_list(wanted) and fits(item_of(gives), item_of(wants))
    if issubclass(given, wanted) or issubclass(wanted, given):
        return True
    if issubclass(given, SCALARS) or issubclass(wanted, SCALARS):
        return scalar_fits(given, wanted)
    return issubclass(given, Mapping) or issubclass(wanted, Mapping)


def kind_of(hint: Any) -> Any:
    """The class behind a hint: ``list`` of ``list[int]``, ``dict`` of a ``TypedDict``."""
    return dict if is_typeddict(hint) else get_origin(hint) or hint


def scalar_fits(given: type, wanted: type) -> bool:
    """Whether plain values of two different classes may be written alike in JSON."""
    if not (issubclass(given, SCALARS) and issubclass(wanted, SCALARS)):
        return False
    if issubclass(given, Enum) or issubclass(wanted, Enum):
        return True
    if issubclass(given, NUMBERS) and wanted in (float, Decimal, timedelta):
        return True
    return str in (given, wanted) and issubclass(given, TEXTUAL) and issubclass(wanted, TEXTUAL)


def is_known(kind: Any) -> bool:
    """Whether a hint is a class about whose values something is known for sure."""
    if not isinstance(kind, type) or kind in (Any, object, inspect.Signature.empty):
        return False
    return not getattr(kind, "_is_protocol", False) and not getattr(
        kind, "__pydantic_root_model__", False
    )


def is_list(kind: type) -> bool:
    """Whether values of a class are kept as a list."""
    return kind in LISTS or issubclass(kind, tuple | list | set | frozenset)


def item_of(hint: Any) -> Any:
    """The type of the members of a list; Any where they have several, or none is said."""
    arguments = get_args(hint)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return arguments[0]
    return arguments[0] if len(arguments) == 1 and get_origin(hint) is not tuple else Any


def goes_over(hint: Any) -> Any:
    """The type of the items when a value of the type ``hint`` is gone over; None: it is no list."""
    items = [
        item_of(each)
        for each in members(hint)
        if not is_known(kind_of(each)) or is_list(kind_of(each))
    ]
    return Union[tuple(items)] if items else None  # noqa: UP007  # made from a list


def choices(hint: Any) -> tuple[Any, ...] | None:
    """The values of a type made of literals; None when it may have others."""
    if get_origin(hint) is Annotated:
        return choices(get_args(hint)[0])
    if get_origin(hint) is Literal:
        return get_args(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return tuple(each.value for each in hint)
    if get_origin(hint) in (Union, types.UnionType):
        found = [(None,) if each is type(None) else choices(each) for each in get_args(hint)]
        return None if None in found else tuple(value for each in found for value in each or ())
    return None


def short(hint: Any) -> str:
    """A type as it is written in a program, without modules: ``list[Table]``."""
    arguments, origin = get_args(hint), get_origin(hint)
    if hint is Ellipsis:
        return "..."
    if hint in (None, type(None)):
        return "None"
    if origin is Annotated:
        return short(arguments[0])
    if origin in (Union, types.UnionType):
        return " | ".join(short(each) for each in arguments)
    if origin is Literal:
        return f"Literal[{', '.join(repr(each) for each in arguments)}]"
    if arguments and isinstance(origin, type):
        return f"{origin.__name__}[{', '.join(short(each) for each in arguments)}]"
    if isinstance(hint, TypeVar | NewType | TypeAliasType):
        return hint.__name__
    return name_of(hint)
