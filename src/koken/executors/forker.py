"""A child of the worker that forks keepers: started at the first need, and again if it dies."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from koken.executors import table
from koken.executors.kept import Ears

PLAIN = """
import sys, types
here = sys.argv.pop(1)
for name, path in (("koken", here + "/.."), ("koken.executors", here)):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [path]
from koken.executors.forking import main
main()
"""
"""Runs ``forking`` without the rest of Koken: the packages are empty, and say where they are."""
PATIENCE = 120.0
"""Seconds that a program may take to be imported."""
SOON = 0.005
"""Seconds between two tries when its line is full."""
END = 5.0
"""Seconds that it has to end when its line is closed."""
PASSED_ON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What the interpreter itself may need to start."""


FAULT = b"fault\n"
"""Begins what is said by a process that could not get ready by its program's own fault."""


class NotReady(Exception):
    """The process that forks could not get ready; the message says what it said."""


class Unimportable(NotReady):
    """The program cannot be imported, and will not be another time either."""


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
        if not ears.theirs:
            return  # the body was to stop meanwhile
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
        ours.setblocking(False)
        try:
            with theirs:
                self.process = subprocess.Popen(  # noqa: ASYNC220 - a millisecond, once
                    [*self.words, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    env=self.env,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            async with asyncio.timeout(PATIENCE):
                await said_ready(ours)
        except BaseException as error:
            ours.close()
            if isinstance(error, TimeoutError):
                raise NotReady(f"it was not ready within {PATIENCE:g} s") from None
            raise
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


async def said_ready(line: socket.socket) -> None:
    """Wait for the word. Raises ``NotReady`` or ``Unimportable`` with what is said instead."""
    said = b""
    while not said.endswith(b"ready\n"):
        data = await asyncio.get_running_loop().sock_recv(line, 1 << 16)
        if not data:
            kind = Unimportable if said.startswith(FAULT) else NotReady
            text = said.removeprefix(FAULT).decode(errors="replace")
            raise kind(text or "it ended at once")
        said += data


def plain_forker() -> Forker:
    """A forker of keepers for commands: it has nothing of the worker, least of all its secrets."""
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return Forker([sys.executable, "-I", "-S", "-c", PLAIN, str(Path(table.__file__).parent)], env)


async def send(line: socket.socket, descriptors: Sequence[int]) -> None:
    """Send descriptors along the line."""
    while True:
        try:
            socket.send_fds(line, [b"k"], descriptors)
        except BlockingIOError:
            await asyncio.sleep(SOON)
        else:
            return
