"""The environment of a command: little, and the same on every machine."""

from __future__ import annotations

import os
from collections.abc import Mapping

from koken.executors.base import Assignment

KEPT = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER")
"""What a command gets of the worker's own environment, beside all that begins with ``LC_``."""


def environment(
    assignment: Assignment, more: Mapping[str, str], worker: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The whole environment of a command: the worker's plain parts, the run's facts, ``more``."""
    kept = {name: value for name, value in worker.items() if name in KEPT or name.startswith("LC_")}
    facts = {
        "KOKEN_ATTEMPT": str(assignment.attempt),
        "KOKEN_JOB": assignment.job,
        "KOKEN_LOGICAL_TIME": assignment.logical_time.isoformat(),
        "KOKEN_RUN_ID": str(assignment.run_id),
        "KOKEN_WORKSPACE": assignment.workspace,
    }
    return {"PATH": os.defpath} | kept | facts | dict(more)
