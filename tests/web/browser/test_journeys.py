"""What people come to the console for, from end to end, in a real browser with a real worker."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

import koken
from koken import Context
from koken.engine import access
from koken.web.access.passwords import hashed
from tests.web.browser.conftest import Site, served

Visitor = Callable[..., Page]
PATIENCE = 15_000
"""Milliseconds until what is live has come."""


class World:
    """What the jobs meet outside, which the tests change."""

    def __init__(self) -> None:
        self.disk_is_full = True
        self.go = threading.Event()


def program(world: World) -> koken.App:
    app = koken.App("night")

    @app.job
    def greet(name: str = "world", times: int = 1) -> str:
        """Say hello."""
        return f"hello {name}" * times

    @app.job
    def slow(ctx: Context) -> str:
        """Goes on until it is let go."""
        ctx.log.info("begun")
        ctx.progress(40, "half way")
        while not world.go.wait(0.02):
            ctx.heartbeat()
        ctx.log.info("and done")
        return "done"

    @app.workflow
    def nightly() -> None:
        """Fetch, crunch, publish."""

    @nightly.step
    def fetch() -> list[int]:
        return [1, 2, 3]

    @nightly.step(effect="idempotent")
    def crunch(ctx: Context, fetch: list[int]) -> int:
        if world.disk_is_full:
            ctx.log.error("writing to <b>/scratch</b>")
            raise OSError("No space left on device")
        return sum(fetch)

    @nightly.step
    def publish(crunch: int) -> None:
        assert crunch == 6

    return app


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def night(database_url: str, monkeypatch: pytest.MonkeyPatch, world: World) -> Iterator[Site]:
    monkeypatch.setenv("KOKEN_DATABASE_URL", database_url)
    with served(program(world)) as site:
        yield site
        world.go.set()


def sentence(page: Page, text: str) -> None:
    """Wait until the page's first line says so."""
    expect(page.locator("h1")).to_contain_text(text, timeout=PATIENCE)


def start(site: Site, job: str) -> int:
    run = site.call(site.client.start_bound(site.house.registry.get(job), {}))
    return int(run.id)


def test_start_from_the_form_and_watch_it_end(night: Site, visitor: Visitor) -> None:
    page = visitor(night)
    page.goto("/jobs/greet")
    page.get_by_role("link", name="Start…").click()
    page.get_by_role("textbox", name=re.compile("^name ")).fill("Ada")
    page.get_by_role("textbox", name="times").fill("many")
    page.get_by_role("button", name="Start greet").click()
    expect(page.get_by_text("'many' is not a whole number")).to_be_visible()
    expect(page.get_by_role("textbox", name=re.compile("^name "))).to_have_value("Ada")
    page.get_by_role("textbox", name="times").fill("2")
    page.get_by_role("button", name="Start greet").click()
    sentence(page, "succeeded")
    assert re.search(r"/runs/\d+$", page.url)
    page.get_by_role("link", name="Input and result").click()
    expect(page.get_by_text("hello Adahello Ada").first).to_be_visible()
    page.get_by_role("link", name="Start like this…").click()
    expect(page.get_by_role("textbox", name=re.compile("^name "))).to_have_value("Ada")
    page.get_by_role("textbox", name="times").fill("3")
    page.get_by_role("button", name="Start greet").click()
    sentence(page, "succeeded")
    page.get_by_role("link", name="Input and result").click()
    expect(page.get_by_text("hello Adahello Adahello Ada").first).to_be_visible()


def test_on_a_first_visit_a_form_asks_for_times_in_the_readers_zone(
    night: Site, visitor: Visitor
) -> None:
    page = visitor(night, timezone_id="Europe/Berlin")
    page.goto("/jobs/greet/start")
    expect(page.locator("select[name=zone]")).to_have_value("Europe/Berlin")


def test_a_run_is_watched_while_it_goes(night: Site, visitor: Visitor, world: World) -> None:
    run = start(night, "slow")
    page = visitor(night)
    page.goto(f"/runs/{run}")
    sentence(page, "running")
    expect(page.get_by_role("log")).to_contain_text("begun", timeout=PATIENCE)
    expect(page.get_by_text("half way")).to_be_visible(timeout=PATIENCE)
    expect(page.locator("#live-mark")).to_have_text("live")
    page.evaluate("document.getElementById('main').dataset.stayed = 'yes'")
    world.go.set()
    expect(page.get_by_role("log")).to_contain_text("and done", timeout=PATIENCE)
    sentence(page, "succeeded")
    assert page.evaluate("performance.getEntriesByType('navigation').length") == 1


def test_a_failed_step_is_planned_retried_and_watched_to_its_end(
    night: Site, visitor: Visitor, world: World
) -> None:
    run = start(night, "nightly")
    page = visitor(night)
    page.goto("/")
    expect(page.get_by_role("table").first).to_contain_text("No space left", timeout=PATIENCE)
    page.get_by_role("link", name="nightly").first.click()
    sentence(page, f"nightly {run} failed")
    sentence(page, "in step crunch")
    sentence(page, "running again from crunch is safe")
    expect(page.get_by_role("log")).to_contain_text("No space left on device")
    expect(page.get_by_role("log")).to_contain_text("writing to <b>/scratch</b>")
    page.get_by_text("Run again from crunch…").click()
    plan = page.locator(".plan")
    expect(plan).to_contain_text("publish")
    world.disk_is_full = False
    plan.get_by_label("Reason").fill("scratch cleaned")
    plan.get_by_role("button", name="Run again from crunch").click()
    sentence(page, "succeeded")
    page.get_by_role("navigation", name="More of this run").get_by_role(
        "link", name="Events"
    ).click()
    expect(page.get_by_role("table").last).to_contain_text("scratch cleaned")
    page.goto("/")
    expect(page.get_by_text("No space left")).to_have_count(0)


def test_cancel(night: Site, visitor: Visitor) -> None:
    run = start(night, "slow")
    page = visitor(night)
    page.goto(f"/runs/{run}")
    page.get_by_text("Cancel slow…").click()
    page.locator(".plan").get_by_label("Reason").fill("wrong day")
    page.locator(".plan").get_by_role("button").last.click()
    sentence(page, "cancelled")


def test_keys_lead_everywhere(night: Site, visitor: Visitor) -> None:
    start(night, "greet")
    page = visitor(night)
    page.goto("/")
    for key, path in (("r", "/runs"), ("j", "/jobs"), ("s", "/schedules"), ("o", "/")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"**{path}")
    page.keyboard.press("/")
    page.keyboard.type("job:greet state:")
    expect(page.get_by_role("option", name=re.compile("succeeded"))).to_be_visible()
    page.keyboard.type("succeeded")
    page.keyboard.press("Escape")
    page.locator("#search").press("Enter")
    page.wait_for_url("**/runs?q=job*")
    page.locator("main h1").click()
    page.keyboard.press("j")
    expect(page.locator("tr[data-at-hand]")).to_have_count(1)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_all_of_it_without_javascript(night: Site, visitor: Visitor, world: World) -> None:
    run = start(night, "nightly")
    night.call(night.client.wait(run, 20))
    world.disk_is_full = False
    page = visitor(night, java_script_enabled=False)
    page.goto(f"/runs/{run}")
    sentence(page, "failed")
    page.get_by_text("Run again from crunch…").click()
    page.get_by_role("link", name="See what it will do").first.click()
    page.get_by_label("Reason").fill("cleaned")
    page.get_by_role("button", name="Run again from crunch").click()
    night.call(night.client.wait(run, 20))
    page.reload()
    sentence(page, "succeeded")
    page.goto("/jobs/greet/start")
    page.get_by_role("textbox", name=re.compile("^name ")).fill("Bob")
    page.get_by_role("button", name="Start greet").click()
    assert re.search(r"/runs/\d+$", page.url)


@pytest.fixture
def people(night: Site) -> None:
    """Mira administers, Vera looks on."""

    async def let_in() -> None:
        for name, role in (("mira", "admin"), ("vera", "viewer")):
            secret = hashed(f"{name} knows this", name)
            await access.add_user(night.house.db, name, secret, role=role, by="test")

    night.call(let_in())


def sign_in(page: Page, name: str, password: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


@pytest.mark.usefixtures("people")
def test_sign_in_and_roles(night: Site, visitor: Visitor) -> None:
    run = start(night, "nightly")
    night.call(night.client.wait(run, 20))
    page = visitor(night)
    page.goto(f"/runs/{run}")
    assert "/sign-in" in page.url
    sign_in(page, "vera", "a guess")
    expect(page.get_by_role("alert")).to_be_visible()
    sign_in(page, "vera", "vera knows this")
    sentence(page, f"nightly {run} failed")
    expect(page.get_by_text("Run again from crunch…")).to_have_count(0)
    expect(page.get_by_role("link", name="Access")).to_have_count(0)
    page.get_by_role("button", name="Sign out").click()
    assert "/sign-in" in page.url
    sign_in(page, "Mira", "mira knows this")
    page.goto(f"/runs/{run}")
    expect(page.get_by_text("Run again from crunch…")).to_be_visible()
