"""A plausible world for looking at pages, for screenshots and for tests in a browser.

    python -m tests.web.world URL                 migrates the database at URL and fills it, once
    python -m tests.web.world URL --serve 7070    the same, then serves the console there

An empty database for it: ``createdb -h 127.0.0.1 -p 5455 -U postgres world_mira``. A database that
has runs already is left as it is, so that a second call only serves. It takes about 4 seconds.

In a test, on ``database_url``: ``world = await fill(database_url)``; ``world.runs["failed"]`` is
the number of a run that stands for something, see ``World``.

Everything was made by the engine and by real workers, then moved into the past. No worker is at
work afterwards: the two that count as live beat as long as somebody serves.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from contextlib import suppress

import psycopg

from koken.config import Config
from koken.model.web import Web
from koken.store.database import Database
from koken.store.migrate import migrate
from koken.web.house import House
from koken.web.serve import address, bind, open_doors
from tests.web.company import app
from tests.web.filling import World, fill

__all__ = ["World", "fill"]


async def beat(url: str) -> None:
    """Keep the two workers alive."""
    db = Database(url, size=1)
    try:
        while True:
            async with db.session() as session:
                await session.execute(
                    "update koken.worker set beat_at = koken.now()"
                    " where lost_at is null and cleared_at is null"
                )
            await asyncio.sleep(3)
    finally:
        await db.close()


async def serve(url: str, port: int) -> None:
    """Serve the console on the database at ``url`` until interrupted."""
    config = Config(database_url=url, web=Web(port=port))
    house = House(app, config, loopback=True, local="mira")
    listening = bind("127.0.0.1", port)
    beating = asyncio.ensure_future(beat(url))
    async with open_doors(house, listening) as task:
        print(f"console on {address(listening)}", flush=True)
        await task
    beating.cancel()


async def main(url: str, port: int | None) -> None:
    """Fill what is empty, and serve it where that is wanted."""
    os.environ["KOKEN_DATABASE_URL"] = url
    await migrate(url)
    async with await psycopg.AsyncConnection.connect(url) as connection:
        found = await connection.execute("select count(*) from koken.run")
        (count,) = await found.fetchone() or (0,)
    if not count:
        world = await fill(url)
        print(f"filled; runs that stand for something: {world.runs}")
    if port is not None:
        await serve(url, port)


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    reader.add_argument("url")
    reader.add_argument("--serve", type=int, metavar="PORT")
    given = reader.parse_args()
    with suppress(KeyboardInterrupt):
        asyncio.run(main(given.url, given.serve))
