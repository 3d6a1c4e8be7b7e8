"""Asks over HTTP as fast as answers come: on so many connections, one request after another."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
READY = 30.0
"""Seconds that a console has to answer for the first time."""


class Line:
    """One connection that is kept."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter

    async def open(self) -> None:
        """Connect."""
        self.reader, self.writer = await asyncio.open_connection(HOST, self.port)

    def close(self) -> None:
        """Hang up."""
        self.writer.close()

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """The status and the body of the answer."""
        kind = b"Content-Type: application/json\r\n" if body else b""
        self.writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: {HOST}:{self.port}\r\n".encode()
            + kind
            + f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        return int(head[9:12]), await self.reader.readexactly(length)


async def rate(
    port: int, count: int, at_once: int, request: Callable[[int], tuple[str, str, bytes]], good: int
) -> tuple[float, list[bytes]]:
    """Answers a second, and the answers. Raises ``AssertionError`` for any status but ``good``."""
    lines = [Line(port) for _ in range(at_once)]
    for line in lines:
        await line.open()
    numbers = iter(range(count))
    answers: list[bytes] = []

    async def ask(line: Line) -> None:
        for number in numbers:
            status, body = await line.ask(*request(number))
            assert status == good, f"{status}: {body[:500]!r}"
            answers.append(body)

    began = time.perf_counter()
    await asyncio.gather(*map(ask, lines))
    took = time.perf_counter() - began
    for line in lines:
        line.close()
    return count / took, answers


@asynccontextmanager
async def console(url: str, folder: Path) -> AsyncIterator[int]:
    """A console on a database, in a process of its own; gives its port."""
    port = free_port()
    environment = {**os.environ, "KOKEN_DATABASE_URL": url}
    command = [sys.executable, "-c", "from koken.cli.main import main; main()", "web"]
    with (folder / "web.log").open("w") as log:
        process = await asyncio.create_subprocess_exec(
            *command, "--port", str(port), env=environment, cwd=folder, stdout=log, stderr=log
        )
        try:
            await until_ready(port)
            yield port
        finally:
            process.send_signal(signal.SIGTERM)
            await process.wait()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        port: int = found.getsockname()[1]
        return port


async def until_ready(port: int) -> None:
    """Until a console answers that it is ready."""
    async with asyncio.timeout(READY):
        while True:
            line = Line(port)
            try:
                await line.open()
                if (await line.ask("GET", "/ready"))[0] == 200:
                    return
            except (OSError, asyncio.IncompleteReadError):
                pass
            finally:
                if hasattr(line, "writer"):
                    line.close()
            await asyncio.sleep(0.1)


def start_of(job: str, **args: Any) -> bytes:
    """The body of a request that starts a job."""
    return json.dumps({"job": job, "args": args}).encode()
