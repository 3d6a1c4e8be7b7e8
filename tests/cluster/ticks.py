"""A program with schedules, in the cluster's way."""

from __future__ import annotations

import koken
from koken import AsyncContext
from tests.cluster.app import note

app = koken.App("ticks")


@app.job(effect="pure", schedule="every second", overlap="allow")
async def ticking(ctx: AsyncContext) -> None:
    note("ended", ctx)
