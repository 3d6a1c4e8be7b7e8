"""What a job carries out, beside functions, and where: the public part of this package."""

from __future__ import annotations

from koken.executors.command import Command
from koken.executors.exits import CommandFailed, ProcessDied
from koken.executors.options import Loop, Process, Thread

__all__ = ["Command", "CommandFailed", "Loop", "Process", "ProcessDied", "Thread"]
