"""The process of a body: it has the program, carries out one job of it, and says what came of it.

``main`` runs in the process that forks: it imports the program once. What it forks for a run reads
the assignment, gives the body a context that speaks to the worker, and answers.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Coroutine
from typing import Any, NoReturn, TypeVar, cast

from koken.define.function import Function
from koken.define.registry import Program, Registry
from koken.errors import LeaseLost, NotFound
from koken.executors import capture, keeper, wire
from koken.executors.base import Answer, Assignment, Broken, Stopped
from koken.executors.bodies import answer_with, begin, misplaced, perform
from koken.executors.capture import RunLog, speaking
from koken.executors.stopping import Going, Stop, answer_to
from koken.model.run import Failure

T = TypeVar("T")


class Line:
    """The line to the worker: this side asks, and listens only when it has asked, or looks."""

    def __init__(self, descriptor: int) -> None:
        self.socket = socket.socket(fileno=descriptor)
        self.lock = threading.RLock()
        self.stop = ""

    def say(self, message: wire.Message) -> None:
        """Send a message."""
        with self.lock:
            self.socket.sendall(wire.pack(message))

    def ask(self, message: wire.Message) -> wire.Message:
        """Send a message and wait for its answer."""
        with self.lock:
            self.say(message)
            while True:
                said = self.hear()
                if "stop" not in said:
                    return said
                self.stop = said["stop"]

    def hear(self) -> wire.Message:
        """The next message. When the worker is gone there is nothing left to do."""
        return wire.unpack(self.exactly(wire.size_of(self.exactly(wire.HEAD.size))))

    def exactly(self, size: int) -> bytes:
        """That many bytes."""
        data = bytearray()
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                os._exit(1)
            data += piece
        return bytes(data)

    def look(self) -> str:
        """Why the body should stop, as far as the worker has said so by now."""
        with self.lock:
            while not self.stop and select.select([self.socket], [], [], 0)[0]:
                self.stop = self.hear().get("stop", "")
            return self.stop
