"""Processes as the system shows them. Imports the standard library only; see ``keeper``."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys

LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
FOR_OTHERS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGTSTP")
"""Signals that come to us and are meant for others, such as Ctrl-C in the worker's terminal."""


def be_deaf() -> None:
    """Ignore the signals that are meant for others."""
    for name in FOR_OTHERS:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def hear_again() -> None:
    """Undo ``be_deaf``, and what Python itself ignores: for a program that is about to start."""
    for name in (*FOR_OTHERS, "SIGCHLD", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)


def die_with_parent() -> None:
    """Be killed when the parent dies, where the system can do that."""
    if LINUX:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of every process below whose own parent dies, where the system can."""
    if LINUX:
        prctl(PR_SET_CHILD_SUBREAPER, 1)


def prctl(option: int, value: int) -> None:
    """The Linux call of that name."""
    ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def limit(memory: int | None) -> None:
    """Limit the address space of this process, and of those that it starts."""
    if memory is not None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def send(pid: int, number: int) -> None:
    """Send a signal, if the process is there and may be sent one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def group_lives(group: int) -> bool:
    """Whether a process group has members."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def parents_of_all() -> dict[int, int]:
    """Every process of the system, with its parent."""
    found = {}
    with os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit() and (fields := stat(entry.name)):
                found[int(entry.name)] = int(fields[2])
    return found


def stat(pid: int | str) -> tuple[str, str, str] | None:
    """Name, state and parent of a process; None when it is gone."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        text = os.read(descriptor, 4096).decode(errors="replace")
    except OSError:
        return None
    finally:
        os.close(descriptor)
    name, _, rest = text.partition("(")[2].rpartition(")")
    state, parent = rest.split()[:2]
    return name, state, parent


def named(pids: list[int]) -> list[str]:
    """Processes for people, without those that have ended and only wait to be noticed."""
    seen = ((pid, stat(pid)) for pid in pids)
    return [f"{pid} ({fields[0]})" for pid, fields in seen if fields and fields[1] != "Z"]
