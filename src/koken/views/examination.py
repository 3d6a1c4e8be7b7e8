"""The doctor's round: all that has to be right, looked at once."""

from __future__ import annotations

from koken.config import Config
from koken.store import migrate
from koken.store.database import Database
from koken.views import findings, floor, health
from koken.views.findings import FAR_BACK, LONG_OPEN, Finding
from koken.views.lateness import LATE
from koken.views.words import address


async def examine(db: Database, config: Config) -> list[Finding]:
    """All findings of a database that answers."""
    facts = await health.server(db)
    found = findings.of_server(facts, config, address(config.database_url))
    around = findings.of_holders(await health.holders(db, seconds=LONG_OPEN, transactions=FAR_BACK))
    async with db.transaction() as tx:
        schema = findings.of_schema(await migrate.standing(tx.connection, config.schema))
    if not schema.good:
        return [*found, schema, *around]
    return [
        *found,
        schema,
        *findings.of_workers(await floor.workers(db), await health.unserved(db)),
        *findings.of_queues(await floor.queues(db)),
        *findings.of_schedules(await health.problems(db), await health.late(db, seconds=LATE)),
        *around,
        *findings.of_log(await health.log(db)),
        *findings.of_runs(await health.runs(db), autovacuum=facts.autovacuum),
    ]
