"""Carrying out commands, each under a keeper of its own."""

from __future__ import annotations

from typing import Any

from koken.define.job import Job
from koken.executors import exits
from koken.executors.base import Answer, Assignment, Broken, Host, Returned, Stopped, misplaced
from koken.executors.capture import RunLog
from koken.executors.command import Command
from koken.executors.environment import environment
from koken.executors.exits import CommandFailed
from koken.executors.forker import NotReady, plain_forker
from koken.executors.kept import Ears, End, KeptGoing, broken_off, order_line
from koken.executors.options import memory_of
from koken.executors.stopping import GRACE
from koken.model import codec
from koken.model.outcome import Skip
from koken.model.runparts import Failure


class CommandExecutor:
    """Carries out ``Command`` bodies.

    A stop sends SIGTERM to every process of the command, and SIGKILL ``grace`` seconds later,
    wherever they have gone. They end as well when the worker dies.
    """

    name = "command"

    def __init__(self, *, grace: float = GRACE) -> None:
        self.grace = grace
        self.under_way: dict[int, KeptGoing] = {}
        self.forker = plain_forker()

    async def carry_out(self, job: Job[..., Any], assignment: Assignment, host: Host) -> Answer:
        """Carry out the command."""
        command = job.body
        if not isinstance(command, Command):
            return misplaced(job, self.name)
        try:
            order = self.order(job, command, assignment)
        except ValueError as error:
            return exits.failed(CommandFailed(codec.clean(str(error))))
        going = KeptGoing(self.grace, assignment.timeout)
        self.under_way[assignment.run_id] = going
        log = RunLog(host)
        try:
            return going.verdict(await self.attend(command, order, going, log))
        except (OSError, NotReady) as error:
            return Broken(Failure(type="NotStarted", message=f"the command's keeper: {error}"))
        finally:
            going.settle()
            going.account(host)
            log.close()
            if self.under_way.get(assignment.run_id) is going:
                del self.under_way[assignment.run_id]

    def order(self, job: Job[..., Any], command: Command, assignment: Assignment) -> dict[str, Any]:
        """What the keeper is to start. Raises ``ValueError`` when a place cannot be filled."""
        return {
            "argv": command.argv(assignment),
            "env": environment(assignment, command.environment(assignment)),
            "cwd": command.cwd,
            "memory": memory_of(job),
        }

    async def attend(
        self, command: Command, order: dict[str, Any], going: KeptGoing, log: RunLog
    ) -> Answer:
        """Start the command and stay until nothing of it is left."""
        ears = Ears()
        try:
            if not await going.started(self.forker.fork(ears)):
                return Stopped(going.why)
            end = await ears.listen(going, log, order_line(order))
        finally:
            ears.close()
        going.tell(end)
        return answer_of(command, order["argv"], end, ears.last_line())

    async def stop(self, run_id: int, why: str) -> None:
        """Begin to end the run's processes; its ``carry_out`` answers."""
        going = self.under_way.get(run_id)
        if going is not None:
            going.stop(why)

    def goes_on(self, run_id: int, lease: int) -> bool:
        """Processes are killed before the answer."""
        return False

    async def close(self) -> None:
        """End the process that forks keepers."""
        await self.forker.close()


def answer_of(command: Command, argv: list[str], end: End, last_line: str) -> Answer:
    """What the end of a command means for its run."""
    if (broken := broken_off(end)) is not None:
        return broken
    code = end.exit_code
    if code is None:
        message = exits.unstarted(argv, command.cwd, end.where, end.failed or 0)
        return exits.failed(CommandFailed(codec.clean(message)))
    if code in command.ok_codes:
        return Returned(f'{{"exit_code":{code}}}')
    message = codec.clean(exits.in_words(code, last_line))
    if code in command.skip_codes:
        return Skip(message)
    return exits.failed(CommandFailed(message, code))
