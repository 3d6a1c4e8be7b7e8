"""A program for the API's tests of the floor: locks, types, keys, questions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import httpx

import koken
from koken import AsyncContext, Lock
from koken.define.registry import Registry
from koken.engine import tokens
from koken.engine.publish import publish
from koken.web.house import House


def make() -> koken.App:
    """A fresh app; its settings come from the environment."""
    app = koken.App("yard")

    @app.job(lock=Lock("crane:{ship}"), owner="quay", tags=["heavy"])
    def lift(ship: str = "ada") -> None:
        """Lift what lies on the quay."""

    @app.job(type="REDUCE", overlap="skip_if_running")
    def reduce(workspace: str = "acme", approve: bool = False) -> None:
        """Reduce contexts."""

    @app.job(type="TWICE")
    def one(payload: dict[str, Any] | None = None) -> None:
        """One of two of a type."""

    @app.job(type="TWICE", name="two.b")
    def two() -> None:
        """The other of two of a type."""

    @app.job(schedule=["0 2 * * *", "every 6 hours"], timezone="Europe/Berlin")
    def tide(password: str = "ebb") -> None:
        """Read the tide."""

    @app.workflow
    def unload() -> None:
        """Lift, then count."""

    @unload.step
    def hoist() -> int:
        return 1

    @unload.step
    def count(hoist: int) -> None:
        """Count what was lifted."""

    @app.job
    async def ask(ctx: AsyncContext) -> str:
        """Ask the harbour master."""
        return (await ctx.ask("May it sail?", bool, to="master") and "sails") or "stays"

    @app.job
    async def listen(ctx: AsyncContext) -> None:
        """Wait for the horn."""
        await ctx.wait_signal("horn")

    return app


async def open_yard(
    open_house: Callable[..., Any], *, program: koken.App | None = None, **options: Any
) -> tuple[House, httpx.AsyncClient]:
    """The doors of this program, with all its jobs known."""
    house, http = await open_house(program=program or make(), **options)
    registry: Registry = house.registry
    specs = [registry.spec(job) for job in registry.jobs.values()]
    await publish(house.db, "yard", specs, by="anna", whole=True)
    return house, http


async def token(
    house: House, *rights: str, workspace: str = "*", name: str = "robot"
) -> dict[str, str]:
    """Headers with a token that may do so."""
    made = await tokens.make(house.db, name, rights, workspace=workspace, by="anna")
    house.credentials.forget()
    return {"Authorization": f"Bearer {made.token}"}


async def start(http: httpx.AsyncClient, job: str, *, headers: Any = None, **args: Any) -> str:
    """Start a run; its number."""
    got = await http.post("/api/v1/runs", json={"job": job, "args": args}, headers=headers)
    assert got.status_code == 201, got.text
    return str(got.json()["id"])


def problem(got: httpx.Response) -> tuple[int, str]:
    """The status and the code of a problem."""
    assert got.headers["content-type"] == "application/problem+json"
    return got.status_code, got.json()["code"]


def is_instant(text: str) -> bool:
    """Whether a text is an instant with an offset."""
    return datetime.fromisoformat(text).utcoffset() is not None


ODD = ("\x00", "\ud800", "9" * 400, "../../etc", "ä", "%00", "a\nb")
"""Texts that somebody may send."""
