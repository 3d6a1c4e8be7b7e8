"""What a context has to work with: the loop of an ``async def`` body, or the thread of a ``def``.

What is written once for both is written as coroutines. In a thread they never wait: whatever they
await is done when it is asked for.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import override

from koken.executors.base import Host, Parked, Parting
from koken.store.callers import Caller, Rows

if TYPE_CHECKING:
    from koken.executors.way import Way

T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, Any]]
LOOK = 0.2
"""Seconds between two looks of a thread whether its body should stop."""
NOT_BEGUN = object()
"""What stands for an item that found no place."""


class Hands(ABC):
    """How things are done where the body goes."""

    @abstractmethod
    def strand(self) -> int:
        """Which task or thread this is."""

    @abstractmethod
    async def ask(self, work: Coroutine[Any, Any, T]) -> T:
        """What the host gives."""

    @abstractmethod
    async def call(
        self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """What a function gives."""

    @abstractmethod
    async def call_within(
        self, limit: float, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """As ``call``; raises ``TimeoutError`` when it takes longer."""

    @abstractmethod
    async def method(self, fn: Callable[..., Any], args: Sequence[Any]) -> Any:
        """As ``call``, of a method that may be ``async def`` wherever it is called."""

    @abstractmethod
    async def carry(self, work: Coroutine[Any, Any, T], way: Way) -> T:
        """What work gives that needs an event loop."""

    @abstractmethod
    async def send(self, caller: Caller, text: str, args: Sequence[Any]) -> Rows:
        """The rows of a statement over the caller's own connection."""

    @abstractmethod
    async def each(self, works: Sequence[Work], at_once: int, way: Way) -> list[Any]:
        """What each of these gives or raises, so many at once; all are carried out."""

    @abstractmethod
    async def until(self, quiet: Callable[[], bool], way: Way) -> None:
        """Until nothing else of the body is at work."""


class LoopHands(Hands):
    """On an event loop: a ``def`` goes to a thread, so that it holds nobody up."""

    @override
    def strand(self) -> int:
        return id(asyncio.current_task())

    @override
    async def ask(self, work: Coroutine[Any, Any, T]) -> T:
        return await work

    @override
    async def call(
        self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        if inspect.iscoroutinefunction(fn):
            return await fn(*args, **kwargs)
        result = await asyncio.to_thread(fn, *args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    @override
    async def call_within(
        self, limit: float, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        async with asyncio.timeout(limit):
            return await self.call(fn, args, kwargs)

    @override
    async def method(self, fn: Callable[..., Any], args: Sequence[Any]) -> Any:
        return await self.call(fn, args, {})

    @override
    async def carry(self, work: Coroutine[Any, Any, T], way: Way) -> T:
        return await work

    @override
    async def send(self, caller: Caller, text: str, args: Sequence[Any]) -> Rows:
        if not caller.is_async:
            return await asyncio.to_thread(caller.fetch, text, *args)
        return await caller.fetch_async(text, *args)

    @override
    async def each(self, works: Sequence[Work], at_once: int, way: Way) -> list[Any]:
        results: list[Any] = [NOT_BEGUN] * len(works)
        numbers = iter(range(len(works)))

        async def some() -> None:
            for number in numbers:
                try:
                    results[number] = await works[number]()
                except asyncio.CancelledError:
                    raise
                except BaseException as error:
                    results[number] = error
                if holds_place(results[number]):
                    return

        tasks = [asyncio.ensure_future(some()) for _ in range(min(at_once, len(works)))]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return results

    @override
    async def until(self, quiet: Callable[[], bool], way: Way) -> None:
        for _ in range(3):
            while not quiet():
                if way.changed is None:
                    way.changed = asyncio.Event()
                way.changed.clear()
                await way.changed.wait()
            await asyncio.sleep(0)  # others, just through with a step, come to their next one


class ThreadHands(Hands):
    """In a thread: everything is done here and now."""

    def __init__(self, host: Host) -> None:
        self.host = host

    @override
    def strand(self) -> int:
        return threading.get_ident()

    @override
    async def ask(self, work: Coroutine[Any, Any, T]) -> T:
        return self.host.wait_for(work)

    @override
    async def call(
        self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        return not_awaited(fn, fn(*args, **kwargs))

    @override
    async def call_within(
        self, limit: float, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        future: Future[Any] = Future()
        context = contextvars.copy_context()

        def work() -> None:
            try:
                future.set_result(context.run(fn, *args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=work, name="koken-step", daemon=True).start()
        try:
            return not_awaited(fn, future.result(limit))
        except TimeoutError:
            if future.done():
                raise
            raise TimeoutError(f"it took longer than {limit:g} s, and was left behind") from None

    @override
    async def method(self, fn: Callable[..., Any], args: Sequence[Any]) -> Any:
        result = fn(*args)
        return asyncio.run(result) if inspect.iscoroutine(result) else result

    @override
    async def carry(self, work: Coroutine[Any, Any, T], way: Way) -> T:
        async def watched() -> T:
            task = asyncio.ensure_future(work)
            while not (await asyncio.wait({task}, timeout=LOOK))[0]:
                if way.going.wanted(way.host):
                    task.cancel()
            return await task

        try:
            return asyncio.run(watched())
        except asyncio.CancelledError:
            way.going.check(way.host)
            raise

    @override
    async def send(self, caller: Caller, text: str, args: Sequence[Any]) -> Rows:
        return caller.fetch(text, *args)

    @override
    async def each(self, works: Sequence[Work], at_once: int, way: Way) -> list[Any]:
        results: list[Any] = [NOT_BEGUN] * len(works)
        numbers = iter(range(len(works)))

        def some() -> None:
            for number in numbers:
                try:
                    results[number] = done(works[number]())
                except BaseException as error:
                    results[number] = error
                if holds_place(results[number]):
                    return

        with ThreadPoolExecutor(max(min(at_once, len(works)), 1), "koken-map") as threads:
            going: set[Future[None]] = {
                threads.submit(contextvars.copy_context().run, some)
                for _ in range(min(at_once, len(works)))
            }
            while going:
                going = wait(going, timeout=LOOK).not_done
                if why := way.going.wanted(way.host):
                    way.going.seen = way.going.seen or why  # each leaves at its next call
        return results

    @override
    async def until(self, quiet: Callable[[], bool], way: Way) -> None:
        return


def holds_place(result: Any) -> bool:
    """Whether an item has not ended, so that no other one takes its place."""
    return isinstance(result, Parked | Parting)


def done(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine gives that never really waits."""
    try:
        work.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    work.close()
    raise RuntimeError("what goes in a thread cannot wait for a loop")


def not_awaited(fn: Callable[..., Any], result: Any) -> Any:
    """A result that is not to be awaited. Raises ``TypeError`` for any other."""
    if inspect.iscoroutine(result):
        result.close()
        name = getattr(fn, "__name__", type(fn).__name__)
        raise TypeError(f"{name} is async def, but its body is def; write async def")
    return result
