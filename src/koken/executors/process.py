"""Functions in processes of their own: they can be killed, limited, and may crash as they like."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from asyncio import IncompleteReadError, StreamReader, StreamWriter
from typing import Any

from koken.define.function import Function
from koken.define.job import Job
from koken.errors import KokenError
from koken.executors import exits, wire
from koken.executors.base import Answer, Assignment, Broken, Host, Stopped
from koken.executors.bodies import misplaced
from koken.executors.capture import RunLog
from koken.executors.command import Command
from koken.executors.commandexecutor import CommandExecutor
from koken.executors.exits import ProcessDied
from koken.executors.forker import Forker, NotReady
from koken.executors.kept import LATE, Ears, End, KeptGoing, broken_off, order_line
from koken.executors.options import Process, memory_of
from koken.executors.stopping import GRACE
from koken.model import codec
from koken.model.run import Failure

PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from koken.executors.child import main; main()"
)


class ProcessExecutor:
    """Carries out functions in child processes, and commands.

    ``program`` is the program's address, ``module:name``. It is imported once, in a child that is
    started at the first need and forks a process for each run; this takes milliseconds. A stop
    sends SIGTERM, which raises a ``Stop`` into the body (cancels an ``async def``), and SIGKILL
    ``grace`` seconds later, to all that came of the body.
    """

    name = "process"
    killable = True

    def __init__(self, program: str, *, grace: float = GRACE) -> None:
        self.program = program
        self.grace = grace
        self.under_way: dict[int, ProcessGoing] = {}
        self.warm = self.forker()
        self.commands = CommandExecutor(grace=grace)

    def forker(self) -> Forker:
        """Forks processes that have the program."""
        words = [sys.executable, "-c", PROGRAM, json.dumps(sys.path), self.program]
        return Forker(words, os.environ)
