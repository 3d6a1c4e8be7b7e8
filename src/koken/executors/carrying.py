"""Carrying out a step: once; its result is kept, its failure tried again where the rules say so."""

from __future__ import annotations

import sys
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from koken.define.body import Body
from koken.define.job import Job
from koken.define.operation import Operation
from koken.errors import LeaseLost, RunCancelled, RunFailed, RunSkipped, WorkflowChanged
from koken.executors import commands, unsafe
from koken.executors.base import (
    Answer,
    Parked,
    Parting,
    Raised,
    Remembered,
    Returned,
    Undoing,
    raised,
)
from koken.executors.failures import FINAL, failure_of, kinds_of
from koken.executors.operating import Operating
from koken.executors.parking import Failed, check_success, waits_to_retry
from koken.executors.rules import PLAIN, Rules
from koken.executors.stopping import Stop
from koken.executors.targets import Item, named, standing_in
from koken.executors.way import Way
from koken.model import codec
from koken.model.durable import CHILD, FAILED, STEP, Child, Entry, Wanted
from koken.model.policy import Effect
from koken.model.runparts import Failure
from koken.store.statements import Statement, in_schema

KEEP_HERE = Statement("keep_here")
IDLE = 15.0
"""Seconds between two looks at a run that is not ours, and does not tell us of its end."""


class Carrying:
    """The steps of one context: its pass, and its rules."""

    __slots__ = ("rules", "way")

    def __init__(self, way: Way, rules: Rules = PLAIN) -> None:
        self.way = way
        self.rules = rules

    async def step(self, name: str, target: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        """A step of the body; leaves it when there is something to wait for."""
        named(target, args, kwargs)
        if not self.way.loaded:
            await self.way.load()
        key, ordinal = self.way.enter(STEP, name)
        line = (name, 0) if isinstance(target, Operation) else None
        result = await self.settle(Item(name, key, ordinal, target, args, kwargs, line))
        if isinstance(result, Parked | Undoing):
            await self.way.leave(result)
        return result

    async def settle(self, item: Item) -> Any:
        """The result of a step, or with what the body is to be left."""
        way = self.way
        known = way.kept.get(item.key)
        if known is not None:
            value = item.decode(known.value)
            if way.undo == item.name and self.rules.compensate is not None:
                work = self.at_work(self.rules.compensate, (value,), {})
                await way.leave(await self.undo(work))
            return value
        if way.undo is not None:
            return await self.undone(item)
        past = self.failed_before(item)
        if past is not None and past.after is None:
            raise self.revived(past)
        wait = self.left(item, past)
        if wait is not None:
            return wait
        once = self.rules.effect is Effect.UNSAFE and not isinstance(item.target, Job | Operation)
        if once:
            await unsafe.begin(way, item)
        try:
            return await self.carry_out(item, anew=past is not None)
        except WorkflowChanged:
            raise
        except (RunFailed, RunSkipped, RunCancelled) as error:
            way.strayed = True  # the child's own record is asked for again
            if item.line:
                entries = [Entry(*item.line, "failed", error=str(error))]
                await way.keep(f"ledger:{item.key}", "true", overwrite=True, entries=entries)
            raise
        except Exception as error:
            if once:
                await unsafe.ended(way, item)
            return await self.failed(item, error, past.tries + 1 if past else 1)

    async def carry_out(self, item: Item, *, anew: bool) -> Any:
        """Do it now; ``anew``: after a try that failed."""
        other = standing_in(item.name)
        if other is not None:
            return await self.keep(item, await self.at_work(other, item.args, item.kwargs or {}))
        match item.target:
            case Job():
                return await self.child(item, item.target)
            case Operation():
                undo = self.rules.compensate is not None
                return await Operating(self.way, item, undo=undo, anew=anew).go_on()
            case Body():
                result = await commands.result(self.way, item, item.target, self.rules.timeout)
                return await self.keep(item, result)
        value = await self.at_work(item.target, item.args, item.kwargs or {})
        return await self.keep(item, value)

    async def at_work(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Any) -> Any:
        """What a function gives; meanwhile the body is not left."""
        hands, limit = self.way.hands, self.rules.timeout
        with self.way.working():
            if limit is None:
                return await hands.call(fn, args, kwargs)
            return await hands.call_within(limit, fn, args, kwargs)

    async def keep(self, item: Item, value: Any) -> Any:
        """Keep a result, and give what stands."""
        way = self.way
        text, replay = item.encode(value)
        if self.rules.caller is not None:
            await self.keep_in_transaction(item, text)
            return replay
        stands = await way.keep(
            item.key,
            text,
            ordinal=item.ordinal,
            undo=self.rules.compensate is not None,
            entries=[Entry(*item.line, "done")] if item.line else (),
        )
        return replay if stands == text else item.decode(stands)

    async def keep_in_transaction(self, item: Item, text: str) -> None:
        """Keep a result in the caller's own transaction. Raises ``LeaseLost`` to roll it back."""
        facts, caller = self.way.assignment, self.rules.caller
        assert caller is not None
        undo = self.rules.compensate is not None
        if undo:
            await self.way.keep_failures()
            self.way.host.unwinds()
        given = (facts.run_id, facts.lease, item.key, text, item.ordinal, undo or None)
        statement = in_schema(KEEP_HERE.text("koken"), facts.schema)
        if not await self.way.hands.send(caller, statement, given):
            raise LeaseLost(
                f"run {facts.run_id} is no longer carried by this attempt: what step {item.name!r} "
                "wrote must not be committed"
            )

    # --- failures ------------------------------------------------------------------------------

    def failed_before(self, item: Item) -> Failed | None:
        """How the step failed earlier in this attempt."""
        known = self.way.kept.get(FAILED + item.key)
        found = Failed.load(known.value) if known else None
        return found if found and found.spent == self.way.past.spent else None

    def left(self, item: Item, past: Failed | None) -> Parked | None:
        """The wait before the next try, as far as it is not over."""
        if past is None or past.after is None:
            return None
        left = past.after - self.way.kept[FAILED + item.key].age
        return waits_to_retry(item.name, past, left) if left > 0.001 else None

    async def failed(self, item: Item, error: Exception, tries: int) -> Any:
        """A try has failed: wait for the next one, or raise the error."""
        way = self.way
        way.strayed = True
        after = self.rules.pause(tries, error)
        if isinstance(error, self.rules.never_retry):
            error.__dict__[FINAL] = True
        found = Failed(way.past.spent, tries, failure_of(error), kinds_of(error), after)
        entries = [Entry(*item.line, "failed", error=str(Remembered(found.failure, ())))] if (
            item.line and after is None) else ()  # fmt: skip
        if after is None and not entries:
            way.failures[item.key] = found
            raise error
        await way.keep(FAILED + item.key, found.dump(), overwrite=True, entries=entries)
        if after is None:
            raise error
        way.host.log(
            "warning", "log", f"step {item.name!r}, try {tries}: {found.failure.traceback}"
        )
        return waits_to_retry(item.name, found, after)

    def revived(self, past: Failed) -> Exception:
        """The error of an earlier pass, as far as possible of its own type."""
        self.way.strayed = True
        module, _, name = past.kinds[0].rpartition(".") if past.kinds else ("", "", "")
        kind = getattr(sys.modules.get(module), name, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            try:
                error: Exception = kind.__new__(kind)
                error.args = (past.failure.message,)
                if str(error) == past.failure.message:
                    return error
            except Exception:
                return Remembered(past.failure, past.kinds)
        return Remembered(past.failure, past.kinds)

    # --- jobs and bodies -----------------------------------------------------------------------

    async def child(self, item: Item, job: Job[..., Any]) -> Any:
        """The result of a child run; starts it, or looks how it stands."""
        way = self.way
        found = await self.start(
            job, item.args, item.kwargs or {}, key=CHILD + item.name, step=item.name
        )
        run = found.run
        if not run.state.ended:
            seconds = None if found.open is not None else IDLE
            reason = f"{run.job} {run.id}"
            return Parked("children", seconds, str(run.id), found.open, f"waits for {reason}")
        check_success(run)
        text = codec.encode(run.result, name="the result")
        entries = [Entry(*item.line, "done")] if item.line else ()
        undo = self.rules.compensate is not None
        await way.keep(item.key, text, ordinal=item.ordinal, undo=undo, entries=entries)
        return item.decode(text)

    async def start(
        self, job: Job[..., Any], args: Sequence[Any], kwargs: Any, *, key: str, step: str | None
    ) -> Child:
        """Start a child, or find it."""
        way = self.way
        plain = job.body.bind(args, kwargs)
        wanted = Wanted(
            key=key,
            step=step,
            spent=None if step is None else way.past.spent,
            job=job.name,
            args=plain,
            options=job.options,
        )
        return await way.ask(way.host.child(wanted))

    # --- undoing -------------------------------------------------------------------------------

    async def undone(self, item: Item) -> Undoing:
        """Nothing new is begun. An operation that is to be undone is cancelled; what has failed
        raises as it did, so that the body comes by what it did after that."""
        way = self.way
        if way.undo == item.name and isinstance(item.target, Operation):
            await way.leave(await self.undo(Operating(way, item).cancel()))
        past, child = way.kept.get(FAILED + item.key), way.kept.get(CHILD + item.name)
        if way.undo != "*" and past is not None:
            found = Failed.load(past.value)
            if found.after is None:
                raise self.revived(found)
        if way.undo != "*" and child is not None and isinstance(item.target, Job):
            await self.revive(item.target, codec.decode(child.value)["run"])
        return way.undone()

    async def revive(self, job: Job[..., Any], child_id: int) -> None:
        """Raise how a child has failed, if it has."""
        key = f"{CHILD}{child_id}"
        wanted = Wanted(key=key, step=None, spent=None, job=job.name, args={}, known=child_id)
        run = (await self.way.ask(self.way.host.child(wanted))).run
        if run.state.ended:
            self.way.strayed = True
            check_success(run)

    async def undo(self, work: Awaitable[Any]) -> Answer:
        """Carry out what undoes a step."""
        try:
            await work
        except (Parting, Stop, CancelledError):
            raise
        except BaseException as error:
            answer = raised(error)
            if not isinstance(answer, Raised):
                failure = Failure(type=type(error).__name__, message=str(error))
                return Raised(failure, kinds_of(error))
            return answer
        return Returned("null")
