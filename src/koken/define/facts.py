"""What both kinds of context know, and the settings of their steps."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypedDict, TypeVar

from koken.model.duration import Duration
from koken.model.policy import Backoff, Effect
from koken.model.runparts import Trigger

if TYPE_CHECKING:
    pass

P = ParamSpec("P")
R = TypeVar("R")
I = TypeVar("I")  # noqa: E741  # an item
T = TypeVar("T")


class StepSettings(TypedDict, total=False):
    """The options of ``ctx.using``."""

    max_attempts: int | None
    backoff: Duration | Backoff | Callable[[int, Exception], Duration | None] | None
    timeout: Duration | None
    never_retry: type[Exception] | Iterable[type[Exception]] | None
    compensate: Callable[[Any], Any] | None
    effect: Literal["pure", "idempotent", "transactional", "once", "unsafe"] | Effect | None


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
