"""One operation elsewhere, from its first submission to its result: what is due is done, and the
rest waits without holding a worker.

Before each submission the count of submissions is recorded, and the handle before the first poll.
Whoever finds a submission on record without a handle asks ``find`` before it submits again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from koken.define.operation import LEAST
from koken.executors import steps
from koken.executors.base import Parked
from koken.executors.failures import failure_of
from koken.executors.targets import Item
from koken.executors.way import Way
from koken.model import codec
from koken.model.durable import OPERATION, Entry, in_flight
from koken.model.outcome import Fail, Outcome, Retry, Snooze

SLACK = 0.001
"""Seconds: what is due so soon is due now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """An operation as it is on record; times are seconds, up to the moment of the record."""

    state: str = "created"
    spent: int = 0
    """Attempts at the run that were used up when it began."""
    submits: int = 0
    handle: str | None = None
    old: tuple[str, ...] = ()
    """Handles of earlier submissions, which were given up."""
    total: float = 0.0
    """Since the first submission."""
    since: float = 0.0
    """Since the last one, or since its handle is known."""
    due: float = 0.0
    """When it is looked at next, from the record on."""
    cursor: Any = None
    error: str = ""

    def dump(self) -> str:
        """As JSON text."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return codec.encode(plain, name="an operation")

    @classmethod
    def load(cls, text: str) -> State:
        """What ``dump`` gave."""
        plain = codec.decode(text)
        return cls(**{**plain, "old": tuple(plain["old"])})

    def is_over(self, *, anew: bool, spent: int) -> bool:
        """Whether it begins from the start, since this one has ended in an earlier try."""
        if self.state == "failed":
            return anew or self.spent < spent
        return self.state == "cancelled"

    def aged(self, seconds: float) -> State:
        """So much later."""
        return replace(
            self,
            total=self.total + seconds,
            since=self.since + seconds,
            due=max(self.due - seconds, 0.0),
        )


class Operating:
    """One item of an operation, in one pass through the body."""

    def __init__(self, way: Way, item: Item, *, undo: bool = False, anew: bool = False) -> None:
        self.way = way
        self.item = item
        self.operation = item.target
        self.given = item.args[0]
        self.undo = undo
        self.key = OPERATION + item.name
        self.times = self.operation.pause, self.operation.limit  # refused before it is submitted
        known = way.kept.get(self.key)
        state = State.load(known.value).aged(known.age) if known else None
        if state is not None and state.is_over(anew=anew, spent=way.past.spent):
            state = None
        self.state = state or State(spent=way.past.spent)
        self.new = state is None

    async def go_on(self) -> Any:
        """The result, or the wait for the next look. Raises why it failed."""
        if self.new:
            await self.record(self.state)
        elif self.state.state == "failed":
            raise Fail(self.state.error)
        elif self.state.due > SLACK:
            return self.parked(self.state.due)
        if self.state.handle is None and not await self.submitted():
            return await self.not_yet(None)
        try:
            answer = await self.call(self.operation.poll, self.given, self.handle)
        except Exception as error:
            self.log("poll", error)
            return await self.not_yet(None)
        except Outcome as outcome:
            answer = outcome
        await self.tell()
        match answer:
            case Snooze(after=after):
                return await self.not_yet(after)
            case Retry():
                await self.give_up(answer.reason or "it is to be submitted again")
                return await self.go_on_later()
            case Outcome():
                await self.fail(answer.reason or type(answer).__name__)
                raise answer if isinstance(answer, Fail) else Fail(answer.reason)
        text, replay = self.item.encode(answer)
        entries = [self.entry("done")]
        stands = await self.way.keep(
            self.item.key, text, ordinal=self.item.ordinal, undo=self.undo, entries=entries
        )
        return replay if stands == text else self.item.decode(stands)

    async def cancel(self) -> None:
        """End what is under way elsewhere; it is on record as cancelled when that has gone well."""
        if self.new or self.state.state in ("failed", "cancelled"):
            return
        handle = self.state.handle or await self.found()
        if handle is not None:
            self.state = replace(self.state, handle=handle)
            await self.call(self.operation.cancel, self.given, self.handle)
        await self.record(replace(self.state, state="cancelled"))

    # --- submitting ----------------------------------------------------------------------------

    async def submitted(self) -> bool:
        """Whether there is a handle now; submits where that is due."""
        try:
            handle = await self.found()
        except Exception as error:  # then nobody knows whether it was submitted
            self.log("find", error)
            return False
        if handle is None and self.may_submit():
            handle = await self.submit()
        if handle is not None:
            state = replace(self.state, state="submitted", handle=handle, since=0.0, due=0.0)
            await self.record(state)
        return handle is not None

    def may_submit(self) -> bool:
        """Whether it is time to submit: the first time, after an error, or after a long silence."""
        state, stall = self.state, self.operation.stall
        return state.submits == 0 or state.state == "created" or state.since >= stall.no_handle

    async def found(self) -> str | None:
        """The handle of what was submitted before, as ``find`` tells; not one that was given up."""
        found = await self.call(self.operation.find, self.given, self.idempotency)
        if found is None:
            return None
        text = steps.encode(self.item.name, self.operation.submit, found)[0]
        return None if text in self.state.old else text

    async def submit(self) -> str | None:
        """Submit; an error spends a submission, and the last one is raised."""
        most = self.operation.stall.max_submits
        if self.state.submits >= most:
            await self.fail(self.state.error or f"no handle after {most} submissions")
            raise TimeoutError(f"operation {self.item.name!r}: {self.state.error}")
        await self.record(
            replace(self.state, state="created", submits=self.state.submits + 1, since=0.0)
        )
        try:
            given = await self.call(self.operation.submit, self.given, self.idempotency)
        except Exception as error:
            if self.state.submits >= most:
                await self.fail(str(error))
                raise
            self.log("submit", error)
            return None
        if given is None:
            await self.record(replace(self.state, state="submitted"))
            return None
        return steps.encode(self.item.name, self.operation.submit, given)[0]

    # --- waiting, giving up --------------------------------------------------------------------

    async def not_yet(self, after: float | None) -> Parked:
        """Look again later, unless it has taken too long."""
        state, stall, limit = self.state, self.operation.stall, self.operation.limit
        if limit is not None and state.total >= limit - SLACK:
            await self.end(f"it took longer than {limit:g} s")
            raise TimeoutError(f"operation {self.item.name!r}: {self.state.error}")
        stuck = stall.in_flight is not None and state.since >= stall.in_flight - SLACK
        if state.handle is not None and stuck:
            await self.give_up(f"it was in flight for {state.since:g} s", cancel=True)
        return await self.go_on_later(after)

    async def go_on_later(self, after: float | None = None) -> Parked:
        """Record when it is looked at again."""
        due = self.operation.pause if after is None else max(after, LEAST)
        limit = self.operation.limit
        if limit is not None:
            due = min(due, max(limit - self.state.total, 0.0))
        await self.record(replace(self.state, due=due))
        return self.parked(due)

    async def give_up(self, why: str, *, cancel: bool = False) -> None:
        """Give this submission up: another one follows, or none is left."""
        self.log("gave up", RuntimeError(why))
        if cancel and not await self.cancelled():
            return
        if self.state.submits >= self.operation.stall.max_submits:
            await self.fail(f"{why}; {self.state.submits} submissions were made")
            raise TimeoutError(f"operation {self.item.name!r}: {self.state.error}")
        old = (*self.state.old, self.state.handle or "")
        await self.record(replace(self.state, state="created", handle=None, old=old, error=why))

    async def end(self, why: str) -> None:
        """It has failed for good: cancel it there."""
        if self.state.handle is not None:
            await self.cancelled()
        await self.fail(why)

    async def cancelled(self) -> bool:
        """Whether it could be cancelled."""
        try:
            await self.call(self.operation.cancel, self.given, self.handle)
        except Exception as error:
            self.log("cancel", error)
            return False
        return True

    async def fail(self, why: str) -> None:
        """Record that it has failed."""
        await self.record(replace(self.state, state="failed", error=codec.clean(why)))

    # --- small things --------------------------------------------------------------------------

    @property
    def handle(self) -> Any:
        """The handle as the operation gave it."""
        assert self.state.handle is not None
        return steps.decode(self.item.name, self.operation.submit, self.state.handle)

    @property
    def idempotency(self) -> str:
        """The key of this submission: the same in all attempts until it is given up."""
        parts = [self.item.name, *([len(self.state.old)] if self.state.old else [])]
        return self.way.assignment.key(*parts)

    def entry(self, state: str) -> Entry:
        """Its line in the ledger."""
        key, no = self.item.line or (self.item.name, 0)
        mine = self.state
        return Entry(
            key, no, state, handle=mine.handle, submits=mine.submits, error=mine.error or None
        )

    async def record(self, state: State) -> None:
        """Put down how it stands."""
        self.state = state
        text = state.dump()
        entries = [self.entry(state.state)]
        await self.way.keep(self.key, text, overwrite=True, unwind=in_flight(text), entries=entries)

    async def call(self, method: Any, *args: Any) -> Any:
        """Call one of its methods; meanwhile the body is not left."""
        with self.way.working():
            return await self.way.hands.method(method, args)

    async def tell(self) -> None:
        """Bring new lines of its own log into the run's."""
        try:
            found = await self.call(self.operation.logs, self.given, self.handle, self.state.cursor)
        except Exception as error:
            self.log("logs", error)
            return
        if found is not None:
            lines, cursor = found
            for line in lines:
                self.way.host.log("info", "log", f"{self.item.name}: {codec.clean(str(line))}")
            self.state = replace(self.state, cursor=cursor)

    def log(self, what: str, error: Exception) -> None:
        """Say in the run's log what went wrong."""
        failure = failure_of(error)
        text = f"operation {self.item.name!r}, {what}: {failure.type}: {failure.message}"
        self.way.host.log("warning", "log", text)

    def parked(self, seconds: float) -> Parked:
        """The wait for the next look."""
        state = self.state
        what = "is in flight" if state.handle else "has no handle yet"
        return Parked("operation", seconds, self.item.name, None, f"{self.item.name} {what}")
