"""What a repair will do, told before it does it: plain records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.model.plain import instant_of, number_of, stamp, text_of
from koken.model.policy import Effect
from koken.model.states import State

HARMLESS = (Effect.PURE, Effect.IDEMPOTENT, Effect.TRANSACTIONAL)
"""What a body may do any number of times."""


@dataclass(frozen=True, slots=True)
class Input:
    """The recorded result of a step, as another takes it."""

    step: str
    items: int | None = None
    """How many, where it is a list."""
    at: datetime | None = None
    """When it was recorded."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"step": self.step, "items": self.items, "at": stamp(self.at)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Input:
        """What ``to_json`` gave."""
        return cls(plain["step"], plain["items"], instant_of(plain["at"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """A step that has begun before and goes again; of a plain run the run itself."""

    step: str
    effect: Effect | None = None
    inputs: tuple[Input, ...] = ()
    items: int | None = None
    """How many of its items, where it does not go again as a whole."""
    closes: datetime | None = None
    """When its window closes, or has closed; then it goes all the same."""
    follows: bool = False
    """Whether it comes after another that goes again."""
    for_failure: bool = False
    """Whether it goes only when one before it fails again."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "step": self.step,
            "effect": self.effect,
            "inputs": [each.to_json() for each in self.inputs],
            "items": self.items,
            "closes_at": stamp(self.closes),
            "follows": self.follows,
            "for_failure": self.for_failure,
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Again:
        """What ``to_json`` gave."""
        return cls(
            step=plain["step"],
            effect=effect_of(plain["effect"]),
            inputs=tuple(map(Input.from_json, plain["inputs"])),
            items=plain["items"],
            closes=instant_of(plain["closes_at"]),
            follows=plain["follows"],
            for_failure=plain["for_failure"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Then:
    """A step that has not begun and follows."""

    step: str
    effect: Effect | None = None
    not_before: datetime | None = None
    """What its gate says, or when its window opens."""
    closes: datetime | None = None
    """When its window closes, or has closed; then it goes all the same."""
    starts: str | None = None
    """The job that it starts."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "step": self.step,
            "effect": self.effect,
            "not_before_at": stamp(self.not_before),
            "closes_at": stamp(self.closes),
            "starts": self.starts,
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Then:
        """What ``to_json`` gave."""
        return cls(
            step=plain["step"],
            effect=effect_of(plain["effect"]),
            not_before=instant_of(plain["not_before_at"]),
            closes=instant_of(plain["closes_at"]),
            starts=plain["starts"],
        )


@dataclass(frozen=True, slots=True)
class Taken:
    """A lock that is needed, and the run that has it now."""

    key: str
    held_by: int | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"key": self.key, "held_by": text_of(self.held_by)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a repair will do."""

    verb: str
    run: int
    job: str
    from_step: str | None = None
    timezone: str = "UTC"
    again: tuple[Again, ...] = ()
    then: tuple[Then, ...] = ()
    keeps: tuple[str, ...] = ()
    """What has succeeded and stays."""
    stays: Mapping[str, State]
    """What else has ended and stays so."""
    undone: tuple[str, ...] = ()
    """What had been undone, and goes again for that."""
    locks: tuple[Taken, ...] = ()
    max_attempts: int | None = None
    """Up to how many attempts are counted anew."""

    @property
    def may_repeat(self) -> tuple[str, ...]:
        """Steps that may do something outside a second time, or do not say what they do."""
        return tuple(each.step for each in self.again if each.effect not in HARMLESS)

    @property
    def unsafe(self) -> tuple[str, ...]:
        """Steps that are not to be repeated without a look."""
        return tuple(each.step for each in self.again if each.effect is Effect.UNSAFE)

    @property
    def needs_force(self) -> bool:
        """Whether somebody must say that they mean it."""
        return bool(self.unsafe)

    @property
    def wants_force(self) -> str:
        """What is said to somebody who does not."""
        names = ", ".join(self.unsafe)
        return f"{self.verb} repeats {names}, which is unsafe; --force with a reason does it"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "verb": self.verb,
            "run": str(self.run),
            "job": self.job,
            "from_step": self.from_step,
            "again": [each.to_json() for each in self.again],
            "then": [each.to_json() for each in self.then],
            "keeps": list(self.keeps),
            "stays": dict(self.stays),
            "may_repeat": list(self.may_repeat),
            "locks": [each.to_json() for each in self.locks],
            "needs_force": self.needs_force,
            "undone": list(self.undone),
            "max_attempts": self.max_attempts,
            "timezone": self.timezone,
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Plan:
        """What ``to_json`` gave."""
        return cls(
            verb=plain["verb"],
            run=int(plain["run"]),
            job=plain["job"],
            from_step=plain["from_step"],
            again=tuple(map(Again.from_json, plain["again"])),
            then=tuple(map(Then.from_json, plain["then"])),
            keeps=tuple(plain["keeps"]),
            stays={name: State(state) for name, state in plain["stays"].items()},
            undone=tuple(plain["undone"]),
            locks=tuple(Taken(each["key"], number_of(each["held_by"])) for each in plain["locks"]),
            max_attempts=plain["max_attempts"],
            timezone=plain["timezone"],
        )


def effect_of(plain: str | None) -> Effect | None:
    """What ``to_json`` gave of an effect."""
    return None if plain is None else Effect(plain)
