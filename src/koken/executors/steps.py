"""Steps of a body: the value of each is kept as JSON and given back as its annotation says."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import PurePath
from typing import Any, get_args, get_origin

from pydantic import ValidationError

from koken.define.result import Result
from koken.errors import WorkflowChanged
from koken.model import codec
from koken.model.outcome import Outcome

AWAITABLES = (Awaitable, Coroutine)
CACHED = 1024
RESULTS: dict[tuple[types.CodeType, Any], Result] = {}
"""By code and annotation, not by function: closures that each run makes anew share theirs."""


def encode(name: str, fn: Callable[..., Any], value: Any) -> tuple[str, Any]:
    """What a step returned as JSON text, and what a replay will make of that.

    Raises the outcome that ``fn`` returned, if it did; ``Unstorable`` for what JSON cannot hold;
    ``TypeError`` when a replay would see another type than ``fn`` returned.
    """
    if isinstance(value, Outcome):
        raise value
    result = result_of(name, fn)
    try:
        text = result.dump(value)
    except TypeError as error:
        raise TypeError(f"step {name!r}: {error}") from None
    except codec.Unstorable as error:
        raise codec.Unstorable(f"step {name!r}: {error}") from None
    replay = read(result, text)
    if result.form is None:
        check_plain(name, fn, value, replay)
    return text, replay


def decode(name: str, fn: Callable[..., Any], text: str) -> Any:
    """The value that was kept for a step, as ``fn`` returned it.

    Raises ``WorkflowChanged`` when it does not fit ``fn``'s return annotation any more.
    """
    try:
        return read(result_of(name, fn), text)
    except ValidationError as error:
        raise WorkflowChanged(
            f"step {name!r}: the value that an earlier attempt kept does not fit what "
            f"{called(fn)} returns now: {error}"
        ) from None


def read(result: Result, text: str) -> Any:
    """The typed value of JSON text."""
    if result.form is None or text == "null":
        return codec.decode(text)
    return result.form.read(text)


def check_plain(name: str, fn: Callable[..., Any], value: Any, replay: Any) -> None:
    """Raise ``TypeError`` when JSON gives back another type and no annotation says which."""
    odd = difference(value, replay)
    if odd is None:
        return
    was, seen = odd
    whole, part = type_name(value), type_name(was)
    held, hint = ("", whole) if was is value else (f" that holds {a(part)}", f"{whole}[…{part}…]")
    raise TypeError(
        f"step {name!r} returned {a(whole)}{held} and has no return annotation, so a replay "
        f"would see {type_name(seen)}. Annotate it: def {called(fn)}(…) -> {hint}."
    )


def difference(value: Any, replay: Any) -> tuple[Any, Any] | None:
    """The first place at which a value differs in type from its replay, as (was, seen)."""
    if type(value) is not type(replay):
        return value, replay
    if isinstance(value, dict):
        pairs = [*zip(value, replay, strict=False)]
        pairs += zip(value.values(), replay.values(), strict=False)
    elif isinstance(value, list):
        pairs = [*zip(value, replay, strict=False)]
    else:
        return None
    return next((odd for was, seen in pairs if (odd := difference(was, seen))), None)


def result_of(name: str, fn: Callable[..., Any]) -> Result:
    """The form of what ``fn`` returns, by its annotation.

    Raises ``DeclarationError`` when the type has no JSON form.
    """
    plain = fn.func if isinstance(fn, functools.partial) else fn
    try:
        key = (plain.__code__, plain.__annotations__.get("return"))
        known = RESULTS.get(key)
    except (AttributeError, TypeError):
        return Result(hint_of(plain), owner=f"step {name!r}")
    if known is None:
        if len(RESULTS) >= CACHED:
            RESULTS.clear()
        known = RESULTS[key] = Result(hint_of(plain), owner=f"step {name!r}")
    return known


def hint_of(fn: Callable[..., Any]) -> Any:
    """The return annotation of ``fn``; ``Any`` when it has none that can be read."""
    if isinstance(fn, type):
        return fn
    target = fn if inspect.isroutine(fn) else type(fn).__call__
    try:
        hint = typing.get_type_hints(target, include_extras=True).get("return", Any)
    except Exception:  # a name that only type checkers see; ``check_plain`` looks at the value
        return Any
    return get_args(hint)[-1] if get_origin(hint) in AWAITABLES else hint


def called(fn: Callable[..., Any]) -> str:
    """What people call ``fn``."""
    plain = fn.func if isinstance(fn, functools.partial) else fn
    return str(getattr(plain, "__name__", type(plain).__name__))


def type_name(value: Any) -> str:
    """The type of a value as one writes it in an annotation; ``Path`` for each kind of path."""
    return "Path" if isinstance(value, PurePath) else type(value).__name__


def a(noun: str) -> str:
    """``noun`` with its article."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
