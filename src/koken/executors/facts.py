"""What both kinds of context know of their run, and what they share."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, ParamSpec, TypeVar

from typing_extensions import override

from koken.define.facts import Facts
from koken.define.job import Job
from koken.define.spelling import nearest
from koken.executors.capture import BODY_LOGGER
from koken.executors.carrying import Carrying
from koken.executors.rules import OPTIONS
from koken.executors.way import Way
from koken.model import codec
from koken.model.durable import CHILD, SAVED, Kept, Wanted
from koken.model.run import Run
from koken.model.runparts import Trigger
from koken.store.callers import Caller

P = ParamSpec("P")
R = TypeVar("R")


class RunFacts(Facts):
    """The facts of an attempt, and the verbs that wait for nothing."""

    __slots__ = ("assignment", "carrying", "going", "host", "way")

    def __init__(self, way: Way, carrying: Carrying) -> None:
        self.way = way
        self.carrying = carrying
        self.assignment = way.assignment
        self.host = way.host
        self.going = way.going

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
        return self.assignment.key(*parts)

    def saving(self, key: str, value: Any) -> tuple[str, str]:
        """Key and text to keep for ``save``."""
        self.way.check()
        if not key or not isinstance(key, str):
            raise ValueError(f"save needs a key; this one is {key!r}")
        return SAVED + key, codec.encode(value, name=f"the value saved as {key!r}")

    def other(self, caller: Caller | None, given: Mapping[str, Any]) -> Carrying:
        """The same pass with other settings. Raises ``TypeError`` for one that there is not."""
        for name in given:
            if name not in OPTIONS:
                meant = nearest(name, OPTIONS)
                hint = f'did you mean "{meant}"?' if meant else f"it takes {', '.join(OPTIONS)}"
                raise TypeError(f'using() has no option "{name}"; {hint}')
        rules = self.carrying.rules.having(given)
        kind = type(self.carrying)
        return kind(self.way, rules if caller is None else replace(rules, caller=caller))

    async def begin_child(self, job: Job[..., Any], args: Any, kwargs: Any) -> Run[Any]:
        """A child that nobody waits for; the same job with the same arguments is started once."""
        if not isinstance(job, Job):
            raise TypeError(
                f"{job!r} is no job; declare it with @app.job, or use koken.Job('name')"
            )
        if not self.way.loaded:
            await self.way.load()
        self.way.check()
        text = codec.encode(job.body.bind(args, kwargs), name="the arguments")
        key = f"{CHILD}{job.name} {hashlib.sha256(text.encode()).hexdigest()[:32]}"
        known = self.way.kept.get(key)
        if self.way.undo is None:
            found = await self.carrying.start(job, args, kwargs, key=key, step=None)
        elif known is None:
            await self.way.leave(self.way.undone())
        else:
            child_id = codec.decode(known.value)["run"]
            wanted = Wanted(key=key, step=None, spent=None, job=job.name, args={}, known=child_id)
            found = await self.way.ask(self.host.child(wanted))
        return found.run

    async def keep_saved(self, key: str, value: Any) -> None:
        """Keep a value of the body's own; nowhere, when it is only to be undone."""
        key, text = self.saving(key, value)
        if self.way.undo is not None:
            self.way.kept[key] = Kept(text)
            return
        if not self.way.loaded:
            await self.way.load()
        await self.way.keep(key, text, overwrite=True)
