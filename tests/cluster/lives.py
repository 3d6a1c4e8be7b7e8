"""A program with something of everything: what must work whatever stands before the database."""

from __future__ import annotations

import logging

import koken
from koken import AsyncContext, Context
from tests.cluster.app import lease, note, wait_for

app = koken.App("lives")


@app.job(effect="pure")
async def small(ctx: AsyncContext, n: int = 0) -> int:
    note("ended", ctx)
    return n


@app.job(max_attempts=2, backoff="50ms", effect="pure")
def talkative(ctx: Context) -> str:
    """Logs, prints, keeps, shows progress, and fails once."""
    logging.getLogger("somebody").warning("logged in attempt %s", ctx.attempt)
    print(f"printed in attempt {ctx.attempt}")
    number = ctx.step("once", note, "step", ctx)
    ctx.save("seen", [1, 2, 3])
    ctx.progress(50, "half way")
    if ctx.attempt == 1:
        raise RuntimeError("the first one fails")
    return f"{number} {ctx.saved['seen']} lease {lease(ctx)}"


@app.job(effect="pure", overlap="queue_all")
def in_turn(ctx: Context) -> None:
    note("began", ctx)
    note("ended", ctx)


@app.job(effect="pure", lock="shelf")
def locked(ctx: Context, gate: str = "go") -> str:
    return wait_for(ctx, gate)


@app.job(effect="pure", schedule="every second", overlap="allow")
async def ticking(ctx: AsyncContext) -> None:
    note("tick", ctx)


@app.job(effect="pure")
def hold(ctx: Context, gate: str = "never") -> str:
    return wait_for(ctx, gate)
