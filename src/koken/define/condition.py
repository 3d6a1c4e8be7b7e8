"""Conditions of steps: ``when={"size": "big"}``, or a function that says yes or no."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from koken.errors import DeclarationError
from koken.model.shown import shown

Condition = Mapping[str, tuple[Any, ...]] | Callable[..., object]
"""By the name of a step or an argument the values that let the step go, or a predicate."""

EXAMPLE = 'write when={"size": "big"}, or a function whose arguments are named like steps'


def read(option: Any) -> Condition:
    """The condition that an option ``when`` says; its values are plain ones.

    Raises ``DeclarationError`` when there is none in it.
    """
    if isinstance(option, Mapping):
        if not option or not all(isinstance(name, str) for name in option):
            raise DeclarationError(f"when is {shown(option)}; {EXAMPLE}")
        return {name: values_of(wanted) for name, wanted in option.items()}
    if not callable(option) or isinstance(option, type):
        raise DeclarationError(f"when is {shown(option)}; {EXAMPLE}")
    predicate: Callable[..., object] = option
    if inspect.iscoroutinefunction(predicate):
        raise DeclarationError(f"when is the async def {called(predicate)}; write it as a def")
    return predicate


def values_of(wanted: Any) -> tuple[Any, ...]:
    """The values that fit: one, or a list of them."""
    several = wanted if isinstance(wanted, list | tuple | set | frozenset) else (wanted,)
    return tuple(plain(each) for each in several)


def asked(condition: Condition) -> dict[str, bool]:
    """The names whose values the condition looks at, and whether they must be there.

    Raises ``DeclarationError`` when a predicate cannot be called by names.
    """
    if isinstance(condition, Mapping):
        return dict.fromkeys(condition, True)
    names = {}
    for each in inspect.signature(condition).parameters.values():
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise DeclarationError(
                f"when: {called(condition)} takes {each}, but each value has a name; {EXAMPLE}"
            )
        names[each.name] = each.default is each.empty
    return names


def in_words(condition: Condition | None) -> str:
    """The condition, as people say it: ``size is "big"``; empty without one."""
    if condition is None:
        return ""
    if isinstance(condition, Mapping):
        return " and ".join(f"{name} is {listed(wanted)}" for name, wanted in condition.items())
    return called(condition)


def unmet(condition: Condition, values: Mapping[str, Any]) -> str:
    """Why the condition does not hold: ``size is not "big"``; empty when it does.

    ``values`` are those of steps and arguments, by name; one that is left out is None, and for a
    predicate its default.
    """
    if isinstance(condition, Mapping):
        return " and ".join(
            f"{name} is not {listed(wanted)}"
            for name, wanted in condition.items()
            if plain(values.get(name)) not in wanted
        )
    wanted = {name: values[name] for name in asked(condition) if name in values}
    return "" if condition(**wanted) else f"{called(condition)} says no"


def plain(value: Any) -> Any:
    """The value of a member of an enum; others as they are."""
    return value.value if isinstance(value, Enum) else value


def listed(values: tuple[Any, ...]) -> str:
    """``"big" or "small"``."""
    return " or ".join(json.dumps(each, ensure_ascii=False, default=str) for each in values)


def called(predicate: Callable[..., object]) -> str:
    """The name of a predicate."""
    name: str = getattr(predicate, "__name__", type(predicate).__name__)
    return "its condition" if name == "<lambda>" else name
