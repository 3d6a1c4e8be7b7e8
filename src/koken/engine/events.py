"""The record of who did what, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from koken.store.database import Transaction
from koken.store.statements import Statement

RECORD_EVENT = Statement("record_event")
NO_WORKSPACE = 2
"""GLOBAL, where events belong that concern no workspace."""


async def record(
    tx: Transaction,
    verb: str,
    by: str,
    *,
    reason: str | None = None,
    run_id: int | None = None,
    job_id: int | None = None,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Write an event."""
    await tx.fetch(
        RECORD_EVENT, NO_WORKSPACE, verb, by, reason, run_id, job_id, json.dumps(dict(detail or {}))
    )
