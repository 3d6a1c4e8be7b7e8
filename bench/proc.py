"""What Linux says of processes: their children, processor time and memory."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
TICK = 1 / os.sysconf("SC_CLK_TCK")
AVAILABLE = (PROC / "self" / "stat").exists()


def children(pid: int) -> list[int]:
    """The children of a process."""
    found: list[int] = []
    for file in (PROC / str(pid) / "task").glob("*/children"):
        with suppress(OSError):  # the thread has just ended
            found += map(int, file.read_text().split())
    return found


def family(pid: int) -> list[int]:
    """A process and all below it."""
    return [pid, *(each for child in children(pid) for each in family(child))]


def ticks(pid: int, *, reaped: bool) -> float:
    """Seconds of processor time of one process; ``reaped``: with children that have ended."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11 : 15 if reaped else 13])) * TICK


def cpu(pid: int) -> float:
    """Seconds of processor time of a process and all that it started."""
    return ticks(pid, reaped=True) + sum(cpu(child) for child in children(pid))


def peak(pid: int) -> float:
    """Megabytes that one process has had resident, at most, so far."""
    lines = (PROC / str(pid) / "status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def memory(pid: int) -> tuple[float, float]:
    """Megabytes of a process and all below it: resident, and with shared pages divided."""
    resident = shared = 0
    for each in family(pid):
        try:
            lines = (PROC / str(each) / "smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        sizes = {
            key: int(rest.split()[0])
            for key, _, rest in (line.partition(":") for line in lines[1:])
        }
        resident += sizes.get("Rss", 0)
        shared += sizes.get("Pss", 0)
    return resident / 1024, shared / 1024
