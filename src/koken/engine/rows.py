"""What becomes of one part in a repair."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from koken.engine.ground import Part
from koken.model.states import State


@dataclass(frozen=True, slots=True)
class Back:
    """A part that is set back, and how many attempts of how many count."""

    part: Part
    anew: bool
    attempt: int
    max_attempts: int
    closes: datetime | None = None
    """When its window closes."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A part whose end a person states."""

    part: Part
    state: State
    result: str | None = None
    """JSON text."""
