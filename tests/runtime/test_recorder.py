"""The recorder: what was given before a flush is written, or given up, when it returns."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import asyncpg
import pytest

from koken.engine.record import Keeping, Line, Showing
from koken.errors import DatabaseUnreachable, KokenError
from koken.runtime import recorder
from koken.runtime.recorder import Recorder
from koken.store.database import Database
from tests.support.moments import until


class Book:
    """Stands in for the database: takes a batch when it is let, refuses or fails as told."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = 0
        self.failures: list[Exception] = []
        self.poison = ""
        self.written: list[str] = []

    async def record(
        self,
        db: Database,
        keepings: Sequence[Keeping],
        lines: Sequence[Line],
        showings: Sequence[Showing],
        *,
        clock: float,
    ) -> dict[Any, Any]:
        self.asked += 1
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        texts = [each.text for each in lines] + [each.message for each in showings]
        if self.poison in texts:
            raise KokenError("odd") from asyncpg.UntranslatableCharacterError("odd")
        self.written += texts
        return {}


@pytest.fixture
async def book(monkeypatch: pytest.MonkeyPatch) -> Book:
    book = Book()
    monkeypatch.setattr(recorder, "record", book.record)
    return book


@pytest.fixture
async def service(book: Book) -> Any:
    service = Recorder(Database("postgresql://nobody@127.0.0.1:1/nothing"))
    await service.start()
    yield service
    book.gate.set()
    await service.stop()


def line(text: str) -> Line:
    return Line(7, 1, 0.0, "info", "log", text)


async def test_a_flush_waits_for_what_is_being_written(book: Book, service: Recorder) -> None:
    book.gate.clear()
    service.add_line(line("last"))
    service.show(Showing(7, 1, 100, "done"))
    service.ring()
    await until(lambda: book.asked)
    assert not service.lines
    flushing = asyncio.create_task(service.flush())
    await asyncio.sleep(0)
    assert not flushing.done()
    book.gate.set()
    await flushing
    assert sorted(book.written) == ["done", "last"]


async def test_a_flush_waits_for_what_was_put_back(book: Book, service: Recorder) -> None:
    book.failures = [DatabaseUnreachable("away"), DatabaseUnreachable("away")]
    service.add_lines([line("first"), line("last")])
    service.show(Showing(7, 1, 100, "done"))
    service.ring()
    await until(lambda: len(book.failures) == 1)
    await service.flush()
    assert sorted(book.written) == ["done", "first", "last"]


async def test_a_flush_waits_for_progress_alone(book: Book, service: Recorder) -> None:
    book.failures = [DatabaseUnreachable("away")]
    service.show(Showing(7, 1, 100, "done"))
    await service.flush()
    assert book.written == ["done"]


async def test_a_flush_does_not_wait_for_what_is_refused(book: Book, service: Recorder) -> None:
    """And what fails meanwhile keeps its order, so that no flush goes ahead of its lines."""
    book.poison = "poison"
    texts = ["a", "b", "poison", "c", "d"]
    service.add_lines([line(text) for text in texts[:3]])
    first = asyncio.create_task(service.flush())
    await asyncio.sleep(0)
    service.add_lines([line(text) for text in texts[3:]])
    await service.flush()
    assert first.done()
    assert book.written == ["a", "b", "c", "d"]


async def test_a_flush_does_not_wait_for_lines_without_room(
    book: Book, service: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_LINES", 3)
    book.gate.clear()
    service.add_line(line("in flight"))
    service.ring()
    await until(lambda: book.asked)
    early = asyncio.create_task(service.flush())
    await asyncio.sleep(0)
    service.add_lines([line(str(n)) for n in range(5)])
    await early
    book.gate.set()
    await service.flush()
    assert book.written == ["in flight", "3", "4"]
