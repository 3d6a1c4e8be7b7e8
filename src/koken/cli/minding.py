"""The private server of ``koken dev`` under the eyes of its process: started again once."""

from __future__ import annotations

import asyncio

from koken.cli import output, private
from koken.embedded.server import Server
from koken.errors import KokenError

LOOK = 0.5
"""Seconds between two looks at the server's process."""
LOG = private.DATA / "postgres.log"


async def mind(server: Server | None) -> None:
    """Return when the server has ended for good; it is started again the first time it ends."""
    if server is None:
        await asyncio.Event().wait()
        return
    await until_gone(server)
    if not server.owned:
        output.say(("PostgreSQL has ended with the koken dev that started it.", "bold red"))
        return
    output.say((f"PostgreSQL has ended by itself (see {LOG}); starting it again …", "bold red"))
    try:
        server.restart()  # in this thread: nothing here goes on without it
    except (KokenError, OSError) as error:
        output.say((f"PostgreSQL does not start again: {error}", "bold red"))
        return
    output.say("PostgreSQL is back; what ran goes on.")
    await until_gone(server)
    output.say((f"PostgreSQL has ended again; see {LOG}, then start koken dev anew.", "bold red"))


async def until_gone(server: Server) -> None:
    """Until the server's process has ended."""
    while True:
        if gone(server):
            return
        await asyncio.sleep(LOOK)


def gone(server: Server) -> bool:
    """Whether the server's process has ended."""
    return server.child.ended if server.child is not None else not server.postmaster.alive()
