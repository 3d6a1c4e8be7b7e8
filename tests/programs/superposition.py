"""Requests of two kinds, webhooks and reductions, of many tenants."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

import koken
from koken import Context, Lock, Run

app = koken.App("superposition")
workspace_lock = Lock("workspace:{workspace}")
sent: list[tuple[str, dict[str, Any], str]] = []
"""The webhooks that were sent: name, data, idempotency key."""
overrides: dict[str, list[str]] = {}
"""By workspace the overrides that stand there; those with a # are not needed."""
versions: dict[str, list[str]] = {}


class Webhook(BaseModel):
    type: Literal["WEBHOOK"] = "WEBHOOK"
    webhook_name: str
    data: dict[str, object]


class Reduce(BaseModel):
    type: Literal["REDUCE"] = "REDUCE"
    approve: bool = False


JobRequest = Annotated[Webhook | Reduce, Field(discriminator="type")]


class ReduceResult(BaseModel):
    dropped: int


def send(name: str, data: dict[str, Any], *, idempotency_key: str) -> int:
    sent.append((name, data, idempotency_key))
    return 200


@app.job(
    type="WEBHOOK",
    queue="webhooks",
    max_attempts=3,
    backoff=koken.Backoff(base="1s", cap="30s"),
)
def deliver(ctx: Context, request: Webhook) -> int:
    return send(request.webhook_name, request.data, idempotency_key=ctx.key())


@app.job(type="REDUCE", lock=workspace_lock)
def reduce(ctx: Context, request: Reduce) -> ReduceResult:
    """Drop overrides that resolution does not need. All or nothing."""
    todo = list(overrides.get(ctx.workspace, ()))
    kept: list[str] = []
    for n, key in enumerate(todo, 1):
        if not key.startswith("#"):
            kept.append(key)
        ctx.progress(100 * n / len(todo), key)
    overrides[ctx.workspace] = kept
    versions.setdefault(ctx.workspace, []).append(f"reduce, run {ctx.run_id}")
    return ReduceResult(dropped=len(todo) - len(kept))


def execute_job(client: koken.Client, request: JobRequest) -> Run[int] | Run[ReduceResult]:
    match request:
        case Webhook():
            return client.start(deliver, request)
        case Reduce():
            return client.start(reduce, request)
