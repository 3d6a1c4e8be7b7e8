"""The limits of queues that the settings state, made true in the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from koken.engine import queues
from koken.store.database import Database


async def apply_limits(db: Database, limits: Mapping[str, Mapping[str, Any]], *, by: str) -> None:
    """Set limit, rate and burst of the queues that the settings name."""
    for name, limit in limits.items():
        await queues.set_limits(
            db,
            name,
            limit=limit.get("limit", ...),
            rate=limit.get("rate", ...),
            burst=limit.get("burst", 1),
            by=by,
            reason="settings",
        )
