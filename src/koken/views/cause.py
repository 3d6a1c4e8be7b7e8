"""One thing that a run waits for, or the way it stands: in words and as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.model.plain import instant_of, number_of, stamp

NAMED = 3
"""Steps that are told by their names."""
HAPPENED = ("ended", "step_failed", "step_cancelled")
"""Causes that came about at an instant, where others last from then on."""


def listed(names: Sequence[str]) -> str:
    """``crunch, table and 12 more``."""
    told, rest = names[:NAMED], len(names) - NAMED
    if rest > 0:
        return f"{', '.join(told)} and {rest:,} more"
    return " and ".join(filter(None, [", ".join(told[:-1]), told[-1]]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A reason why a run stands as it does."""

    cause: str
    """not_due, retry, lock, queue_paused, queue_full, queue_rate, no_worker, workers_busy, in_line,
    running, cancelling, worker_silent, ended; needs, gate, at_once, sleep, signal, question,
    operation, children, compensating; step_failed, step_cancelled, recorded, more."""
    text: str
    step: str | None = None
    """The step that it is about, where it is not the run itself."""
    key: str | None = None
    held_by: int | None = None
    worker: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    wait_for: str | None = None
    """What exactly is waited for: a signal, a question, an operation, a gate."""

    def to_json(self) -> dict[str, Any]:
        """As plain values, without what is empty."""
        plain: dict[str, Any] = {
            "cause": self.cause,
            "text": self.text,
            "step": self.step,
            "key": self.key,
            "held_by": None if self.held_by is None else str(self.held_by),
            "worker": self.worker,
            "since": stamp(self.since),
            "until": stamp(self.until),
            "wait_for": self.wait_for,
        }
        return {name: value for name, value in plain.items() if value is not None}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Cause:
        """What ``to_json`` gave."""
        changes = {
            "held_by": number_of(plain.get("held_by")),
            "since": instant_of(plain.get("since")),
            "until": instant_of(plain.get("until")),
        }
        return cls(**dict(plain) | changes)
