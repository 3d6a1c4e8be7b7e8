"""What a body sees of its run: the public face. ``executors`` makes the objects behind it.

A body asks for it by annotation, always as its first parameter: ``ctx: Context`` in a ``def``,
``ctx: AsyncContext`` in an ``async def``. Both have the same verbs; those that wait for the
database (``step``, ``save``) are awaited in the second.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, ParamSpec, TypeVar, overload

from koken.model.run import Trigger

P = ParamSpec("P")
R = TypeVar("R")


class Facts(ABC):
    """What both kinds of context know, and the verbs that never wait."""

    __slots__ = ()

    @property
    @abstractmethod
    def run_id(self) -> int:
        """The run's id."""

    @property
    @abstractmethod
    def root_id(self) -> int:
        """The id of the run at the top, from which this one descends; its own when it is that."""

    @property
    @abstractmethod
    def job(self) -> str:
        """The job's name."""

    @property
    @abstractmethod
    def attempt(self) -> int:
        """Which attempt this is, from 1; lost workers and snoozes do not count."""

    @property
    @abstractmethod
    def workspace(self) -> str:
        """The tenant on whose behalf the run goes."""

    @property
    @abstractmethod
    def subject(self) -> str | None:
        """The business object that the run acts on, such as ``experiment:42``."""

    @property
    @abstractmethod
    def state(self) -> Any:
        """What the app's ``lifespan`` gave this worker; None in a process of its own."""

    @property
    @abstractmethod
    def trigger(self) -> Trigger:
        """Who or what started the run."""

    @property
    @abstractmethod
    def logical_time(self) -> datetime:
        """The time that the run stands for: when its schedule was due, else when it was started."""

    @property
    @abstractmethod
    def cancelled(self) -> bool:
        """Whether the body should stop: a cancel was asked for, time is up or the worker closes."""

    @property
    @abstractmethod
    def saved(self) -> Mapping[str, Any]:
        """What ``save`` kept, earlier attempts included, as plain JSON values; read only."""

    @property
    @abstractmethod
    def log(self) -> logging.Logger:
        """Writes into the run's log, as ``logging`` and ``print`` in a body do as well."""

    @abstractmethod
    def progress(self, percent: float, message: str = "") -> None:
        """Show how far the run is; written at most every second.

        ``percent`` is from 0 to 100. Raises ``ValueError`` when it is not.
        """

    @abstractmethod
    def heartbeat(self) -> None:
        """Say that the body is alive, and leave it here when it should stop (see ``cancelled``)."""

    @abstractmethod
    def key(self, *parts: object) -> str:
        """A text that is the same in every attempt at this run, for idempotency headers.

        ``parts`` tell several calls within one run apart.
        """


class Context(Facts):
    """What the body of a ``def`` job sees of its run."""

    __slots__ = ()

    @abstractmethod
    def step(self, name: str, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Carry out ``fn(*args, **kwargs)`` once, and keep its result as a checkpoint.

        A later attempt gets the kept result at once, decoded by ``fn``'s return annotation.
        ``name`` is unique within the run. Raises what ``fn`` raises; then nothing is kept.
        """

    @abstractmethod
    def save(self, key: str, value: Any) -> None:
        """Keep ``value`` (JSON) under ``key`` for later attempts; on disk when this returns."""


class AsyncContext(Facts):
    """What the body of an ``async def`` job sees of its run."""

    __slots__ = ()

    @overload
    async def step(
        self, name: str, fn: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @overload
    async def step(
        self, name: str, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @abstractmethod
    async def step(self, name: str, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Carry out ``fn(*args, **kwargs)`` once, and keep its result as a checkpoint.

        ``fn`` is a ``def`` or an ``async def``. A later attempt gets the kept result at once,
        decoded by ``fn``'s return annotation. ``name`` is unique within the run.
        Raises what ``fn`` raises; then nothing is kept.
        """

    @abstractmethod
    async def save(self, key: str, value: Any) -> None:
        """Keep ``value`` (JSON) under ``key`` for later attempts; on disk when this returns."""
