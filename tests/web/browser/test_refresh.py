"""What a refresh leaves alone, what holds it back, and where it comes from after a refusal."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

import koken
from koken import Context
from tests.web.browser.conftest import Site, served

Visitor = Callable[..., Page]


class World:
    """What the jobs meet outside, which the tests change."""

    def __init__(self) -> None:
        self.broken = True
        self.go = threading.Event()


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def mill(database_url: str, monkeypatch: pytest.MonkeyPatch, world: World) -> Iterator[Site]:
    """A console and a worker, with jobs that fail while the world is broken."""
    monkeypatch.setenv("KOKEN_DATABASE_URL", database_url)
    app = koken.App("mill")

    def grind(ctx: Context) -> None:
        if world.broken:
            raise OSError("no grain")
        while not world.go.wait(0.02):
            ctx.heartbeat()

    for name in ("oats", "rye", "wheat"):
        app.job(name=name)(grind)

    @app.job(max_attempts=2, backoff="10ms")
    def sift(ctx: Context) -> None:
        ctx.log.info("begun")
        if ctx.attempt == 1:
            raise OSError("clogged")
        while not world.go.wait(0.02):
            ctx.heartbeat()
        ctx.log.info("and done")

    with served(app) as site:
        yield site
        world.go.set()


def start(site: Site, job: str) -> int:
    run = site.call(site.client.start_bound(site.house.registry.get(job), {}))
    return int(run.id)


def failed(site: Site, job: str) -> int:
    """A run that has failed."""
    run = start(site, job)
    site.call(site.client.wait(run, 20))
    return run


def test_who_searched_sees_the_page_go_on(mill: Site, visitor: Visitor, world: World) -> None:
    world.broken = False
    run = start(mill, "oats")
    page = visitor(mill)
    page.goto(f"/runs/{run}")
    expect(page.locator("h1")).to_contain_text("is running")
    box = page.get_by_label("Search this log")
    box.fill("grain")
    box.fill("")
    world.go.set()
    expect(page.locator("h1")).to_contain_text("succeeded")
    expect(page.locator("#live-news")).to_be_hidden()


def test_what_is_begun_holds_news_back_and_shows_them_when_asked(
    mill: Site, visitor: Visitor, world: World
) -> None:
    """Also where nothing follows any more, and with what was typed left as it is."""
    world.broken = False
    run = start(mill, "oats")
    page = visitor(mill)
    page.goto(f"/runs/{run}")
    expect(page.locator("h1")).to_contain_text("is running")
    page.get_by_text("Cancel oats…").click()
    page.locator(".plan").get_by_label("Reason").fill("wrong grain")
    world.go.set()
    expect(page.locator("#live-news")).to_have_text("There is something new: show")
    expect(page.locator("h1")).to_contain_text("is running")
    expect(page.locator(".plan").get_by_label("Reason")).to_have_value("wrong grain")
    page.locator("#live-news").click()
    expect(page.locator("h1")).to_contain_text("succeeded")
    expect(page.locator("#live-news")).to_be_hidden()


def test_after_a_refusal_the_page_is_live_and_its_links_lead_on(
    mill: Site, visitor: Visitor, world: World
) -> None:
    run = failed(mill, "rye")
    page = visitor(mill)
    page.goto(f"/runs/{run}")
    expect(page.locator("#live-mark")).to_have_text("live")
    page.goto(f"/runs/{run}/plan/retry")
    world.broken = False
    mill.call(mill.client.retry(run))
    page.get_by_role("button", name="Run").last.click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was done.")
    expect(page.locator("#live-mark")).to_have_text("live")
    world.go.set()
    expect(page.locator("h1")).to_contain_text("succeeded")
    expect(page.get_by_role("alert")).to_contain_text("Nothing was done.")
    page.get_by_role("link", name="Attempts").click()
    expect(page).to_have_url(f"{mill.address}/runs/{run}?tab=attempts#more")
    expect(page.get_by_role("link", name="Attempts")).to_have_attribute("aria-current", "page")


def test_focus_stays_with_its_row_where_the_order_changes(mill: Site, visitor: Visitor) -> None:
    failed(mill, "oats")
    run = failed(mill, "rye")
    page = visitor(mill)
    page.goto("/")
    hands = page.locator(".hands tbody tr")
    expect(hands).to_have_count(2)
    expect(page.locator("#live-mark")).to_have_text("live")
    page.get_by_text("As numbers").click()
    hands.filter(has_text="rye").get_by_role("link", name="Plan").focus()
    failed(mill, "wheat")
    expect(hands.first).to_contain_text("wheat")
    expect(page.locator("details.numbers")).to_have_attribute("open", "")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{run}/plan/retry")


def test_a_line_that_comes_tells_no_attempt_again_and_leads_to_where_it_stands(
    mill: Site, visitor: Visitor, world: World
) -> None:
    run = start(mill, "sift")
    whole, searched = visitor(mill), visitor(mill)
    whole.goto(f"/runs/{run}")
    parts = whole.locator(".log-part")
    expect(parts).to_have_text(["attempt 1", "attempt 2"])
    searched.goto(f"/runs/{run}?tab=log&log_q=done")
    expect(searched.locator("#live-mark")).to_have_text("live")
    world.go.set()
    expect(whole.locator(".line", has_text="and done")).to_be_visible()
    expect(parts).to_have_text(["attempt 1", "attempt 2"])
    link = searched.locator(".line", has_text="and done").locator(".at")
    expect(link).to_have_attribute("href", re.compile(rf"^/runs/{run}\?tab=log&at=\d+#L\d+$"))


def test_a_page_that_does_not_come_is_not_called_live(
    mill: Site, visitor: Visitor, world: World
) -> None:
    world.broken = False
    run = start(mill, "oats")
    page = visitor(mill)
    page.goto(f"/runs/{run}")
    expect(page.locator("h1")).to_contain_text("is running")
    expect(page.locator("#live-mark")).to_have_text("live")
    page.route(f"**/runs/{run}", lambda route: route.fulfill(status=404, body="gone"))
    mill.call(mill.client.cancel(run, reason="enough"))
    expect(page.locator("#live-mark")).to_have_text("reconnecting")


def test_keys_of_one_letter_can_be_turned_off(mill: Site, visitor: Visitor) -> None:
    run = failed(mill, "oats")
    mill.call(mill.client.acknowledge(run, reason="known"))
    page = visitor(mill)
    page.goto("/events")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/oats")
    page.get_by_role("button", name="Keys").click()
    page.get_by_label("Keys of one letter").uncheck()
    page.keyboard.press("Escape")
    page.goto("/events")
    page.keyboard.press("j")
    page.keyboard.press("?")
    expect(page.locator("tr[data-at-hand]")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_times_are_the_readers_from_the_first_page_on(mill: Site, visitor: Visitor) -> None:
    run = failed(mill, "oats")
    page = visitor(mill, timezone_id="Asia/Tokyo")
    page.goto(f"/runs/{run}")
    expect(page.locator("#zone")).to_have_text("Asia/Tokyo")
    expect(page.locator(".facts")).to_contain_text("JST")


def test_a_chart_tells_times_in_the_zone_of_the_page(
    mill: Site, visitor: Visitor, world: World
) -> None:
    world.broken = False
    world.go.set()
    for _ in range(2):
        failed(mill, "oats")
    page = visitor(mill, timezone_id="America/New_York")
    page.context.add_cookies([{"name": "koken_zone", "value": "UTC", "url": mill.address}])
    page.goto("/jobs/oats")
    page.locator(".u-over").first.hover()
    ended = page.evaluate(
        """() => JSON.parse(document.getElementById("durations").textContent).runs.map((run) =>
          new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", hour: "2-digit", minute: "2-digit" })
            .format(new Date(run.at)))"""
    )
    told = page.locator(".u-legend .u-value").first.text_content() or ""
    assert told[-5:] in ended
