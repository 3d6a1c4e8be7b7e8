"""What an ``async def`` body sees of its run: the verbs of ``Context``, awaited."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack, overload

from koken.define.facts import Facts, StepSettings
from koken.model.duration import Duration
from koken.model.run import Run

if TYPE_CHECKING:
    from koken.define.body import Body
    from koken.define.job import Job
    from koken.define.operation import Operation
    from koken.model.accept import Accept

P = ParamSpec("P")
R = TypeVar("R")
I = TypeVar("I")  # noqa: E741  # an item
T = TypeVar("T")


class AsyncContext(Facts):
    """What the body of an ``async def`` job sees of its run."""

    __slots__ = ()

    @overload
    async def step(self, name: str, fn: Job[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @overload
    async def step(self, name: str, fn: Operation[I, Any, R], item: I, /) -> R: ...

    @overload
    async def step(self, name: str, fn: Body, /, *args: Any, **kwargs: Any) -> Any: ...

    @overload
    async def step(
        self, name: str, fn: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @overload
    async def step(
        self, name: str, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @abstractmethod
    async def step(self, name: str, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Carry out ``fn(*args, **kwargs)`` once, and keep its result as a checkpoint.

        ``fn`` is a function (``def`` or ``async def``), a job (a child run, for whose end the body
        waits), an ``Operation``, or a body from ``koken.executors``. A later attempt gets the kept
        result at once, by the return annotation. ``name`` is unique within the run.
        Raises what ``fn`` raises; then nothing is kept. Of a job: ``RunFailed``, ``RunSkipped``,
        ``RunCancelled``; a later attempt starts it anew.
        """

    @overload
    async def map(
        self,
        name: str,
        fn: Job[[I], R],
        items: Iterable[I],
        /,
        *,
        at_once: int = 8,
        accept: Accept | None = None,
    ) -> list[R]: ...

    @overload
    async def map(
        self,
        name: str,
        fn: Operation[I, Any, R],
        items: Iterable[I],
        /,
        *,
        at_once: int = 8,
        accept: Accept | None = None,
    ) -> list[R]: ...

    @overload
    async def map(
        self,
        name: str,
        fn: Callable[[I], Awaitable[R]],
        items: Iterable[I],
        /,
        *,
        at_once: int = 8,
        accept: Accept | None = None,
    ) -> list[R]: ...

    @overload
    async def map(
        self,
        name: str,
        fn: Callable[[I], R],
        items: Iterable[I],
        /,
        *,
        at_once: int = 8,
        accept: Accept | None = None,
    ) -> list[R]: ...

    @abstractmethod
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
        """As ``Context.map``."""

    @abstractmethod
    async def start(self, job: Job[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Run[R]:
        """As ``Context.start``."""

    @abstractmethod
    async def save(self, key: str, value: Any) -> None:
        """As ``Context.save``."""

    @abstractmethod
    async def sleep(self, duration: Duration) -> None:
        """As ``Context.sleep``."""

    @abstractmethod
    async def sleep_until(self, instant: datetime) -> None:
        """As ``Context.sleep_until``."""

    @overload
    async def wait_signal(self, name: str, type: type[T], timeout: Duration | None = None) -> T: ...

    @overload
    async def wait_signal(
        self, name: str, type: Any = Any, timeout: Duration | None = None
    ) -> Any: ...

    @abstractmethod
    async def wait_signal(self, name: str, type: Any = Any, timeout: Duration | None = None) -> Any:
        """As ``Context.wait_signal``."""

    @overload
    async def ask(
        self, question: str, type: type[T], to: str = "", timeout: Duration | None = None
    ) -> T: ...

    @overload
    async def ask(
        self, question: str, type: Any = Any, to: str = "", timeout: Duration | None = None
    ) -> Any: ...

    @abstractmethod
    async def ask(
        self, question: str, type: Any = Any, to: str = "", timeout: Duration | None = None
    ) -> Any:
        """As ``Context.ask``."""

    @abstractmethod
    def using(self, connection: Any = None, /, **settings: Unpack[StepSettings]) -> AsyncContext:
        """As ``Context.using``."""
