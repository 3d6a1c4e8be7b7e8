"""Endings that the database refuses: none of them is lost, and none keeps the others."""

from __future__ import annotations

import json
from collections.abc import Sequence

import asyncpg
import pytest

from koken.engine.claim import NO_ROOM, Room
from koken.engine.finish import Ending, Finished
from koken.errors import KokenError
from koken.model.states import State
from koken.runtime import finisher
from koken.runtime.finisher import Finisher
from koken.store.database import Database
from tests.runtime.test_service import NOWHERE


class Book:
    """Stands in for the database; ``refuses`` are runs of which it takes no ending at all."""

    def __init__(self) -> None:
        self.refuses: set[int] = set()
        self.taken: list[Ending] = []

    async def finish(self, db: Database, endings: Sequence[Ending], room: Room) -> Finished:
        poison = [each for each in endings if each.id in self.refuses or each.result == "poison"]
        if poison:
            raise KokenError("no\x00good") from asyncpg.UntranslatableCharacterError("no good")
        self.taken += endings
        return Finished(moved={each.id: each.state for each in endings})


@pytest.fixture
def book(monkeypatch: pytest.MonkeyPatch) -> Book:
    book = Book()
    monkeypatch.setattr(finisher, "finish", book.finish)
    return book


def service(delivered: list[int]) -> Finisher:
    async def told(endings: Sequence[Ending], done: Finished) -> None:
        delivered.extend(each.id for each in endings)

    return Finisher(Database(NOWHERE), told, room=lambda: NO_ROOM, on_doubt=lambda: None)


def ending(run_id: int, result: str = "1") -> Ending:
    return Ending(run_id, 1, State.SUCCEEDED, result=result, part=True)


async def test_an_answer_that_is_refused_fails_its_own_run(book: Book) -> None:
    delivered: list[int] = []
    made = service(delivered)
    made.endings.extend([ending(1), ending(2, "poison"), ending(3)])
    await made.turn()
    assert sorted(delivered) == [1, 2, 3]
    (failed,) = [each for each in book.taken if each.state is State.FAILED]
    assert (failed.id, failed.outcome, failed.part) == (2, "refused", True)
    message = json.loads(failed.error or "")["message"]
    assert message == "its answer cannot be stored: no\\x00good"


async def test_what_is_refused_twice_waits_behind_the_others(book: Book) -> None:
    delivered: list[int] = []
    made = service(delivered)
    book.refuses = {2}
    made.endings.extend([ending(1), ending(2), ending(3), ending(4)])
    for _ in range(3):
        with pytest.raises(KokenError):
            await made.turn()
    assert sorted(delivered) == [1, 3, 4]
    assert [(each.id, each.state) for each in made.endings] == [(2, State.FAILED)]
    book.refuses = set()
    await made.turn()
    assert sorted(delivered) == [1, 2, 3, 4]
