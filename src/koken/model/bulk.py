"""Something that is done to many runs, as it stands: a frozen snapshot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from koken.model.plain import instant_of, stamp

BulkVerb = Literal["retry", "cancel", "skip", "acknowledge"]
VERBS: tuple[BulkVerb, ...] = get_args(BulkVerb)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """Something that is done to many runs, carried out by workers at a rate."""

    id: int
    verb: BulkVerb
    query: str
    rate: float
    """Runs a second."""
    by: str
    reason: str
    state: str
    """``running``, ``paused``, ``stopped`` or ``done``."""
    total: int
    """How many runs it is about."""
    done: int
    """How many had their turn."""
    going: int
    """Of those, how many have not ended since."""
    recovered: int
    """Of those that were retried, how many have succeeded."""
    failed_again: int
    refused: int
    stopped_reason: str | None
    created_at: datetime
    finished_at: datetime | None

    @property
    def left(self) -> int:
        """How many are still to come."""
        return self.total - self.done - self.refused

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "id": str(self.id),
            "verb": self.verb,
            "query": self.query,
            "rate": self.rate,
            "by": self.by,
            "reason": self.reason,
            "state": self.state,
            "total": self.total,
            "done": self.done,
            "going": self.going,
            "recovered": self.recovered,
            "failed_again": self.failed_again,
            "refused": self.refused,
            "stopped_reason": self.stopped_reason,
            "created_at": stamp(self.created_at),
            "finished_at": stamp(self.finished_at),
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Bulk:
        """What ``to_json`` gave."""
        return cls(
            **dict(plain)
            | {
                "id": int(plain["id"]),
                "created_at": datetime.fromisoformat(plain["created_at"]),
                "finished_at": instant_of(plain["finished_at"]),
            }
        )


def of_any(reason: str, run_id: int) -> str:
    """Why a run was left as it is, as it holds for others too: without the number of the one."""
    text = reason.removeprefix(f"run {run_id}: ")
    text = re.sub(rf"^run {run_id}\b", "it", text)
    return re.sub(rf"\b{run_id}\b", "RUN", text)
