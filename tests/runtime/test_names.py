"""What a worker knows by name, and what it asks again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from typing_extensions import override

import koken
from koken.engine.publish import publish
from koken.runtime.names import Names
from koken.store.database import Database
from koken.store.statements import Statement
from tests.runtime.test_verdict import RUN


class Counting(Database):
    """Remembers which statements were sent."""

    sent: tuple[str, ...] = ()

    @override
    async def fetch(self, statement: Statement, *args: Any) -> list[Any]:
        self.sent += (statement.name,)
        return await super().fetch(statement, *args)


async def test_an_edited_schedule_shows_with_the_next_run(database_url: str) -> None:
    app = koken.App("names", database_url=database_url)

    @app.job(schedule="0 2 * * *")
    async def nightly() -> None: ...

    db = Counting(database_url)
    await publish(db, "names", [nightly.spec], by="test", whole=True)
    names = Names(db)
    scheduled = replace(RUN, schedule_id=1)
    await names.learn([RUN, scheduled])
    assert (names.job(1), names.schedule(1), names.schedule(None)) == ("nightly", "0 2 * * *", None)
    await db.run(lambda tx: tx.execute("update koken.schedule set expression = '0 3 * * *'"))
    await names.learn([scheduled])
    assert names.schedule(1) == "0 3 * * *"
    db.sent = ()
    await names.learn([RUN])
    assert db.sent == ()
    await db.close()
