"""What a body sees of its run: the public face. ``executors`` makes the objects behind it.

A body asks for it by annotation, always as its first parameter: ``ctx: Context`` in a ``def``,
``ctx: AsyncContext`` in an ``async def``. Both have the same verbs; those that wait for the
database (``step``, ``save``, ``sleep`` and the others) are awaited in the second.

A body that waits is left, holds no worker, and is later entered again from the top: what it has
recorded answers at once. So code between steps is to be cheap and repeatable.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
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


class Context(Facts):
    """What the body of a ``def`` job sees of its run."""

    __slots__ = ()

    @overload
    def step(self, name: str, fn: Job[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @overload
    def step(self, name: str, fn: Operation[I, Any, R], item: I, /) -> R: ...

    @overload
    def step(self, name: str, fn: Body, /, *args: Any, **kwargs: Any) -> Any: ...

    @overload
    def step(self, name: str, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @abstractmethod
    def step(self, name: str, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Carry out ``fn(*args, **kwargs)`` once, and keep its result as a checkpoint.

        ``fn`` is a function, a job (a child run, for whose end the body waits), an ``Operation``,
        or a body from ``koken.executors``. A later attempt gets the kept result at once, by the
        return annotation. ``name`` is unique within the run.
        Raises what ``fn`` raises; then nothing is kept. Of a job: ``RunFailed``, ``RunSkipped``,
        ``RunCancelled``; a later attempt starts it anew.
        """

    @overload
    def map(
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
    def map(
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
    def map(
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
        """``fn`` of each item, ``at_once`` at a time; each result is kept as ``name[0]`` and on.

        Gives the results in order. When one fails the others are finished all the same; then the
        first error is raised, unless ``accept`` takes so many misses: these are skipped, and the
        results are those of the others.
        """

    @abstractmethod
    def start(self, job: Job[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Run[R]:
        """Start a child that the body does not wait for; the run does, before it ends.

        The same job with the same arguments is started once within a run.
        """

    @abstractmethod
    def save(self, key: str, value: Any) -> None:
        """Keep ``value`` (JSON) under ``key`` for later attempts; on disk when this returns."""

    @abstractmethod
    def sleep(self, duration: Duration) -> None:
        """Wait that long, by the database's clock."""

    @abstractmethod
    def sleep_until(self, instant: datetime) -> None:
        """Wait until that instant (aware); not at all when it has passed."""

    @overload
    def wait_signal(self, name: str, type: type[T], timeout: Duration | None = None) -> T: ...

    @overload
    def wait_signal(self, name: str, type: Any = Any, timeout: Duration | None = None) -> Any: ...

    @abstractmethod
    def wait_signal(self, name: str, type: Any = Any, timeout: Duration | None = None) -> Any:
        """The value of the next signal called ``name`` (see ``client.signal``), of that type.

        One that was sent before counts; each is taken once, in order. Raises ``TimeoutError``, and
        ``InvalidArguments`` for a value of another type.
        """

    @overload
    def ask(
        self, question: str, type: type[T], to: str = "", timeout: Duration | None = None
    ) -> T: ...

    @overload
    def ask(
        self, question: str, type: Any = Any, to: str = "", timeout: Duration | None = None
    ) -> Any: ...

    @abstractmethod
    def ask(
        self, question: str, type: Any = Any, to: str = "", timeout: Duration | None = None
    ) -> Any:
        """A person's answer to ``question``, of that type (see ``client.answer``).

        ``to`` says whom it is for. Raises ``TimeoutError``.
        """

    @abstractmethod
    def using(self, connection: Any = None, /, **settings: Unpack[StepSettings]) -> Context:
        """The same context with other settings for its steps; does nothing by itself.

        ``connection``: the steps' results are kept in that transaction, with what they write there.
        ``max_attempts``, ``backoff``: tries of a step within one attempt at the run. ``timeout``
        of one try. ``never_retry``: exceptions after which the run fails at once. ``compensate``
        gets the result of a step and undoes it, when the run fails or is cancelled.
        """
