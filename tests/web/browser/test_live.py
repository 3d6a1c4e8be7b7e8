"""A live page in a real browser: it changes in place, says how it stands, and lets go."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

import koken
from koken import Context
from tests.support.moments import until_sync
from tests.web.browser.conftest import Site, served

HIDE = """hidden => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


class Step:
    """A part of the job: it is recorded when it begins, and goes on when it is let."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()


@pytest.fixture
def steps() -> list[Step]:
    """What the job does one after the other."""
    return [Step() for _ in range(4)]


@pytest.fixture
def live_site(
    database_url: str, monkeypatch: pytest.MonkeyPatch, steps: list[Step]
) -> Iterator[Site]:
    """A console and a worker, with a job that goes on when it is let."""
    monkeypatch.setenv("KOKEN_DATABASE_URL", database_url)
    app = koken.App("live")

    @app.job
    def climb(ctx: Context) -> None:
        for number, step in enumerate(steps):
            ctx.save(f"step {number}", number)
            step.begun.set()
            while not step.go.wait(0.02):
                ctx.heartbeat()

    with served(app) as site:
        yield site
        for each in steps:
            each.go.set()


def test_a_page_changes_in_place_and_lets_go(
    live_site: Site, visitor: Callable[..., Page], steps: list[Step]
) -> None:
    hub = live_site.house.hub
    run = live_site.call(live_site.client.start(live_site.house.registry.get("climb")))
    page = visitor(live_site, viewport={"width": 900, "height": 300})
    page.goto(f"/runs/{run.id}?tab=checkpoints")
    expect(page.locator("#live-mark")).to_have_text("live")
    expect(page.locator("main")).to_contain_text("step 0")
    page.evaluate("window.scrollTo(0, 60)")
    link = page.locator("main nav a, main .tabs a").last
    link.focus()
    focused = "document.activeElement.textContent"
    before = (page.evaluate("scrollY"), page.evaluate(focused))

    steps[0].go.set()
    expect(page.locator("main")).to_contain_text("step 1")
    assert (page.evaluate("scrollY"), page.evaluate(focused)) == before

    page.keyboard.press("p")
    expect(page.locator("#live-mark")).to_have_text("paused")
    steps[1].go.set()
    assert steps[2].begun.wait(20)
    expect(page.locator("main")).to_contain_text("step 1")
    page.keyboard.press("p")
    expect(page.locator("main")).to_contain_text("step 2")

    page.evaluate(HIDE, True)
    until_sync(lambda: f"run:{run.id}" not in hub.watched)
    steps[2].go.set()
    assert steps[3].begun.wait(20)
    page.evaluate(HIDE, False)
    expect(page.locator("main")).to_contain_text("step 3")
    assert len(hub.followers) == 1

    for each in list(hub.followers):
        live_site.loop.call_soon_threadsafe(each.end)
    expect(page.locator("#live-mark")).to_have_text("reconnecting")
    expect(page.locator("#live-mark")).to_have_text("live")

    steps[3].go.set()
    expect(page.locator("#live-mark")).to_be_hidden()
    expect(page.locator("#aloud")).to_contain_text(f"climb {run.id} succeeded")
    page.goto("about:blank")
    until_sync(lambda: not hub.followers)


def test_how_long_a_run_goes_counts_on_while_nothing_else_changes(
    live_site: Site, visitor: Callable[..., Page], steps: list[Step]
) -> None:
    """A reader who has halted the page reads what was true then."""
    page = visitor(live_site)
    run = live_site.call(live_site.client.start(live_site.house.registry.get("climb")))
    assert steps[0].begun.wait(20)
    page.clock.install()
    page.goto(f"/runs/{run.id}")
    mark, lasting = page.locator("#live-mark"), page.locator("time[data-since]")
    expect(mark).to_have_text("live")
    page.clock.fast_forward("02:00:00")
    expect(page.locator("h1")).to_contain_text(f"climb {run.id} is running for 2 h 00 min on")
    assert set(lasting.all_text_contents()) == {"2 h 00 min"}
    assert lasting.count() == 2
    page.keyboard.press("p")
    expect(mark).to_have_text("paused")
    page.clock.fast_forward("01:00:00")
    assert set(lasting.all_text_contents()) == {"2 h 00 min"}


def test_a_row_that_says_something_else_glows(
    live_site: Site, visitor: Callable[..., Page], steps: list[Step]
) -> None:
    """Without motion the mark of it stays until the next refresh, and is not seen."""
    job = live_site.house.registry.get("climb")
    run = live_site.call(live_site.client.start(job))
    page = visitor(live_site, reduced_motion="reduce")
    page.goto("/runs")
    expect(page.locator("#live-mark")).to_have_text("live")
    expect(page.locator(f"#run-{run.id}")).to_contain_text("running")
    expect(page.locator(".changed")).to_have_count(0)
    for each in steps:
        each.go.set()
    expect(page.locator(f"#run-{run.id}.changed")).to_contain_text("succeeded")
