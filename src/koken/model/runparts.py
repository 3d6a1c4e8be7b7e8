"""What a run is told by: why it exists, what went wrong, what it waits for, how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from koken.model.plain import instant_of, stamp
from koken.model.states import WaitCause


class TriggerKind(StrEnum):
    """Why a run exists."""

    USER = "user"
    SCHEDULE = "schedule"
    SIGNAL = "signal"
    RUN = "run"
    API = "api"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """Who or what started a run; ``schedule`` and ``due_at`` are set when a tick did."""

    kind: TriggerKind
    by: str = ""
    schedule: str | None = None
    due_at: datetime | None = None
    since: datetime | None = None
    """From where a coalesced run stands for the ticks that were missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a run, or one attempt at it, did not end well."""

    type: str
    message: str
    traceback: str = ""
    blocker: int | None = None
    """The run that stood in the way, where one did."""
    open_undos: tuple[str, ...] = ()
    """What was to be undone after it, and is not."""
    by: str = ""
    """Who has cancelled it, where somebody did."""

    @property
    def in_line(self) -> str:
        """One line: the type where it tells more than the message."""
        line = self.message
        if self.type not in ("", "Skip", "Cancel", "Fail"):
            line = f"{self.type}: {self.message}".rstrip(": ")
        if self.open_undos:
            line = f"{line}; failed: {', '.join(self.open_undos)}".removeprefix("; ")
        return line

    @property
    def is_error(self) -> bool:
        """Whether something has gone wrong. Else it only says why its run waits, or was ended."""
        said = self.type in ("", "Cancel", "Skip", "Snooze")
        return not said or self.blocker is not None or bool(self.open_undos)

    def to_json(self) -> dict[str, Any]:
        """As plain values, without what is empty."""
        plain: dict[str, Any] = {"type": self.type, "message": self.message}
        if self.traceback:
            plain["traceback"] = self.traceback
        if self.blocker is not None:
            plain["blocker"] = str(self.blocker)
        if self.open_undos:
            plain["open_undos"] = list(self.open_undos)
        if self.by:
            plain["by"] = self.by
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Failure:
        """What ``to_json`` gave."""
        blocker = plain.get("blocker")
        return cls(
            type=plain.get("type", ""),
            message=plain.get("message", ""),
            traceback=plain.get("traceback", ""),
            blocker=None if blocker is None else int(blocker),
            open_undos=tuple(plain.get("open_undos", ())),
            by=plain.get("by", ""),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What a run that is neither running nor ended waits for."""

    cause: WaitCause
    until: datetime | None = None
    wait_for: str | None = None
    """What exactly: the name of a signal, the key of a question, an operation, a gate, a child."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"cause": self.cause.value, "until": stamp(self.until), "wait_for": self.wait_for}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Wait:
        """What ``to_json`` gave."""
        return cls(
            cause=WaitCause(plain["cause"]),
            until=instant_of(plain["until"]),
            wait_for=plain["wait_for"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """How far the runs are that a run is made of: its steps, items or children."""

    made: int
    going: int
    """Those that may go, and have not ended."""
    held: int = 0
    """Those of ``made`` that may not go yet."""
    bad: int = 0

    @property
    def done(self) -> int:
        """How many have ended."""
        return max(self.made - self.held - self.going, 0)

    @property
    def good(self) -> int:
        """How many have ended well."""
        return max(self.done - self.bad, 0)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"made": self.made, "going": self.going, "held": self.held, "bad": self.bad}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The run that a person made another one from, and by which verb."""

    id: int
    verb: str

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"id": str(self.id), "verb": self.verb}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Origin:
        """What ``to_json`` gave."""
        return cls(id=int(plain["id"]), verb=plain["verb"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run says it is."""

    percent: int | None = None
    message: str = ""
