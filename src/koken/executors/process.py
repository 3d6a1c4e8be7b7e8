"""Functions in processes of their own: they can be killed, limited, and may crash as they like."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from asyncio import IncompleteReadError, StreamReader, StreamWriter
from dataclasses import replace
from typing import Any

from typing_extensions import override

from koken.define.function import Function
from koken.define.job import Job
from koken.errors import DeclarationError, KokenError
from koken.executors import exits, wire
from koken.executors.base import (
    Answer,
    Assignment,
    Broken,
    Host,
    Raised,
    Stopped,
    misplaced,
    raised,
)
from koken.executors.capture import RunLog
from koken.executors.command import Command
from koken.executors.commandexecutor import CommandExecutor
from koken.executors.exits import ProcessDied
from koken.executors.forker import Forker, NotReady, Unimportable
from koken.executors.kept import LATE, TAIL, Ears, End, KeptGoing, broken_off, order_line
from koken.executors.options import Process, memory_of
from koken.executors.stopping import GRACE
from koken.model import codec
from koken.model.durable import Entry, Waiting, Wanted
from koken.model.runparts import Failure

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

    async def carry_out(self, job: Job[..., Any], assignment: Assignment, host: Host) -> Answer:
        """Carry out the function, or the command."""
        if isinstance(job.body, Command):
            return await self.commands.carry_out(job, assignment, host)
        if not isinstance(job.body, Function):
            return misplaced(job, self.name)
        going = ProcessGoing(self.grace, assignment.timeout)
        self.under_way[assignment.run_id] = going
        log = RunLog(host)
        cold = isinstance(job.executor, Process) and not job.executor.warm
        forker = self.forker() if cold else self.warm
        try:
            talk = Talk(assignment, host, going)
            return going.verdict(await self.attend(job, talk, forker, log))
        except Unimportable as error:
            return unimportable(self.program, str(error))
        except (OSError, NotReady) as error:
            return Broken(Failure(type="NotStarted", message=codec.clean_end(str(error))))
        finally:
            going.settle()
            going.account(host)
            log.close()
            if self.under_way.get(assignment.run_id) is going:
                del self.under_way[assignment.run_id]
            if cold:
                await forker.close()

    async def attend(self, job: Job[..., Any], talk: Talk, forker: Forker, log: RunLog) -> Answer:
        """Start the process and stay until nothing of it is left."""
        ears = Ears()
        ears.theirs.append(talk.theirs())
        talking: asyncio.Future[None] | None = None
        try:
            if not await talk.going.started(forker.fork(ears)):
                return Stopped(talk.going.why)
            talking = asyncio.ensure_future(talk.talk())
            end = await ears.listen(talk.going, log, order_line({"memory": memory_of(job)}))
            await asyncio.wait({talking}, timeout=LATE)
        finally:
            if talking is not None:
                talking.cancel()
            ears.close()
            talk.close()
        talk.going.tell(end)
        return answer_of(end, talk, ears.last_line() or talk.last_words)

    async def stop(self, run_id: int, why: str) -> None:
        """Begin to end the run's processes; its ``carry_out`` answers."""
        going = self.under_way.get(run_id)
        if going is not None:
            going.stop(why)
        await self.commands.stop(run_id, why)

    def goes_on(self, run_id: int, lease: int) -> bool:
        """Processes are killed before the answer."""
        return False

    async def close(self) -> None:
        """End the processes that fork."""
        await self.warm.close()
        await self.commands.close()


class ProcessGoing(KeptGoing):
    """A function in a process of its own."""

    __slots__ = ("line",)

    def __init__(self, grace: float, timeout: float | None) -> None:
        super().__init__(grace, timeout)
        self.line: StreamWriter | None = None

    @override
    def pass_on(self) -> None:
        if self.line is not None:
            self.line.write(wire.pack({"stop": self.why}))  # before SIGTERM, which asks for it
        super().pass_on()


class Talk:
    """What the worker and the process of a body say to each other."""

    def __init__(self, assignment: Assignment, host: Host, going: ProcessGoing) -> None:
        self.assignment = assignment
        self.host = host
        self.going = going
        self.ours: socket.socket | None = None
        self.answer: Answer | None = None
        self.last_words = ""
        """What came last on stderr, by way of the line."""
        self.confused = ""
        """Why nothing more can be understood of it."""

    def theirs(self) -> int:
        """The other end, for the process."""
        self.ours, theirs = socket.socketpair()
        return theirs.detach()

    def close(self) -> None:
        """Close our end."""
        if self.ours is not None:
            self.ours.close()

    async def talk(self) -> None:
        """Give the assignment, and answer what the body asks, until it is through."""
        reader, writer = await asyncio.open_unix_connection(sock=self.ours)
        self.going.line = writer
        try:
            writer.write(wire.pack({"assignment": wire.plain_assignment(self.assignment)}))
            while self.answer is None:
                reply = await self.hear(wire.unpack(await frame(reader)))
                if reply is not None:
                    writer.write(wire.pack(reply))
                    await writer.drain()
        except wire.NotAFrame as error:
            self.confused = str(error)
        except (IncompleteReadError, OSError):
            pass  # its process has ended
        finally:
            self.going.line = None
            writer.transport.abort()

    async def hear(self, said: wire.Message) -> wire.Message | None:
        """Do what the body asks; gives the reply, where there is one."""
        match said:
            case {"log": [str(level), str(stream), str(text)]}:
                self.host.log(level, stream, text)
                if stream == "stderr":
                    self.last_words = text.rpartition("\n")[2][:TAIL]
            case {"progress": [int(percent), str(message)]}:
                self.host.progress(percent, message)
            case {"unwinds": True}:
                self.host.unwinds()
            case {"answer": dict(answer)}:
                self.answer = wire.answer_from(answer)
            case _:
                return await self.asked(said)
        return None

    async def asked(self, said: wire.Message) -> wire.Message:
        """Answer what the body asks; an error is the body's."""
        try:
            match said:
                case {"checkpoints": True}:
                    return {"checkpoints": wire.plain_record(await self.host.checkpoints())}
                case {"keep": str(key), "value": str(value), "overwrite": bool(over), "with": more}:
                    return {"kept": await self.keep(key, value, over, more)}
                case {"wait": plain}:
                    met = await self.host.wait(wire.record_from(Waiting, plain))
                    return {"met": wire.plain_record(met)}
                case {"child": plain}:
                    child = await self.host.child(wire.record_from(Wanted, plain))
                    return {"child": wire.plain_record(child)}
                case {"open_children": list(ids)}:
                    ended, count = await self.host.open_children([int(each) for each in ids])
                    return {"ended": ended, "open": count}
        except KokenError as error:
            return {"error": type(error).__name__, "message": str(error)}
        raise wire.NotAFrame("a message that says nothing known")

    async def keep(self, key: str, value: str, overwrite: bool, more: wire.Message) -> str:
        """Keep a checkpoint."""
        return await self.host.keep(
            key,
            value,
            overwrite=overwrite,
            ordinal=more["ordinal"],
            undo=bool(more["undo"]),
            unwind=bool(more["unwind"]),
            entries=[wire.record_from(Entry, each) for each in more["entries"]],
        )


async def frame(reader: StreamReader) -> bytes:
    """The body of the next frame."""
    return await reader.readexactly(wire.size_of(await reader.readexactly(wire.HEAD.size)))


def unimportable(program: str, text: str) -> Answer:
    """What it means for a run that its program cannot be imported; ``text`` is the traceback."""
    cause = text.strip().rpartition("\n")[2]
    found = raised(DeclarationError(f"the program {program!r} cannot be imported: {cause}"))
    assert isinstance(found, Raised)
    return replace(found, failure=replace(found.failure, traceback=codec.clean_end(text)))


def answer_of(end: End, talk: Talk, last_line: str) -> Answer:
    """What the end of a process means for its run."""
    if (broken := broken_off(end)) is not None:
        return broken
    known = not isinstance(talk.answer, Stopped) or talk.going.why or talk.answer.why == "lost"
    if talk.answer is not None and known:
        return talk.answer
    code = end.exit_code
    if talk.answer is not None:
        message = "ended by SIGTERM, which was not the worker's"
    elif talk.confused:
        message = f"it spoilt the line to its worker: {talk.confused}"
    elif code is None:
        message = "it could not be started"
    else:
        message = exits.in_words(code, "" if code < 0 else last_line)
    return exits.failed(ProcessDied(codec.clean(message), code))
