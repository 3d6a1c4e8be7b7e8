"""The values of options, one by one: what each may be, and the message when it is not.

Each gives the value in its stored form, or raises ``DeclarationError`` whose message goes on from
"job 'x': ".
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any

from koken.define.body import Body
from koken.define.spelling import did_you_mean
from koken.errors import DeclarationError
from koken.model.codec import ODD
from koken.model.duration import Duration, seconds
from koken.model.policy import Backoff, Effect, Overlap
from koken.model.shown import shown
from koken.model.states import ENDED

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
NAME_LIMIT = 200
"""Characters of a name."""
PRIORITIES = range(-32768, 32768)
COUNTS = range(32768)
EXECUTORS = ("thread", "loop", "process")
OUTCOMES = tuple(sorted(state.value for state in ENDED))


def sentence(message: str) -> str:
    """``message`` with a full stop."""
    return message if message.endswith((".", "?", ".)")) else f"{message}."


def several(value: Any, option: str, single: type | tuple[type, ...]) -> tuple[Any, ...]:
    """The members of a list; a value of the type ``single`` stands for a list of itself."""
    if isinstance(value, single):
        return (value,)
    if not isinstance(value, Iterable):
        raise DeclarationError(f"{option} is {shown(value)}; write a list")
    return tuple(value)


def name(value: object, option: str) -> str:
    """The name of a job or of a queue."""
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise DeclarationError(
            f"{option} is {shown(value)}; a name is made of letters a-z, digits, _ . and -, and "
            "does not begin with . or -"
        )
    if len(value) > NAME_LIMIT:
        raise DeclarationError(f"{option} has {len(value)} characters; the limit is {NAME_LIMIT}")
    return value


def text(value: object, option: str) -> str:
    """Text for people."""
    if not isinstance(value, str):
        raise DeclarationError(f"{option} is {shown(value)}; write a text")
    if "\x00" in value:
        raise DeclarationError(f"{option} holds a NUL character, which PostgreSQL cannot store")
    if ODD.search(value):
        raise DeclarationError(f"{option} holds a lone surrogate, which is no character")
    return value


def filled(value: object, option: str) -> str:
    """A text that is not empty."""
    found = text(value, option)
    if not found.strip():
        raise DeclarationError(f"{option} is empty; leave it out, or write a key")
    return found


def tags(value: Any) -> tuple[str, ...]:
    """The tags; one text is one tag."""
    return tuple(filled(tag, "a tag") for tag in several(value, "tags", str))


def count(value: object, option: str, *, least: int) -> int:
    """A number of attempts."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise DeclarationError(f"{option} is {shown(value)}; it is a whole number from {least}")
    if value not in COUNTS:
        raise DeclarationError(f"{option} is {value}; the limit is {COUNTS[-1]}")
    return value


def priority(value: object) -> int:
    """The priority, as PostgreSQL's smallint holds it."""
    if isinstance(value, bool) or not isinstance(value, int) or value not in PRIORITIES:
        raise DeclarationError(
            f"priority is {shown(value)}; it is a whole number from {PRIORITIES[0]} to "
            f"{PRIORITIES[-1]}, smaller first"
        )
    return value


def flag(value: object, option: str) -> bool:
    """Yes or no."""
    if not isinstance(value, bool):
        raise DeclarationError(f"{option} is {shown(value)}; write True or False")
    return value


def follower(value: Any, option: str, body: Body) -> str:
    """The name of a job that follows; it gets those arguments of ``body`` whose names it shares."""
    other = getattr(value, "body", None)
    if not isinstance(other, Body):
        raise DeclarationError(f"{option} is {shown(value)}; give a job, as app.job makes it")
    names = body.argument_names
    for argument in other.required:
        if names is not None and argument not in names:
            raise DeclarationError(
                f"{option} starts {value.name}, whose argument {argument!r} has no default and is "
                f"no argument here.{did_you_mean(argument, names)}"
            )
    found: str = value.name
    return found


def length(value: Duration, option: str) -> float:
    """A length of time in seconds, more than none."""
    found = seconds(value, name=option)
    if found == 0:
        raise DeclarationError(f"{option} is {shown(value)}; leave it out for no limit")
    return found


def executor(value: Any, body: Body) -> str:
    """The name of the executor that a name or an object stands for."""
    found = value if isinstance(value, str) else getattr(value, "name", None)
    if not isinstance(found, str) or (isinstance(value, str) and value not in EXECUTORS):
        meant = did_you_mean(value, EXECUTORS) if isinstance(value, str) else ""
        raise DeclarationError(
            f"executor is {shown(value)}; it is {', '.join(EXECUTORS)} or an object from "
            f"koken.executors.{meant}"
        )
    body.check_executor(found)
    return found


def overlap(value: object) -> Overlap:
    """The overlap rule; ``ALWAYS_RUN`` and upper case are read as well."""
    return Overlap.of(text(value, "overlap"))


def effect(value: object) -> Effect:
    """What happens outside when the body runs a second time."""
    try:
        return Effect(text(value, "effect"))
    except ValueError:
        safe = [each for each in Effect if each is not Effect.UNSAFE or str(value).startswith("un")]
        meant = did_you_mean(str(value), safe)
        raise DeclarationError(
            f"effect is {shown(value)}; the effects are {', '.join(Effect)}.{meant}"
        ) from None


def backoff(value: Any) -> Backoff | Callable[..., Any]:
    """The waits between attempts: a length of time is the same wait each time."""
    if isinstance(value, Backoff):
        return value
    if isinstance(value, str | int | float | timedelta):
        return Backoff("fixed", base=seconds(value, name="backoff"), jitter=0)
    if callable(value):
        return backoff_rule(value)
    raise DeclarationError(
        f"backoff is {shown(value)}; write '5m', Backoff(…), or a function of (attempt, error)"
    )


def backoff_rule(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A function that computes waits; refuses one that cannot be called so."""
    try:
        inspect.signature(rule).bind(1, Exception())
    except (TypeError, ValueError) as error:
        raise DeclarationError(
            f"backoff is a function of (attempt, error), and {shown(rule)} cannot be called so: "
            f"{error}"
        ) from None
    return rule


def errors(value: Any) -> tuple[type[Exception], ...]:
    """Exception types; one may stand alone."""
    kinds = several(value, "never_retry", type)
    for kind in kinds:
        if not isinstance(kind, type) or not issubclass(kind, Exception):
            raise DeclarationError(f"never_retry holds {shown(kind)}, which is no exception type")
    return kinds


def keep(value: Mapping[str, Duration]) -> dict[str, float]:
    """How long ended runs stay, in seconds by outcome."""
    if not isinstance(value, Mapping):
        raise DeclarationError(f"keep is {shown(value)}; write {{'succeeded': '30d', …}}")
    for outcome in value:
        if outcome not in OUTCOMES:
            meant = did_you_mean(str(outcome), OUTCOMES)
            raise DeclarationError(
                f"keep names {shown(outcome)}; the outcomes are {', '.join(OUTCOMES)}.{meant}"
            )
    return {outcome: seconds(kept, name=f"keep[{outcome!r}]") for outcome, kept in value.items()}
