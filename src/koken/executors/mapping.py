"""A map: the same for each item, some at once; each result is kept, each item has its line."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from koken.define.body import Body
from koken.executors.base import Parked, Parting, Undoing
from koken.executors.carrying import Carrying
from koken.executors.failures import failure_of
from koken.executors.hands import NOT_BEGUN
from koken.executors.stopping import Stop
from koken.executors.targets import Item, named, shown
from koken.model import codec
from koken.model.accept import Accept
from koken.model.durable import MAP, STEP, Entry
from koken.model.outcome import Outcome


class Mapped:
    """One map of one pass."""

    def __init__(self, carrying: Carrying, name: str, target: Any, accept: Accept | None) -> None:
        self.carrying = carrying
        self.way = carrying.way
        self.name = name
        self.target = target
        self.accept = accept

    async def results(self, items: Iterable[Any], at_once: int) -> list[Any]:
        """The results in order; of those that succeeded, where the rule accepts misses."""
        values = list(items)
        if type(at_once) is not int or at_once < 1:
            raise ValueError(f"map {self.name!r}: at_once is {at_once!r}; it counts from 1")
        if self.carrying.rules.caller is not None:
            raise TypeError(f"map {self.name!r}: a transaction takes one step after the other")
        named(self.target, (None,), {})
        if not self.way.loaded:
            await self.way.load()
        key, ordinal = self.way.enter(MAP, self.name)
        misses = await self.begin(key, ordinal, values)
        each = [self.item(number, value) for number, value in enumerate(values)]
        self.way.used.update(item.key for item in each)
        wanted = [item for number, item in enumerate(each) if number not in misses]
        works = [partial(self.carrying.settle, item) for item in wanted]
        found = await self.way.hands.each(works, at_once, self.way)
        await self.leave_if(found)
        if not any(isinstance(result, BaseException) for result in found):
            return found
        return await self.accepted(key, wanted, found, len(values))

    async def begin(self, key: str, ordinal: int | None, values: list[Any]) -> frozenset[int]:
        """Compare with the record, or make it; gives the items whose miss was accepted."""
        known = self.way.kept.get(key)
        if known is not None:
            stands = codec.decode(known.value)
            if stands["items"] != len(values):
                raise self.way.drift(
                    f"map {self.name!r} has {stands['items']} items on record, and the body gives "
                    f"{len(values)}"
                )
            return frozenset(stands.get("misses", ()))
        if self.way.undo is not None:
            await self.way.leave(self.way.undone())
        entries = [
            Entry(self.name, number, "created", item=shown(value))
            for number, value in enumerate(values)
        ]
        text = codec.encode({"items": len(values)}, name="a map")
        await self.way.keep(key, text, ordinal=ordinal, entries=entries)
        return frozenset()

    def item(self, number: int, value: Any) -> Item:
        """One item as a step."""
        name = f"{self.name}[{number}]"
        args: tuple[Any, ...] = (value,)
        kwargs: dict[str, Any] = {}
        if isinstance(self.target, Body):
            args, kwargs = (), dict(value)
        line = (self.name, number)
        return Item(name, STEP + name, None, self.target, args, kwargs, line)

    async def leave_if(self, found: list[Any]) -> None:
        """Leave the body when something is to be waited for, undone, or stopped."""
        for result in found:
            if isinstance(result, Stop):
                raise result
        waits = [result for result in found if isinstance(result, Parked | Undoing)]
        if waits:
            await self.way.leave(*waits)
        if any(isinstance(result, Parting) or result is NOT_BEGUN for result in found):
            self.way.part()

    async def accepted(
        self, key: str, wanted: list[Item], found: list[Any], total: int
    ) -> list[Any]:
        """The results of those that succeeded, if they are enough. Raises the first error."""
        errors = {
            item.line[1]: result
            for item, result in zip(wanted, found, strict=True)
            if isinstance(result, BaseException) and item.line
        }
        bad = [error for error in errors.values() if not may_miss(error)]
        good = [result for result in found if not isinstance(result, BaseException)]
        if bad or self.accept is None or len(good) < self.accept.required(total):
            raise (bad or list(errors.values()))[0]
        entries = [
            Entry(self.name, number, "skipped", error=told(error))
            for number, error in errors.items()
        ]
        record = {"items": total, "misses": sorted(errors)}
        text = codec.encode(record, name="a map")
        await self.way.keep(key, text, overwrite=True, entries=entries)
        return good


def may_miss(error: BaseException) -> bool:
    """Whether an item may be missed for that; what is no error and no failure leaves the body."""
    return isinstance(error, Exception | Outcome)


def told(error: BaseException) -> str:
    """An error in one line."""
    failure = failure_of(error)
    return f"{failure.type}: {failure.message}".rstrip(": ")
