"""The record of who did what, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from koken.store.database import Transaction
from koken.store.statements import Statement

RECORD_EVENT = Statement("record_event")


async def record(
    tx: Transaction,
    verb: str,
    by: str,
    *,
    reason: str | None = None,
    run_id: int | None = None,
    job_id: int | None = None,
    workspace_id: int | None = None,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Write an event.

    Without a workspace it belongs to that of its run or job; what is about neither belongs to
    GLOBAL, as what concerns no workspace alone.
    """
    plain = json.dumps(dict(detail or {}))
    await tx.fetch(RECORD_EVENT, workspace_id, verb, by, reason, run_id, job_id, plain)
