"""Where the tables stand, by whatever way leads to the database."""

from __future__ import annotations

from koken.config import Config
from koken.errors import Conflict
from koken.store import migrate
from koken.store.database import Database
from koken.store.migrate import Standing


async def standing(config: Config) -> Standing:
    """What was applied and what is pending."""
    db = Database(config.database_url, schema=config.schema, size=1, pooled=config.pooled)
    try:
        async with db.transaction() as tx:
            return await migrate.standing(tx.connection, config.schema)
    finally:
        await db.close()


def direct(config: Config) -> str:
    """The address that leads straight to PostgreSQL: a migration wants a session of its own."""
    return config.listen_url or config.database_url


def refuse_others(found: Standing) -> None:
    """Raise ``Conflict`` for tables that this release cannot work on."""
    migrate.refuse_newer(found)
    if found.pending:
        raise Conflict(
            f"the database is at migration {found.version}, and this Koken wants "
            f"{migrate.latest()}; run `koken migrate` first",
            what="schema",
        )
