"""What the body of a run has kept for its next attempt, as people read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.model import codec
from koken.model.durable import WAIT
from koken.model.hiding import MASK
from koken.views import words
from koken.views.belongings import CheckpointRow
from koken.web.masking import record_text

CAME = {"question": "answered by", "signal": "sent by"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A line of the list."""

    key: str
    at: datetime
    size: int
    what: str = ""
    """For what it waits or has waited; empty for a value."""
    value: str | None
    """None: too long to be shown."""
    came: str = ""
    """What is said of what it waited for: who has answered, or that nobody has."""
    came_at: datetime | None = None


def told(row: CheckpointRow, mask: Sequence[str]) -> Kept:
    """A record without secrets; of a wait in words."""
    facts: dict[str, Any] = {"key": row.key, "at": row.at, "size": row.size}
    if row.size > len(row.value):
        return Kept(**facts, value=None)
    text = record_text(row.key, row.value, mask)
    record = None if text == MASK else codec.decode_whatever(text)
    if not row.key.startswith(WAIT) or not isinstance(record, Mapping):
        return Kept(**facts, value=text)
    value = record.get("value")
    return Kept(
        **facts,
        what=awaited(record),
        value="" if value is None else words.brief(value),
        came=came(record, row.by),
        came_at=row.came_at,
    )


def awaited(record: Mapping[str, Any]) -> str:
    """For what a wait is."""
    name = words.plain(str(record.get("name") or ""))
    return {"question": f"question: {name}", "signal": f"signal {name}"}.get(
        str(record.get("kind")), "a time"
    )


def came(record: Mapping[str, Any], by: str | None) -> str:
    """What came of a wait."""
    if by is not None:
        return f"{CAME.get(str(record.get('kind')), 'by')} {words.plain(by)}"
    if record.get("late"):
        return "its time was up" if record.get("kind") != "sleep" else "it is over"
    return "it waits"
