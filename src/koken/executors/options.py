"""Where a body is carried out, as a job says it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from koken.define.job import Job
from koken.errors import DeclarationError

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Thread:
    """Carry the body out in a thread of the worker; what a ``def`` has anyway."""

    @property
    def name(self) -> str:
        """The kind of place."""
        return "thread"


@dataclass(frozen=True, slots=True)
class Loop:
    """Carry the body out on the worker's event loop; what an ``async def`` has anyway."""

    @property
    def name(self) -> str:
        """The kind of place."""
        return "loop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """Carry the body out in a process of its own, which can be killed and limited.

    ``memory``: the largest address space, as ``"2G"`` or in bytes. ``warm``: fork it from a
    process that has imported the program already, which takes milliseconds; ``False`` starts a
    new interpreter each time, for programs that cannot be forked once they are imported.

    Raises ``DeclarationError`` for a memory that is no size.
    """

    memory: str | int | None = None
    warm: bool = True

    def __post_init__(self) -> None:
        size(self.memory)

    @property
    def name(self) -> str:
        """The kind of place."""
        return "process"


def size(value: str | int | None) -> int | None:
    """A number of bytes: ``"2G"`` is 2 × 1024³. Raises ``DeclarationError`` when it is none."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    found = SIZE.fullmatch(value) if isinstance(value, str) else None
    number = int(float(found[1]) * UNITS[found[2].upper()]) if found else 0
    if number <= 0:
        raise DeclarationError(f"memory is {value!r}; write it as '512M' or '2G'")
    return number


def memory_of(job: Job[..., Any]) -> int | None:
    """The memory limit of a job, in bytes."""
    return size(job.executor.memory) if isinstance(job.executor, Process) else None
