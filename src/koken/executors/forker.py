"""A child of the worker that forks keepers: started at the first need, and again if it dies."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence

from koken.executors import keeper
from koken.executors.kept import Ears

SOON = 0.005
"""Seconds between two tries when its line is full."""
END = 5.0
"""Seconds that it has to end when its line is closed."""
PASSED_ON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What the interpreter itself may need to start."""


class NotReady(Exception):
    """The process that forks could not get ready; the message says what it said."""


class Forker:
    """Forks keepers through a process that ``words`` start; the number of its line comes last."""

    def __init__(self, words: Sequence[str], env: Mapping[str, str]) -> None:
        self.words = list(words)
        self.env = dict(env)
        self.process: subprocess.Popen[bytes] | None = None
        self.line: socket.socket | None = None
        self.starting = asyncio.Lock()

    async def fork(self, ears: Ears) -> None:
        """Have a keeper forked that speaks into ``ears``.

        Raises ``OSError`` or ``NotReady`` when that cannot be.
        """
        line = await self.ready()
        try:
            await send(line, ears.theirs)
        except (BrokenPipeError, ConnectionResetError):
            await self.close()
            await send(await self.ready(), ears.theirs)
        ears.let_go()

    async def ready(self) -> socket.socket:
        """The line to the process, once it is ready."""
        async with self.starting:
            if self.line is not None and self.process is not None and self.process.poll() is None:
                return self.line
            await self.close()
            self.line = await self.start()
            return self.line

    async def start(self) -> socket.socket:
        """Start the process and wait until it is ready."""
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(  # noqa: ASYNC220 - a millisecond, once
                [*self.words, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                env=self.env,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        ours.setblocking(False)
        said = b""
        while not said.endswith(b"ready\n"):
            data = await asyncio.get_running_loop().sock_recv(ours, 1 << 16)
            if not data:
                ours.close()
                raise NotReady(said.decode(errors="replace") or "it ended at once")
            said += data
        return ours

    async def close(self) -> None:
        """End the process. Call it when no keeper of it has anything to keep."""
        if self.line is not None:
            self.line.close()
            self.line = None
        process, self.process = self.process, None
        if process is None:
            return
        deadline = asyncio.get_running_loop().time() + END
        while process.poll() is None:
            if asyncio.get_running_loop().time() > deadline:
                process.kill()
            await asyncio.sleep(SOON)


def plain_forker() -> Forker:
    """A forker of keepers for commands: it has nothing of the worker, least of all its secrets."""
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return Forker([sys.executable, "-I", "-S", keeper.__file__], env)


async def send(line: socket.socket, descriptors: Sequence[int]) -> None:
    """Send descriptors along the line."""
    while True:
        try:
            socket.send_fds(line, [b"k"], descriptors)
        except BlockingIOError:
            await asyncio.sleep(SOON)
        else:
            return
