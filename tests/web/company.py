"""The jobs of a believable company, for looking at pages: Halma sells boots by advertising."""

from __future__ import annotations

import logging
from datetime import date
from typing import Literal

from pydantic import BaseModel

import koken
from koken import Accept, AsyncContext, Context, Fail, Lock, Operation, Schedule, Snooze, Stall
from koken.executors import Command, Process
from tests.web.halma import DRAWING, HOSTILE, LINK, PICTURE, TROUBLE, app
from tests.web.halmanight import nightly

__all__ = ["DRAWING", "HOSTILE", "LINK", "PICTURE", "TROUBLE", "app", "nightly"]


class Customer(BaseModel):
    """Who buys."""

    name: str
    number: int


class Draft(BaseModel):
    """A draft of an advertisement, elsewhere."""

    resource: str


@app.job(
    name="daily-report",
    queue="reports",
    schedule="0 2 * * *",
    timezone="Europe/Berlin",
    owner="data team",
    tags=["money", "night"],
    max_attempts=3,
    backoff="10ms",
    overlap="skip_if_running_or_failed",
)
def daily_report(
    ctx: Context, day: date = date(2026, 11, 30), customer: Customer | None = None, token: str = ""
) -> dict[str, int]:
    """Sum up a day's sales and mail the table to the sales floor.

    Effects: one mail to sales@halma.example; the warehouse orders by these figures at 07:00.
    Workaround: the table of the day before is at /reports/latest; tell the warehouse to use it.
    Recovery: run it again from where it failed, it reads only; the mail goes out once per day.
    """
    ctx.log.info("reading the sales of %s", day)
    print(f"\x1b[32m1,204 orders\x1b[0m, \x1b[1m88,310.20 €\x1b[0m of {day}")
    ctx.progress(40, "orders read")
    ctx.log.warning("3 orders have no country, counted as \x1b[33mother\x1b[0m")
    if str(day) in TROUBLE:
        ctx.log.error("\x1b[31mwarehouse.halma.example:5432 refuses\x1b[0m")
        raise ConnectionError("connection refused: warehouse.halma.example:5432")
    return {"orders": 1204, "cents": 8831020}


@app.job(
    name="sync-ads",
    queue="ads",
    schedule="every 15 minutes",
    owner="mira",
    tags=["ads"],
    overlap="skip_if_running",
    lock="ads-account:{account}",
    run_timeout="1h",
)
def sync_ads(ctx: Context, account: str = "halma-de") -> int:
    """Fetch clicks and costs of the advertising accounts.

    Effects: figures of the last hours are missing in the dashboards. Recovery: the next run fetches
    what is missing.
    """
    logging.getLogger("ads").info("account %s: 412 campaigns", account)
    if account in TROUBLE:
        raise TimeoutError(f"ads.example gave no answer for {account} within 30 s")
    return 412


@app.job(
    name="approve-budget", queue="default", owner="lea", tags=["money"], subject="budget:{month}"
)
async def approve_budget(ctx: AsyncContext, month: str, euros: int = 12_000) -> str:
    """Ask the head of marketing whether next month's budget may be spent.

    Effects: campaigns stop on the first of the month. Recovery: answer the question.
    """
    await ctx.step("reserve", reserve, euros)
    answer = await ctx.ask(
        f"May we spend {euros:,} € in {month}?", Literal["yes", "no"], to="lea", timeout="14d"
    )
    return f"{month}: {answer}"


def reserve(euros: int) -> str:
    """Put the money aside."""
    return f"reservation of {euros} €"


class Publish(Operation[Draft, str, Draft]):
    """Have a draft checked and published elsewhere, which takes hours."""

    every, within = "5m", "12h"
    stall = Stall(no_handle="30m", in_flight="6h", max_submits=3)

    async def find(self, item: Draft, key: str) -> str | None:
        """Whether it was submitted."""
        return None

    async def submit(self, item: Draft, key: str) -> str:
        """Submit it."""
        return f"operations/{item.resource}"

    async def poll(self, item: Draft, handle: str) -> Draft | Snooze | Fail:
        """How it goes."""
        return item if "done" in item.resource else Snooze(reason="in review")

    async def cancel(self, item: Draft, handle: str) -> None:
        """Take it back."""


async def make_draft(group: str) -> Draft:
    """A draft elsewhere."""
    return Draft(resource=f"draft-{group}")


async def drop_draft(draft: Draft) -> None:
    """Throw it away."""


@app.job(
    name="set-up-experiment",
    queue="google",
    subject="experiment:{experiment}",
    max_attempts=144,
    backoff="5m",
    owner="growth",
    tags=["ads", "experiments"],
    effect="idempotent",
)
async def set_up(ctx: AsyncContext, experiment: int, groups: int = 3) -> int:
    """Set an experiment up at the advertiser: drafts, arms, publication.

    Effects: the experiment starts a day late. Recovery: wait; it goes on by itself within 12 hours.
    """
    names = [f"{experiment}-{number}" for number in range(groups)]
    undo = ctx.using(compensate=drop_draft, effect="once")
    drafts = await undo.map("create", make_draft, names)
    await ctx.map("publish", Publish(), drafts, accept=Accept(0.9, of=20, at_least=1))
    return len(drafts)


app.job(
    Command("sh -c 'echo dump; echo 412 MB written >&2'"),
    name="backup",
    queue="default",
    schedule="45 23 * * *",
    timezone="America/New_York",
    timeout="20m",
    owner="ops",
    tags=["night"],
    description="Dump the database to the safe. Recovery: run it again.",
)


@app.job(
    name="train-forecast",
    queue="night",
    executor=Process(memory="2G"),
    timeout="1h",
    schedule="0 4 * * 1",
    owner="data team",
)
def train_forecast(ctx: Context, weeks: int = 52) -> float:
    """Fit next week's demand. Recovery: last week's forecast stays in use."""
    table = [[float(row * column) for column in range(200)] for row in range(weeks * 40)]
    ctx.progress(100, f"{len(table)} rows")
    return 0.83


@app.job(
    name="import-orders",
    queue="imports",
    schedule="every 5 minutes",
    max_attempts=8,
    backoff="20m",
    owner="mira",
    tags=["shop"],
    overlap="queue_one",
    overlap_key="{shop}",
)
def import_orders(ctx: Context, shop: str = "berlin", since: str = "") -> int:
    """Fetch new orders of a shop.

    Effects: parcels leave later. Workaround: the shop's own list. Recovery: comes by itself.
    """
    ctx.log.debug("cursor %s", since or "none")
    if shop in TROUBLE:
        print(f"\x1b[31;1m503\x1b[0m from {shop}: {HOSTILE}")
        raise ConnectionError(f"503 Service Unavailable: {shop}.halma.example")
    return 12


@app.job(
    name="send-invoices",
    queue="default",
    max_attempts=5,
    owner="lea",
    tags=["money"],
    effect="once",
)
def send_invoices(ctx: Context, month: str = "2026-11", count: int = 3) -> int:
    """Mail the invoices of a month. Each goes out once."""
    for number in range(count):
        ctx.log.info("invoice %s-%04d", month, number)
    if month == "2026-02":
        raise koken.Skip("there were none in February")
    return count


@app.job(
    name="clean-up-images",
    queue="default",
    schedule=Schedule("15 3 * * 0", timezone="Asia/Tokyo", catchup="latest"),
    owner="ops",
)
def clean_up_images(days: int = 90) -> int:
    """Throw out pictures that nobody has asked for."""
    if days == 0:
        raise OSError(28, "No space left on device", "/srv/images")
    return days * 3


@app.job(
    name="rebuild-index", queue="default", lock=Lock("search-index"), owner="shop", tags=["shop"]
)
def rebuild_index(shop: str = "berlin") -> int:
    """Rebuild the search of a shop; one at a time."""
    return 9


@app.job(
    name="price-check",
    queue="ads",
    schedule="0 9-17 * * 1-5",
    timezone="Europe/Berlin",
    owner="growth",
)
def price_check(market: str = "DE") -> str:
    """Compare our prices to those of others."""
    return f"{market}: 3 dearer"


@app.job(name="resize-picture", queue="default", tags=["shop"])
def resize_picture(picture: int, size: str = "small") -> str:
    """One picture of the shop."""
    print(f"picture {picture} → {size}")
    if picture % 17 == 0:
        raise ValueError(f"picture {picture} is no picture: {HOSTILE}")
    return f"{picture}-{size}.webp"


@app.job(
    name="charge-card",
    queue="default",
    owner="lea",
    tags=["money"],
    effect="unsafe",
    max_attempts=1,
)
async def charge_card(
    ctx: AsyncContext, order: int, cents: int = 4990, card_number: str = ""
) -> str:
    """Charge a card; may not happen twice.

    Effects: the customer's parcel waits. Recovery: look into the bank's list first.
    """
    careful = ctx.using(compensate=refund, effect="once", max_attempts=1, backoff="10ms")
    await careful.step("charge", charge, order)
    raise Fail(f"the bank has taken {cents} cents of order {order}, but the shop says {HOSTILE}")


async def charge(order: int) -> str:
    """At the bank."""
    return f"charge-{order}"


async def refund(receipt: str) -> None:
    """Give it back."""
    raise ConnectionError(f"bank.example refuses to give {receipt} back")


@app.job(name="refresh-cache", queue="edge", schedule="every 2 hours", owner="ops")
def refresh_cache(region: str = "eu") -> None:
    """Fill the caches at the edge."""
