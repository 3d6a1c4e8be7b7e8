"""What a body is given of its run: the context for ``def`` and the one for ``async def`` bodies.

Both stand on a ``Host``. A context's every call is a point at which a body that should stop is
left; see ``stopping``.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar, Unpack

from typing_extensions import override

from koken.define.asynccontext import AsyncContext
from koken.define.context import Context
from koken.define.facts import StepSettings
from koken.define.job import Job
from koken.executors import waits
from koken.executors.base import Assignment, Host
from koken.executors.carrying import Carrying
from koken.executors.facts import RunFacts
from koken.executors.hands import LoopHands, ThreadHands, done
from koken.executors.mapping import Mapped
from koken.executors.stopping import Going
from koken.executors.way import Way
from koken.model import codec
from koken.model.accept import Accept
from koken.model.durable import SAVED, Kept
from koken.model.duration import Duration, seconds
from koken.model.run import Run
from koken.store.callers import Caller

P = ParamSpec("P")
R = TypeVar("R")


def saved_in(kept: Mapping[str, Kept]) -> Mapping[str, Any]:
    """The saved values among checkpoints."""
    start = len(SAVED)
    found = {
        key[start:]: codec.decode(each.value) for key, each in kept.items() if key.startswith(SAVED)
    }
    return MappingProxyType(found)


class RunContext(RunFacts, Context):
    """The context of a ``def`` body, in a thread or in a process of its own."""

    __slots__ = ()

    @classmethod
    def of(
        cls,
        assignment: Assignment,
        host: Host,
        going: Going,
        carrying: type[Carrying] = Carrying,
    ) -> RunContext:
        """The context of a pass that begins in this thread."""
        way = Way(assignment, host, going, ThreadHands(host))
        return cls(way, carrying(way))

    @property
    @override
    def saved(self) -> Mapping[str, Any]:
        done(self.way.load())
        return saved_in(self.way.kept)

    @override
    def step(self, name: str, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        if inspect.iscoroutinefunction(fn):
            raise TypeError(f"step {name!r} is async def, but its body is def; write async def")
        return done(self.carrying.step(name, fn, args, kwargs))

    @override
    def map(
        self,
        name: str,
        fn: Any,
        items: Iterable[Any],
        /,
        *,
        at_once: int = 8,
        accept: Accept | None = None,
    ) -> list[Any]:
        return done(Mapped(self.carrying, name, fn, accept).results(items, at_once))

    @override
    def start(self, job: Job[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Run[R]:
        return done(self.begin_child(job, args, kwargs))

    @override
    def save(self, key: str, value: Any) -> None:
        done(self.keep_saved(key, value))

    @override
    def sleep(self, duration: Duration) -> None:
        done(waits.sleep(self.way, seconds(duration)))

    @override
    def sleep_until(self, instant: datetime) -> None:
        done(waits.sleep_until(self.way, instant))

    @override
    def wait_signal(self, name: str, type: Any = Any, timeout: Duration | None = None) -> Any:
        return done(waits.signal(self.way, name, type, timeout))

    @override
    def ask(
        self, question: str, type: Any = Any, to: str = "", timeout: Duration | None = None
    ) -> Any:
        return done(waits.ask(self.way, question, type, to, timeout))

    @override
    def using(self, connection: Any = None, /, **settings: Unpack[StepSettings]) -> RunContext:
        caller = None if connection is None else self.caller(connection)
        return RunContext(self.way, self.other(caller, settings))

    def caller(self, connection: Any) -> Caller:
        """The caller's own connection, which must block."""
        found = Caller(connection, self.assignment.schema)
        if found.is_async:
            raise TypeError("this connection awaits, but the body is def; use a blocking one")
        return found


class AsyncRunContext(RunFacts, AsyncContext):
    """The context of an ``async def`` body."""

    __slots__ = ()

    @classmethod
    async def of(
        cls,
        assignment: Assignment,
        host: Host,
        going: Going,
        carrying: type[Carrying] = Carrying,
    ) -> AsyncRunContext:
        """The context of a pass that begins in this task; its past is asked for here, since
        ``saved`` cannot wait for it."""
        way = Way(assignment, host, going, LoopHands())
        await way.load()
        return cls(way, carrying(way))

    @property
    @override
    def saved(self) -> Mapping[str, Any]:
        return saved_in(self.way.kept)

    @override
    async def step(self, name: str, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        return await self.carrying.step(name, fn, args, kwargs)

    @override
    async def map(
        self,
        name: str,
        fn: Any,
        items: Iterable[Any],
        /,
        *,
        at_once: int = 8,
        accept: Accept | None = None,
    ) -> list[Any]:
        return await Mapped(self.carrying, name, fn, accept).results(items, at_once)

    @override
    async def start(self, job: Job[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Run[R]:
        return await self.begin_child(job, args, kwargs)

    @override
    async def save(self, key: str, value: Any) -> None:
        await self.keep_saved(key, value)

    @override
    async def sleep(self, duration: Duration) -> None:
        await waits.sleep(self.way, seconds(duration))

    @override
    async def sleep_until(self, instant: datetime) -> None:
        await waits.sleep_until(self.way, instant)

    @override
    async def wait_signal(self, name: str, type: Any = Any, timeout: Duration | None = None) -> Any:
        return await waits.signal(self.way, name, type, timeout)

    @override
    async def ask(
        self, question: str, type: Any = Any, to: str = "", timeout: Duration | None = None
    ) -> Any:
        return await waits.ask(self.way, question, type, to, timeout)

    @override
    def using(self, connection: Any = None, /, **settings: Unpack[StepSettings]) -> AsyncRunContext:
        caller = None if connection is None else Caller(connection, self.assignment.schema)
        return AsyncRunContext(self.way, self.other(caller, settings))
