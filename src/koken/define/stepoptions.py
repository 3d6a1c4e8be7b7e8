"""The options of a step: their names, and what each may be."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Protocol, TypedDict

from koken.define import checks, condition
from koken.define.body import Body
from koken.define.options import BackoffRule, EffectName, Executor, ExecutorName
from koken.define.spelling import did_you_mean
from koken.errors import DeclarationError
from koken.model import gate, window
from koken.model.accept import Accept
from koken.model.duration import Duration
from koken.model.policy import Backoff, Effect, Lock
from koken.model.shown import shown
from koken.model.steps import Join, WindowMissed

JoinName = Literal["all_succeeded", "all_done", "any_succeeded", "any_failed", "none_failed"]


class Named(Protocol):
    """A step, where another one speaks of it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name."""


class UndoOptions(TypedDict, total=False):
    """The options of ``step.compensate``; none is required, None is the same as leaving out."""

    queue: str | None
    priority: int | None
    max_attempts: int | None
    backoff: Duration | Backoff | BackoffRule | None
    never_retry: type[Exception] | Iterable[type[Exception]] | None
    timeout: Duration | None
    executor: ExecutorName | Executor | None
    effect: EffectName | Effect | None


class StepOptions(TypedDict, total=False):
    """The options of ``flow.step``; none is required, None is the same as leaving out."""

    name: str | None
    queue: str | None
    priority: int | None
    max_attempts: int | None
    backoff: Duration | Backoff | BackoffRule | None
    never_retry: type[Exception] | Iterable[type[Exception]] | None
    timeout: Duration | None
    executor: ExecutorName | Executor | None
    lock: str | Lock | None
    effect: EffectName | Effect | None
    compensate: Callable[..., Any] | Body | None
    after: str | Named | Iterable[str | Named] | None
    inputs: Mapping[str, str | Named] | None
    each: Mapping[str, str | Named] | None
    at_once: int | None
    accept: Accept | None
    when: Mapping[str, Any] | Callable[..., object] | None
    join: JoinName | Join | None
    gate: str | None
    window: str | None
    window_missed: WindowMissed | None


KNOWN = tuple(StepOptions.__annotations__)
KNOWN_UNDO = tuple(UndoOptions.__annotations__)
OF_JOBS = (*KNOWN_UNDO, "lock")
"""The options that a step has in common with a job."""
OF_ITS_JOB = ("max_attempts", "backoff", "never_retry", "timeout", "executor", "effect")
"""What a job that is a step says of itself, and the step cannot."""
OF_EACH = ("at_once", "accept")


def given(options: Mapping[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    """The options that are set. Raises ``DeclarationError`` for one that there is not."""
    for name in options:
        if name not in known:
            raise DeclarationError(f"there is no option {name!r}.{did_you_mean(name, known)}")
    return {name: value for name, value in options.items() if value is not None}


def own(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The options that only steps have and that speak of no other step, checked.

    Raises ``DeclarationError`` whose message goes on from the step's name.
    """
    if "each" not in chosen:
        for option in OF_EACH:
            if option in chosen:
                raise DeclarationError(f"{option} is for a step with each. Leave it out")
    if "window_missed" in chosen and "window" not in chosen:
        raise DeclarationError("window_missed is for a step with window. Leave it out")
    when = condition.read(chosen["when"]) if "when" in chosen else None
    if when is not None:
        condition.asked(when)
    return {
        "at_once": checks.count(chosen["at_once"], "at_once", least=1)
        if "at_once" in chosen
        else None,
        "accept": acceptance(chosen.get("accept")),
        "condition": when,
        "join": join(chosen.get("join", Join.ALL_SUCCEEDED)),
        "gate": understood("gate", chosen.get("gate"), gate.parse),
        "window": understood("window", chosen.get("window"), window.parse),
        "window_missed": missed(chosen.get("window_missed", "skip")),
    }


def acceptance(value: object) -> Accept | None:
    """How many items must succeed."""
    if value is not None and not isinstance(value, Accept):
        raise DeclarationError(f"accept is {shown(value)}; write Accept(0.95)")
    return value


def join(value: Any) -> Join:
    """The rule for the ends of the steps that are needed."""
    try:
        return Join(value)
    except ValueError:
        meant = did_you_mean(str(value), Join)
        raise DeclarationError(
            f"join is {shown(value)}; the rules are {', '.join(Join)}.{meant}"
        ) from None


def understood(option: str, value: Any, parse: Callable[[str], object]) -> str | None:
    """The text of a gate or of a window, once it has been read."""
    if value is None:
        return None
    try:
        parse(value)
    except DeclarationError as error:
        raise DeclarationError(f"{option} {error}") from None
    text: str = value
    return text


def missed(value: Any) -> WindowMissed:
    """What becomes of a step whose window closes before it begins."""
    if value == "skip":
        return "skip"
    if value == "fail":
        return "fail"
    raise DeclarationError(f'window_missed is {shown(value)}; it is "skip" or "fail"')
