"""What a body is given of its run: the context for ``def`` and the one for ``async def`` bodies.

Both stand on a ``Host``. A context's every call is a point at which a body that should stop is
left; see ``stopping``.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from typing_extensions import override

from koken.define.context import AsyncContext, Context, Facts
from koken.errors import LeaseLost
from koken.executors import steps
from koken.executors.base import Assignment, Host
from koken.executors.capture import BODY_LOGGER
from koken.executors.stopping import Going
from koken.model import codec
from koken.model.run import Trigger

P = ParamSpec("P")
R = TypeVar("R")


class RunFacts(Facts):
    """The facts of an attempt, and the verbs that wait for nothing."""

    __slots__ = ("assignment", "going", "host", "kept", "used")

    def __init__(self, assignment: Assignment, host: Host, going: Going) -> None:
        self.assignment = assignment
        self.host = host
        self.going = going
        self.kept: dict[str, str] | None = None
        """The run's checkpoints, once they were asked for."""
        self.used: set[str] = set()
        """The steps that this attempt has come by."""

    @property
    @override
    def run_id(self) -> int:
        return self.assignment.run_id

    @property
    @override
    def root_id(self) -> int:
        return self.assignment.root_id

    @property
    @override
    def job(self) -> str:
        return self.assignment.job

    @property
    @override
    def attempt(self) -> int:
        return self.assignment.attempt

    @property
    @override
    def workspace(self) -> str:
        return self.assignment.workspace

    @property
    @override
    def subject(self) -> str | None:
        return self.assignment.subject

    @property
    @override
    def state(self) -> Any:
        return self.assignment.state

    @property
    @override
    def trigger(self) -> Trigger:
        return self.assignment.trigger

    @property
    @override
    def logical_time(self) -> datetime:
        return self.assignment.logical_time

    @property
    @override
    def cancelled(self) -> bool:
        self.going.seen = self.going.wanted(self.host)
        return bool(self.going.seen)

    @property
    @override
    def log(self) -> logging.Logger:
        return logging.getLogger(f"{BODY_LOGGER}.{self.assignment.job}")

    @override
    def heartbeat(self) -> None:
        self.going.check(self.host)

    @override
    def progress(self, percent: float, message: str = "") -> None:
        if not 0 <= percent <= 100:
            raise ValueError(f"progress is {percent}; it goes from 0 to 100")
        self.going.check(self.host)
        self.host.progress(int(percent), codec.clean(str(message)))

    @override
    def key(self, *parts: object) -> str:
        facts = self.assignment
        whole = [facts.workspace, facts.job, facts.run_id, facts.logical_time.isoformat()]
        text = json.dumps([*whole, *(str(part) for part in parts)])
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def enter(self, name: str) -> str:
        """Come by the step of that name; gives its key.

        Raises ``ValueError`` the second time.
        """
        self.going.check(self.host)
        if not name or not isinstance(name, str):
            raise ValueError(f"a step needs a name; this one has {name!r}")
        if name in self.used:
            raise ValueError(f"step {name!r} is used twice; the name of a step is unique in a run")
        self.used.add(name)
        return steps.STEP + name

    def saving(self, key: str, value: Any) -> tuple[str, str]:
        """Key and text to keep for ``save``."""
        self.going.check(self.host)
        if not key or not isinstance(key, str):
            raise ValueError(f"save needs a key; this one is {key!r}")
        return steps.SAVED + key, codec.encode(value, name=f"the value saved as {key!r}")


def saved_in(kept: Mapping[str, str]) -> Mapping[str, Any]:
    """The saved values among checkpoints."""
    start = len(steps.SAVED)
    found = {
        key[start:]: codec.decode(text) for key, text in kept.items() if key.startswith(steps.SAVED)
    }
    return MappingProxyType(found)


class RunContext(RunFacts, Context):
    """The context of a ``def`` body, in a thread or in a process of its own."""

    __slots__ = ()

    @property
    @override
    def saved(self) -> Mapping[str, Any]:
        return saved_in(self.checkpoints())

    def checkpoints(self) -> dict[str, str]:
        """The run's checkpoints; asked for once."""
        if self.kept is None:
            self.kept = dict(self.host.wait_for(self.host.checkpoints()))
        return self.kept

    @override
    def step(self, name: str, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        key = self.enter(name)
        known = self.checkpoints().get(key)
        if known is not None:
            return steps.decode(name, fn, known)  # type: ignore[no-any-return]  # R by annotation
        result = fn(*args, **kwargs)
        if inspect.iscoroutine(result):
            result.close()
            raise TypeError(f"step {name!r} is async def, but its body is def; write async def")
        text, replay = steps.encode(name, fn, result)
        stored = self.keep(key, text, overwrite=False)
        return replay if stored == text else steps.decode(name, fn, stored)  # type: ignore[no-any-return]  # as above

    @override
    def save(self, key: str, value: Any) -> None:
        self.keep(*self.saving(key, value), overwrite=True)

    def keep(self, key: str, text: str, *, overwrite: bool) -> str:
        """Keep a checkpoint; gives what stands there now."""
        kept = self.checkpoints()
        try:
            stored = self.host.wait_for(self.host.keep(key, text, overwrite=overwrite))
        except LeaseLost:
            self.going.leave("lost")  # the run belongs to another worker
        kept[key] = stored
        return stored


class AsyncRunContext(RunFacts, AsyncContext):
    """The context of an ``async def`` body. ``kept`` is set before the body begins."""

    __slots__ = ()

    @property
    @override
    def saved(self) -> Mapping[str, Any]:
        return saved_in(self.kept or {})

    async def open(self) -> AsyncRunContext:
        """Ask for the run's checkpoints, since ``saved`` cannot wait for them."""
        self.kept = dict(await self.host.checkpoints())
        return self

    @override
    async def step(self, name: str, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        key = self.enter(name)
        known = (self.kept or {}).get(key)
        if known is not None:
            return steps.decode(name, fn, known)
        text, replay = steps.encode(name, fn, await called_back(fn, args, kwargs))
        stored = await self.keep(key, text, overwrite=False)
        return replay if stored == text else steps.decode(name, fn, stored)

    @override
    async def save(self, key: str, value: Any) -> None:
        await self.keep(*self.saving(key, value), overwrite=True)

    async def keep(self, key: str, text: str, *, overwrite: bool) -> str:
        """Keep a checkpoint; gives what stands there now."""
        try:
            stored = await self.host.keep(key, text, overwrite=overwrite)
        except LeaseLost:
            self.going.leave("lost")  # the run belongs to another worker
        if self.kept is not None:
            self.kept[key] = stored
        return stored


async def called_back(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """What ``fn`` gives: an ``async def`` on the loop, a ``def`` in a thread, so that it holds
    nobody up."""
    if inspect.iscoroutinefunction(fn):
        return await fn(*args, **kwargs)
    result = await asyncio.to_thread(fn, *args, **kwargs)
    return await result if inspect.isawaitable(result) else result
