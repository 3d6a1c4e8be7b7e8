"""A step of a workflow as data: what it needs, when it goes, and how it is carried out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Self

from koken.model.accept import Accept
from koken.model.policy import Backoff, Effect, Lock

WindowMissed = Literal["skip", "fail"]
ITEM = re.compile(r"(?P<step>.*)\[(?P<no>\d{1,9})\]")
"""How an item is called: ``table[3]`` is the fourth of the step ``table``."""


class Join(StrEnum):
    """Which ends of the steps that a step needs let it go."""

    ALL_SUCCEEDED = "all_succeeded"
    """Skips count as done, except along a hard edge, which passes the skip on."""
    ALL_DONE = "all_done"
    ANY_SUCCEEDED = "any_succeeded"
    ANY_FAILED = "any_failed"
    NONE_FAILED = "none_failed"


@dataclass(frozen=True, slots=True)
class Need:
    """An edge: the step comes after ``step``.

    ``parameter`` receives the other's result; None: the edge is order alone, or ``each`` or
    ``asks`` says what is made of the result. ``hard``: the result must be there, so a skip of
    ``step`` skips this one too.
    """

    step: str
    parameter: str | None = None
    hard: bool = False

    @property
    def is_order(self) -> bool:
        """Whether it says no more than that."""
        return self.parameter is None and not self.hard


@dataclass(frozen=True, slots=True)
class Each:
    """One run per member of a list, which ``parameter`` receives.

    The list is the result of the step ``source`` (``of_step``), otherwise the workflow's argument
    of that name.
    """

    parameter: str
    source: str
    of_step: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSpec:
    """Everything about a step but its code. Lengths of time are in seconds."""

    name: str
    no: int
    """Its number, from 1, in the order of declaration."""
    kind: str = "function"
    """``function``, ``command``, ``operation`` or ``job``."""
    job: str | None = None
    """The job that it starts, of the kind ``job``."""
    description: str = ""
    queue: str
    priority: int = 0
    max_attempts: int = 1
    backoff: Backoff | None = field(default_factory=Backoff)
    """None when the program computes the waits by a function of its own."""
    never_retry: tuple[str, ...] = ()
    max_infra_attempts: int = 3
    timeout: float | None = None
    executor: str = "thread"
    lock: Lock | None = None
    effect: Effect | None = None
    needs: tuple[Need, ...] = ()
    """Several may name one step; ``edges`` counts it once."""
    join: Join = Join.ALL_SUCCEEDED
    when: str = ""
    """The condition under which it goes, for people."""
    asks: tuple[str, ...] = ()
    """The steps and arguments whose values the condition looks at."""
    each: Each | None = None
    at_once: int | None = None
    accept: Accept | None = None
    gate: str | None = None
    window: str | None = None
    window_missed: WindowMissed = "skip"
    compensates: bool = False
    arguments: tuple[str, ...] = ()
    """The workflow's arguments that it takes."""

    @property
    def edges(self) -> dict[str, bool]:
        """The steps that it needs, each once, and whether a skip of it passes on."""
        found: dict[str, bool] = {}
        for need in self.needs:
            found[need.step] = found.get(need.step, False) or need.hard
        return found

    @property
    def inputs(self) -> dict[str, str]:
        """The parameters that receive results, and of which steps."""
        return {need.parameter: need.step for need in self.needs if need.parameter is not None}

    @property
    def takes(self) -> set[str]:
        """The steps whose results it, or its condition, looks at."""
        return {*self.inputs.values(), *(name for name in self.asks if name in self.edges)}

    def to_json(self) -> dict[str, Any]:
        """As plain values, for storage and for a comparison of versions."""
        return {
            "name": self.name,
            "no": self.no,
            "kind": self.kind,
            "job": self.job,
            "description": self.description,
            "queue": self.queue,
            "priority": self.priority,
            "max_attempts": self.max_attempts,
            "backoff": self.backoff.to_json() if self.backoff else None,
            "never_retry": list(self.never_retry),
            "max_infra_attempts": self.max_infra_attempts,
            "timeout": self.timeout,
            "executor": self.executor,
            "lock": self.lock.to_json() if self.lock else None,
            "effect": self.effect,
            "needs": [
                [need.step, need.parameter, need.hard] for need in self.needs if not need.is_order
            ],
            "after": [need.step for need in self.needs if need.is_order],
            "join": self.join,
            "when": self.when,
            "asks": list(self.asks),
            "each": [self.each.parameter, self.each.source, self.each.of_step]
            if self.each
            else None,
            "at_once": self.at_once,
            "accept": self.accept.to_json() if self.accept else None,
            "gate": self.gate,
            "window": self.window,
            "window_missed": self.window_missed,
            "compensates": self.compensates,
            "arguments": list(self.arguments),
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """The step that ``to_json`` gave."""
        others = {key: value for key, value in plain.items() if key != "after"}
        return cls(
            **{
                **others,
                "backoff": Backoff(**plain["backoff"]) if plain["backoff"] else None,
                "never_retry": tuple(plain["never_retry"]),
                "lock": Lock(**plain["lock"]) if plain["lock"] else None,
                "effect": Effect(plain["effect"]) if plain["effect"] else None,
                "needs": (*(Need(*need) for need in plain["needs"]), *map(Need, plain["after"])),
                "join": Join(plain["join"]),
                "asks": tuple(plain["asks"]),
                "each": Each(*plain["each"]) if plain["each"] else None,
                "accept": Accept(**plain["accept"]) if plain["accept"] else None,
                "arguments": tuple(plain["arguments"]),
            }
        )
