"""A program with a schedule, in the cluster's way."""

from __future__ import annotations

import koken
from koken import AsyncContext, Context
from tests.cluster.app import note, wait_for

app = koken.App("ticks")


@app.job(effect="pure", schedule="every second", overlap="allow")
async def ticking(ctx: AsyncContext) -> None:
    note("tick", ctx)


@app.job(effect="pure")
def hold(ctx: Context, gate: str = "go") -> str:
    return wait_for(ctx, gate)
