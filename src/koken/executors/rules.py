"""How the steps of a body are carried out: what ``ctx.using`` changes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from koken.define import checks
from koken.define.options import BackoffRule
from koken.model.duration import Duration, seconds
from koken.model.policy import LONGEST_DELAY, Backoff, Effect
from koken.store.callers import Caller

CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "max_attempts": lambda value: checks.count(value, "max_attempts", least=1),
    "backoff": checks.backoff,
    "timeout": lambda value: seconds(value, name="timeout"),
    "never_retry": checks.errors,
    "compensate": lambda value: checked_undo(value),
    "effect": checks.effect,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The settings of a context."""

    max_attempts: int = 1
    backoff: Backoff | BackoffRule = field(default_factory=Backoff)
    timeout: float | None = None
    never_retry: tuple[type[Exception], ...] = ()
    compensate: Callable[..., Any] | None = None
    effect: Effect | None = None
    caller: Caller | None = None

    def having(self, given: Mapping[str, Any]) -> Rules:
        """A copy with the options that are not None. Raises ``DeclarationError``."""
        return replace(
            self, **{name: CHECKS[name](each) for name, each in given.items() if each is not None}
        )

    def pause(self, tries: int, error: Exception) -> float | None:
        """Seconds to the next try after the failed one of that number; None: there is none."""
        if tries >= self.max_attempts or isinstance(error, self.never_retry):
            return None
        if isinstance(self.backoff, Backoff):
            return self.backoff.delay(tries, random.random())
        given: Duration | None = self.backoff(tries, error)
        return None if given is None else min(seconds(given, name="backoff"), LONGEST_DELAY)


OPTIONS = tuple(each.name for each in fields(Rules) if each.name != "caller")
PLAIN = Rules()


def checked_undo(value: Any) -> Callable[..., Any]:
    """A function that undoes a step."""
    if not callable(value):
        raise TypeError(f"compensate is {value!r}, which cannot be called with a step's result")
    found: Callable[..., Any] = value
    return found
