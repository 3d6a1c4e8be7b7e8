"""What the end of a process means, in words."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from koken.executors.base import Raised, raised
from koken.model.runparts import Failure

BY_SHELL = {126: "found, but it could not be executed", 127: "program not found"}
"""What shells mean by a status."""


class CommandFailed(Exception):
    """A command ended badly or could not be started.

    ``exit_code`` is its exit status, negative for the signal that killed it; None when it was
    not started.
    """

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class ProcessDied(Exception):
    """The process of a body ended before the body did.

    ``exit_code`` is its exit status, negative for the signal that killed it.
    """

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def failed(error: CommandFailed | ProcessDied) -> Raised:
    """The answer of a body that ended so; there is no traceback to it."""
    answer = raised(error)
    assert isinstance(answer, Raised)
    failure = Failure(type=answer.failure.type, message=answer.failure.message)
    return Raised(failure, answer.kinds, error)


def in_words(exit_code: int, last_line: str = "") -> str:
    """``exit status 3: no such table``, ``killed by SIGKILL``."""
    if exit_code < 0:
        text = f"killed by {signal_name(-exit_code)}"
        if exit_code == -signal.SIGKILL:
            text += " (as the kernel does when memory runs out)"
    else:
        text = f"exit status {exit_code}{by_convention(exit_code)}"
    return f"{text}: {last_line}" if last_line else text


def by_convention(exit_code: int) -> str:
    """What shells mean by an exit status, in brackets."""
    if exit_code in BY_SHELL:
        return f" ({BY_SHELL[exit_code]})"
    if 128 < exit_code < 128 + signal.NSIG:
        name = signal_name(exit_code - 128)
        return f" (128 + {exit_code - 128}: {name})" if name.startswith("SIG") else ""
    return ""


def signal_name(number: int) -> str:
    """``SIGKILL`` for 9; real-time signals by number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def unstarted(argv: Sequence[str], cwd: str | None, where: str, number: int) -> str:
    """Why a program could not be started."""
    if where == "cwd":
        reason = "is not there" if number == errno.ENOENT else f"is closed: {os.strerror(number)}"
        return f"the folder {cwd!r} to run in {reason}"
    program = argv[0]
    path = Path(cwd or ".") / program
    if number == errno.ENOENT and "/" not in program:
        return f"there is no program {program!r} on PATH"
    if number == errno.ENOENT and path.exists():
        return f"{program!r} names an interpreter in its first line that is not there"
    if number == errno.ENOENT:
        return f"there is no program {program!r}"
    if number == errno.EACCES:
        kind = "is a folder" if path.is_dir() else "has no permission to be executed"
        return f"{program!r} {kind}"
    if number == errno.ENOEXEC:
        return f"{program!r} is no program: a script begins with #! and its interpreter"
    if number == errno.E2BIG:
        return f"the arguments of {program!r} are longer than the system takes"
    return f"{program!r} cannot be started: {os.strerror(number)}"
