from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import httpx

import koken
from koken.engine import queues
from koken.views.flow import Flow, Quarter
from koken.views.overview import overview
from koken.web.console.overview import hours
from koken.web.house import House
from tests.web import company
from tests.web.console.reading import Page
from tests.web.console.sending import VIEWERS
from tests.web.filling import fill
from tests.web.shop import make


async def page(http: httpx.AsyncClient) -> Page:
    got = await http.get("/")
    assert got.status_code == 200, got.text
    return Page(got.text)


async def test_before_anything_ran_it_says_how_to_begin(http: httpx.AsyncClient) -> None:
    found = await page(http)
    assert found.sentence == "All quiet: 0 runs today, nothing needs a hand."
    assert "No job has run here yet." in found.text
    assert "koken dev --app myproject:app" in found.text


async def test_what_goes_well_is_quiet(
    house: House, http: httpx.AsyncClient, worker: object
) -> None:
    job = make().registry.get("greet")
    run = await house.client.start(job)
    await house.client.wait(run)
    found = await page(http)
    assert found.sentence == "All quiet: 1 run today, nothing needs a hand."
    assert "1 run succeeded, 0 failed; at most 1 in a quarter of an hour." in found.text
    assert found.links["report"] == "/jobs/report"


async def test_a_failure_stands_until_somebody_acknowledges_it(
    house: House, http: httpx.AsyncClient, worker: object
) -> None:
    job = make().registry.get("broken")
    for _ in range(2):
        run = await house.client.start(job)
        await house.client.wait(run)
    found = await page(http)
    assert found.sentence == "1 thing needs a hand; 2 runs today, 100% of the last 24 h failed."
    assert "✗ failed broken OSError: no space left · 2 tries just now Plan Why All 2" in said(found)
    assert found.links["broken"] == f"/runs/{run.id}"
    assert found.links["All 2"] == "/runs?q=job%3Abroken+state%3Aopen"
    await house.client.acknowledge(run, reason="seen")
    await house.client.acknowledge(run.id - 1, reason="seen")
    assert (await page(http)).sentence.startswith("All quiet: 2 runs today")


def said(found: Page) -> str:
    """The lines that need a hand, whatever second it is."""
    return " | ".join(found.rows).replace("1 s ago", "just now").replace("2 s ago", "just now")


async def test_runs_that_nobody_takes_are_told_by_queue(
    house: House, http: httpx.AsyncClient
) -> None:
    app = make()
    await house.client.start(app.registry.get("report"))
    await house.client.start(app.registry.get("greet"))
    await queues.pause(house.db, "reports", paused=True, by="mira", reason="the press is broken")
    found = await page(http)
    assert found.sentence == "2 things need a hand; 2 runs today."
    assert "1 run waits; paused by mira (the press is broken)" in found.text
    assert "1 run waits, and no worker serves it: koken worker --queue default" in found.text


async def test_another_workspace_has_an_overview_of_its_own(
    house: House, http: httpx.AsyncClient, worker: object
) -> None:
    there = house.client.using(workspace="acme")
    await there.wait(await there.start(make().registry.get("broken")))
    assert (await page(http)).sentence == "All quiet: 0 runs today, nothing needs a hand."
    got = await http.get("/?workspace=acme")
    assert Page(got.text).sentence.startswith("1 thing needs a hand; 1 run today")


async def test_a_world_with_everything_that_goes_wrong(
    open_house: Callable[..., Any], database_url: str
) -> None:
    world = await fill(database_url)
    _, http = await open_house(program=company.app)
    found = await page(http)
    lines = "\n".join(found.rows)
    runs = world.runs
    for line in (
        "✗ failed daily-report ConnectionError: connection refused: warehouse.halma.example:5432",
        "⟲ not undone nightly step tell RuntimeError: the mail server of the shops answers 421",
        "⟲ not undone charge-card undo charge ConnectionError: bank.example refuses to give",
        "✗ failed resize-picture ValueError: picture 136 is no picture: <script>alert(1)</script>",
        "◔ asks approve-budget May we spend 12,000 € in 2026-12? (lea)",
        "! stuck rebuild-index its worker wien-1 is silent",
        "! stuck edge queue 1 run waits, and no worker serves it: koken worker --queue edge",
        "‖ paused reports queue 12 runs wait; paused by mira (warehouse is moving)",
        "◷ late import-orders schedule every 5 minutes: its time has passed",
        "◷ late sync-ads its runs take up to",
        f"▣ held long search-index lock run {runs['lost']} (rebuild-index) has it; 2 wait for it",
    ):
        assert line in lines
    assert found.sentence.startswith("14 things need a hand; ")
    assert "<script>alert" not in found.source
    got = Page((await http.get(f"/runs/{runs['uncompensated']}")).text)
    assert got.sentence.endswith("; undo charge has failed after 1 try and is tried again.")
    assert "ConnectionError: bank.example refuses to give charge-4711 back; retrying" in got.text
    got = Page((await http.get(f"/runs/{runs['elsewhere']}")).text)
    assert "operations publish[0], publish[1] and publish[2] go on elsewhere" in got.text


async def test_whoever_may_only_look_is_offered_nothing_else(
    open_house: Callable[..., Any], worker: object
) -> None:
    house, http = await open_house(web=VIEWERS)
    run = await house.client.start(make().registry.get("broken"))
    await house.client.wait(run)
    for name, words in (("vera", "Why"), ("otto", "Plan Why")):
        found = Page((await http.get("/", headers={"X-User": name})).text)
        assert found.rows[1].endswith(f" {words}")


async def test_what_comes_next_is_to_come(open_house: Callable[..., Any]) -> None:
    """Also where a schedule's time has passed and no worker has seen to it yet."""
    app = koken.App("often")

    @app.job(schedule=["every 5 seconds", "0 2 * * *"])
    def poll() -> None: ...

    house, _ = await open_house(program=app)
    await house.client.link.publish(app.registry.get("poll"), "mira")
    for passed in ("3 s", "50 s"):
        async with house.db.transaction() as tx:
            await tx.execute(
                f"update koken.schedule set next_at = koken.now() - interval '{passed}'"
                " where expression = 'every 5 seconds'"
            )
        before = datetime.now(UTC)
        found = await overview(house.views, workspace="default", midnight=before)
        assert [(each.jobs, each.count) for each in found.next] == [(["poll"], 1), (["poll"], 1)]
        first, night = (each.at for each in found.next)
        assert before < first < before + timedelta(seconds=30)
        assert night > first


def test_hours_are_those_of_the_readers_clock_and_none_is_taken_for_another() -> None:
    """The clock in Berlin says 02:00 twice that day; that in Kolkata goes half an hour apart."""
    first = datetime(2026, 10, 24, 23, 45, tzinfo=UTC)
    quarters = [
        Quarter(at=first + timedelta(minutes=15 * number), succeeded=1, failed=0)
        for number in range(10)
    ]
    flow = Flow(quarters=quarters, today=0, sampled=False)
    told = hours(flow, ZoneInfo("Europe/Berlin"))
    assert [(f"{at:%H:%M}", good) for at, good, _ in told] == [
        ("02:00", 1), ("01:00", 4), ("00:00", 4), ("23:00", 1),
    ]  # fmt: skip
    told = hours(flow, ZoneInfo("Asia/Kolkata"))
    assert [(f"{at:%H:%M}", good) for at, good, _ in told] == [
        ("01:30", 3), ("00:30", 4), ("23:30", 3),
    ]  # fmt: skip
