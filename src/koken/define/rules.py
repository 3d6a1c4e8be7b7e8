"""Who may move a subject, and when: the functions and names that a transition asks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from koken.define import checks
from koken.errors import DeclarationError
from koken.model.shown import shown

Guard = Callable[[Mapping[str, Any]], str | None]
"""Gets the row; gives None, or the text that refuses."""

Who = Callable[[str, Mapping[str, Any]], str | None]
"""Gets who asks and the row; gives None, or the text that refuses."""


def guarding(guard: Guard | None) -> Guard | None:
    """A guard; refuses one that cannot be asked."""
    if guard is not None:
        check_rule(guard, "guard", "(row)", ({},))
    return guard


def asking(who: Who | Iterable[str] | None) -> Who | tuple[str, ...] | None:
    """Who may: a function, or names."""
    if who is None:
        return None
    if callable(who):
        check_rule(who, "who", "(by, row)", ("", {}))
        return who
    return tuple(checks.filled(each, "who") for each in checks.several(who, "who", str))


def check_rule(rule: Any, option: str, form: str, example: tuple[Any, ...]) -> None:
    """Refuse a function that cannot be called so, or not here and now."""
    if not callable(rule):
        raise DeclarationError(f"{option} is {shown(rule)}; write a function of {form}")
    if inspect.iscoroutinefunction(rule):
        raise DeclarationError(
            f"{option} is async def, but it is asked while the row is held. Write def"
        )
    try:
        inspect.signature(rule).bind(*example)
    except (TypeError, ValueError) as error:
        raise DeclarationError(
            f"{option} is a function of {form}, and {shown(rule)} cannot be called so: {error}"
        ) from None
