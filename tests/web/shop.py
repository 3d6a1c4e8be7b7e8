"""A program for the doors' tests: a few jobs of each kind."""

from __future__ import annotations

from datetime import date
from enum import StrEnum

from pydantic import BaseModel

import koken
from koken import Context


class Size(StrEnum):
    """How much of it."""

    SMALL = "small"
    BIG = "big"


class Customer(BaseModel):
    """Whom it is for."""

    name: str
    number: int


def make() -> koken.App:
    """A fresh app; its settings come from the environment."""
    app = koken.App("shop")

    @app.job
    def greet(name: str = "world") -> str:
        """Say hello."""
        print(f"hello {name}")
        return f"hello {name}"

    @app.job(
        queue="reports",
        schedule="0 2 * * *",
        timezone="Europe/Berlin",
        owner="data",
        tags=["money"],
    )
    def report(
        ctx: Context,
        day: date = date(2026, 11, 30),
        customer: Customer | None = None,
        size: Size = Size.SMALL,
        password: str = "",
    ) -> int:
        """Sum up a day.

        Effects: books close late. Workaround: use yesterday's. Recovery: run it again.
        """
        ctx.progress(50, "half")
        return 7

    @app.job(max_attempts=2, backoff="10ms")
    def broken() -> None:
        """Fails always."""
        raise OSError("no space left")

    @app.workflow
    def nightly(day: str = "2026-11-30") -> None:
        """Load, then publish."""

    @nightly.step
    def load(day: str) -> list[str]:
        return [day]

    @nightly.step
    def publish(load: list[str]) -> None:
        if load == ["bad"]:
            raise ValueError("nothing to publish")

    return app
