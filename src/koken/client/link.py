"""What the clients of one program share: settings, connections, what is published."""

from __future__ import annotations

import asyncio
from typing import Any

from koken.config import Config, load
from koken.define.job import Job
from koken.define.registry import Program, Registry
from koken.engine.publish import publish
from koken.errors import DeclarationError
from koken.store.database import Database


class Link:
    """What the clients of one program share: settings, connections, what is published."""

    def __init__(self, program: Program | str) -> None:
        if isinstance(program, str):
            if not program.startswith(("postgresql://", "postgres://")):
                raise DeclarationError(
                    f"{program!r} is no address of a database; it begins with postgresql://"
                )
            self.registry = Registry()
            self.name = ""
            self.config: Config = load({"database_url": program})
        else:
            self.registry = program.registry
            self.name = program.name
            self.config = load(program.settings)
        if not self.config.database_url:
            raise DeclarationError(
                "no database: set KOKEN_DATABASE_URL, or database_url in koken.toml. "
                "`koken dev` prints the address of its private one"
            )
        self.db = Database(
            self.config.database_url, schema=self.config.schema, size=8, pooled=self.config.pooled
        )
        self.views = Database(
            self.config.database_url,
            schema=self.config.schema,
            size=4,
            planner="default",
            pooled=self.config.pooled,
        )
        self.published: set[str] = set()
        self.publishing = asyncio.Lock()

    async def publish(self, job: Job[..., Any], by: str, registry: Registry | None = None) -> None:
        """Make sure that a job is known before it is started for the first time.

        ``registry`` knows what machines say of it, where it is not this program's.
        """
        if job.name in self.published or job.foreign:
            return
        async with self.publishing:
            if job.name not in self.published:
                await publish(
                    self.db,
                    self.name,
                    [(registry or self.registry).spec(job)],
                    by=by or "client",
                    whole=False,
                )
                self.published.add(job.name)

    def begin_anew(self) -> None:
        """Forget all connections, in a process that was forked: they are its parent's."""
        self.db.begin_anew()
        self.views.begin_anew()
        self.publishing = asyncio.Lock()

    async def close(self) -> None:
        """Let go of the connections."""
        await self.db.close()
        await self.views.close()
