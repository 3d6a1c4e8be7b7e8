"""The jobs that somebody wants to see first."""

from __future__ import annotations

from koken.store.database import Database
from koken.store.statements import Statement

STAR = Statement("star")
UNSTAR = Statement("unstar")


async def star(db: Database, job: str, *, workspace: str, owner: str, starred: bool) -> None:
    """Give a job a star, or take it away, in a workspace and for one person."""
    await db.fetch(STAR if starred else UNSTAR, owner, workspace, job)
