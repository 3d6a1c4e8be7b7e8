"""A counter in shared memory: bodies count themselves, the bench reads without a question."""

from __future__ import annotations

import mmap
import threading
import time
from pathlib import Path

CELLS = 4096
"""Waiting times that are kept, the oldest overwritten."""
SIZE = 8 * (1 + CELLS)


class Tally:
    """How many bodies have begun, and how long after their start each did.

    One process writes, others read: the same ``path``. Without a path it is nobody's.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.memory: mmap.mmap | bytearray
        if path is None:
            self.memory = bytearray(SIZE)
        else:
            if not path.exists():
                path.write_bytes(bytes(SIZE))
            with path.open("r+b") as file:
                self.memory = mmap.mmap(file.fileno(), SIZE)
        self.cells = memoryview(self.memory).cast("q")
        self.lock = threading.Lock()

    @property
    def count(self) -> int:
        """Bodies so far."""
        return self.cells[0]

    def add(self) -> None:
        """A body has begun. On an event loop only, where nothing comes between."""
        self.cells[0] += 1

    def add_in_thread(self) -> None:
        """A body has begun, in any thread."""
        with self.lock:
            self.cells[0] += 1

    def arrive(self, sent: int) -> None:
        """A body has begun that was started at ``sent``, nanoseconds of the monotonic clock."""
        now = time.monotonic_ns()
        with self.lock:
            self.cells[1 + self.cells[0] % CELLS] = now - sent
            self.cells[0] += 1

    def link(self, left: int, sent: int) -> None:
        """A step of a chain has begun. The last one is timed where ``sent`` is a moment."""
        if sent and left == 1:
            self.arrive(sent)
        else:
            self.add_in_thread()

    def wait_of(self, number: int) -> float:
        """Milliseconds that the body with this number, from 0, has waited."""
        return self.cells[1 + number % CELLS] / 1e6
