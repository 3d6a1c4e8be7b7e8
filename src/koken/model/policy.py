"""Rules that a job chooses: overlap, backoff, locks, effect. Values with one question each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from koken.errors import DeclarationError
from koken.model.duration import Duration, seconds
from koken.model.shown import shown

LONGEST_DELAY = 10 * 365 * 86400.0
"""Seconds; the longest wait between two attempts that is stored, whatever a job asks for."""


class Overlap(StrEnum):
    """What a start does when another run of the job, or of the key, still goes or has failed."""

    ALLOW = "allow"
    SKIP_IF_RUNNING = "skip_if_running"
    SKIP_IF_FAILED = "skip_if_failed"
    SKIP_IF_RUNNING_OR_FAILED = "skip_if_running_or_failed"
    QUEUE_ONE = "queue_one"
    QUEUE_ALL = "queue_all"
    REPLACE = "replace"
    REFUSE = "refuse"

    @classmethod
    def of(cls, name: str) -> Overlap:
        """The rule of that name; ``ALWAYS_RUN`` and upper case are read as well.

        Raises ``DeclarationError`` when there is none.
        """
        plain = name.lower()
        try:
            return cls.ALLOW if plain == "always_run" else cls(plain)
        except ValueError:
            known = ", ".join(cls)
            raise DeclarationError(f"overlap is {name!r}; the rules are {known}") from None


class Effect(StrEnum):
    """What happens outside when a body runs a second time."""

    PURE = "pure"
    IDEMPOTENT = "idempotent"
    TRANSACTIONAL = "transactional"
    ONCE = "once"
    UNSAFE = "unsafe"


BackoffKind = Literal["fixed", "linear", "exponential"]


@dataclass(frozen=True, slots=True, init=False)
class Backoff:
    """How long to wait before the next attempt. All lengths in seconds.

    ``base`` is the first wait; ``linear`` adds it, ``exponential`` doubles it, up to ``cap``.
    Each wait is shortened at random by at most the share ``jitter``, so that runs which failed
    together do not come back together. ``fixed`` waits ``base`` each time, whatever the cap.
    """

    kind: BackoffKind
    base: float
    cap: float
    jitter: float

    def __init__(
        self,
        kind: BackoffKind = "exponential",
        *,
        base: Duration = "10s",
        cap: Duration = "1h",
        jitter: float = 0.25,
    ) -> None:
        if kind not in ("fixed", "linear", "exponential"):
            raise DeclarationError(f"backoff is {shown(kind)}; it is fixed, linear or exponential")
        if not 0 <= jitter <= 1:
            raise DeclarationError(f"jitter is {jitter}; it is a share from 0 to 1")
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "base", min(seconds(base, name="base"), LONGEST_DELAY))
        object.__setattr__(self, "cap", min(seconds(cap, name="cap"), LONGEST_DELAY))
        object.__setattr__(self, "jitter", jitter)

    def delay(self, attempt: int, chance: float) -> float:
        """Seconds to wait after attempt number ``attempt`` (from 1); ``chance`` is in 0..1."""
        if self.kind == "fixed":
            plain = self.base
        elif self.kind == "linear":
            plain = min(self.base * attempt, self.cap)
        else:
            plain = min(self.base * 2.0 ** min(attempt - 1, 62), self.cap)
        return plain * (1 - self.jitter * chance)

    def to_json(self) -> dict[str, Any]:
        """As plain values, for storage."""
        return {"kind": self.kind, "base": self.base, "cap": self.cap, "jitter": self.jitter}


INFRA_BACKOFF = Backoff(base="5s", cap="2m")
"""Between attempts that the infrastructure spoiled, when nothing says otherwise."""


class LockMode(StrEnum):
    """How a lock is held: alone (up to its limit), or together with other shared holders."""

    EXCLUSIVE = "exclusive"
    SHARED = "shared"


class WhenHeld(StrEnum):
    """What a start does when the lock has no room."""

    WAIT = "wait"
    SKIP = "skip"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, init=False)
class Lock:
    """A thing that only one run, or ``limit`` runs, may hold at once.

    ``key`` may name arguments: ``"customer:{customer_id}"``. Waiters are served by priority and
    age. A run holds its lock until it ends, waits between attempts included.
    """

    key: str
    mode: LockMode
    limit: int
    when_held: WhenHeld

    def __init__(
        self,
        key: str,
        *,
        mode: str = "exclusive",
        limit: int = 1,
        when_held: str = "wait",
    ) -> None:
        if not key:
            raise DeclarationError("a lock needs a key, such as 'customer:{customer_id}'")
        if type(limit) is not int or limit < 1:
            raise DeclarationError(f"lock {key!r}: limit is {shown(limit)}; it counts from 1")
        try:
            object.__setattr__(self, "mode", LockMode(mode))
            object.__setattr__(self, "when_held", WhenHeld(when_held))
        except ValueError as error:
            raise DeclarationError(f"lock {key!r}: {error}") from None
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "limit", limit)

    def to_json(self) -> dict[str, Any]:
        """As plain values, for storage."""
        return {
            "key": self.key,
            "mode": self.mode.value,
            "limit": self.limit,
            "when_held": self.when_held.value,
        }
