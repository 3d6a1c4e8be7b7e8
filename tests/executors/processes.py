"""Looking at processes."""

from __future__ import annotations

from collections.abc import Iterable

from koken.executors import table


def running(pid: int | str) -> bool:
    """Whether a process is there, and is not merely waiting to be noticed by its parent."""
    fields = table.stat(pid)
    return fields is not None and fields[1] != "Z"


def living(pids: Iterable[int | str]) -> list[int | str]:
    """Those of the processes that run."""
    return [pid for pid in pids if running(pid)]
