"""The process of a body: it has the program, carries out one job of it, and says what came of it.

``main`` is the process that forks: it imports the program once. What it forks for a run reads
the assignment, gives the body a context that speaks to the worker, and answers.
"""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import importlib
import json
import os
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from koken.define.function import Function
from koken.define.job import Job
from koken.define.registry import Registry
from koken.executors import capture, forker, forking, keeper, wire
from koken.executors.base import Absent, Answer, Assignment, Stopped, misplaced
from koken.executors.bodies import perform
from koken.executors.capture import RunLog, speaking
from koken.executors.line import Line
from koken.executors.loop import LoopExecutor
from koken.executors.stopping import Going, Stop

MISFORTUNES = (OSError, MemoryError)
"""What keeps a program from being imported without its fault: it may go another time."""
ELSEWHERE = "signal"
"""The reason of a stop that is not the worker's."""
NEVER = 1e6
"""Seconds; the keeper's grace ends before."""


def main() -> None:
    """Import the program, and fork a keeper with a body for each set of descriptors that comes.

    Arguments: the import path as JSON, the program's address, the number of the line.
    """
    sys.path[:] = json.loads(sys.argv[1])
    line = socket.socket(fileno=int(sys.argv[3]))
    line.set_inheritable(False)
    try:
        registry = load(sys.argv[2])
    except BaseException as error:
        said = traceback.format_exc().encode("utf-8", "backslashreplace")
        line.sendall(said if isinstance(error, MISFORTUNES) else forker.FAULT + said)
        raise
    sys.stdout.flush()  # else each child would say once more what the program said so far
    gc.collect()
    gc.freeze()  # the collector of a child would copy every page of the program
    forking.serve(line, starter(registry))


def load(address: str) -> Registry:
    """The jobs of the program at ``module:name``, its modules imported."""
    module, _, name = address.partition(":")
    program: Any = getattr(importlib.import_module(module), name)
    for each in program.modules:
        importlib.import_module(each)
    registry: Registry = program.registry
    return registry


def starter(registry: Registry) -> keeper.Start:
    """Becomes a body of the program."""

    def start(order: keeper.Order, extra: list[int], outlet: int) -> None:
        os.close(outlet)
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored, signal.SIG_IGN)  # as Python has it: a closed pipe is an error
        line = Line(extra[0])
        assignment = wire.assignment_from(line.hear()["assignment"])
        with limited(order["memory"]):
            answer = carry_out(registry, assignment, line)
        line.say({"answer": wire.plain_answer(answer)})
        for stream in (sys.__stdout__, sys.__stderr__):
            if stream is not None:
                stream.flush()
        os._exit(0)

    return start


@contextmanager
def limited(memory: int | None) -> Iterator[None]:
    """Limit the address space meanwhile: the answer may need some when the body used it up."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    if memory is not None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def carry_out(registry: Registry, assignment: Assignment, line: Line) -> Answer:
    """Carry out the body of the assignment's job, of a step of it, or of what undoes that step."""
    job = registry.part(assignment.job, assignment.step, undo=assignment.undo == "")
    if job is None:
        return Absent()
    if not isinstance(job.body, Function):
        return misplaced(job, "process")
    faulthandler.enable()
    capture.install()
    if job.body.is_async:
        return asyncio.run(carry_out_async(job, assignment, line))
    return carry_out_here(job.body, assignment, line)


def carry_out_here(function: Function, assignment: Assignment, line: Line) -> Answer:
    """Carry out a ``def``. SIGTERM raises a ``Stop`` into it."""
    going = Going()

    def leave(number: int, frame: FrameType | None) -> None:
        try:
            going.leave(asked_for(line))
        except Stop as stop:
            if not line.saying:
                raise
            line.deferred = stop

    log = RunLog(line)
    speaking.set(log)
    try:
        signal.signal(signal.SIGTERM, leave)
        answer = perform(function, assignment, line, going)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    except Stop as stop:  # it came when the body had just ended
        answer = Stopped(stop.why)
    log.close()
    return going.verdict(answer)


async def carry_out_async(job: Job[..., Any], assignment: Assignment, line: Line) -> Answer:
    """Carry out an ``async def``. SIGTERM cancels it."""
    executor = LoopExecutor(grace=NEVER)
    loop = asyncio.get_running_loop()

    def leave() -> None:
        if (going := executor.under_way.get(assignment.run_id)) is not None:
            going.stop(asked_for(line))

    loop.add_signal_handler(signal.SIGTERM, leave)
    return await executor.carry_out(job, assignment, line)


def asked_for(line: Line) -> str:
    """Why SIGTERM came: what the worker said, or that it came from elsewhere."""
    return line.stop or ("" if line.hearing else line.stop_wanted()) or ELSEWHERE
