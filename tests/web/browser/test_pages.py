"""Every page of the console, in a plausible world: accessible, in light and dark, wide and narrow.

What axe calls serious or critical fails, as does whatever the browser complains of. Nothing may be
wider than a phone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.support.postgres import fresh_database
from tests.web.browser.conftest import complain
from tests.web.browser.gallery import PAGES, Exhibition, exhibited

SERIOUS = ("serious", "critical")
SCROLLS = "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
EDGE = "document.documentElement.clientWidth"
SCALE = "picture => picture.getScreenCTM().a"
MISSING = ("not-found",)
RULES: dict[str, dict[str, object]] = {
    "light": {},
    "dark": {"runOnly": ["color-contrast", "link-in-text-block"]},
}
"""What axe looks for: what does not hang on colours is the same in both."""


@pytest.fixture(scope="module")
def world(postgres_url: str, template_database: str) -> Iterator[Exhibition]:
    with (
        fresh_database(postgres_url, "koken_world", template_database) as url,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("KOKEN_DATABASE_URL", url)
        with exhibited(url) as found:
            yield found


def visit(world: Exhibition, page: Page, name: str) -> None:
    got = page.goto(world.address + world.path(name))
    assert got is not None
    assert got.status == (404 if name in MISSING else 200), (name, got.status)
    page.locator("h1").first.wait_for()


def every(
    world: Exhibition, browser: Browser, look: Callable[[Page, str], None], **options: object
) -> None:
    """Look at every page."""
    complaints: list[str] = []
    context = browser.new_context(timezone_id="UTC", reduced_motion="reduce", **options)  # type: ignore[arg-type]
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(f"script: {error}"))
    page.on("console", lambda line: complain(complaints, line))
    for name in PAGES:
        visit(world, page, name)
        look(page, name)
    context.close()
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(world: Exhibition, browser: Browser, scheme: str) -> None:
    found: list[str] = []

    def look(page: Page, name: str) -> None:
        for each in Axe().run(page, options=RULES[scheme]).response["violations"]:
            if each["impact"] in SERIOUS:
                where = [node["target"] for node in each["nodes"][:3]]
                found.append(f"{name}: {each['id']} {where}")

    every(world, browser, look, color_scheme=scheme)
    assert found == []


def test_nothing_is_wider_than_a_phone(world: Exhibition, browser: Browser) -> None:
    wider: list[str] = []

    def look(page: Page, name: str) -> None:
        if page.evaluate(SCROLLS) > 0:
            wider.append(name)

    every(world, browser, look, viewport={"width": 390, "height": 800})
    assert wider == []


def test_hostile_texts_stay_texts(world: Exhibition, browser: Browser) -> None:
    """The world is full of them: none becomes an element of the page."""
    scripted: list[str] = []

    def look(page: Page, name: str) -> None:
        inline = "script:not([src]):not([type='application/json']), img[onerror], svg[onload]"
        if page.locator(inline).count():
            scripted.append(name)

    every(world, browser, look)
    assert scripted == []


def test_the_keys_can_all_be_read(world: Exhibition, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    visit(world, page, "overview")
    page.keyboard.press("?")
    dialog, title, last, close = (
        page.locator(name).bounding_box() or {}
        for name in ("#keys", "#keys-title", "#keys dd:last-of-type", "#keys button")
    )
    assert title["y"] - dialog["y"] <= 30
    assert close["y"] >= last["y"] + last["height"] + 8
    page.close()


def test_a_phone_shows_ways_and_words(world: Exhibition, browser: Browser) -> None:
    """The rail, the shortcuts, what runs are about, and charts in letters of full size."""
    context = browser.new_context(viewport={"width": 390, "height": 800}, java_script_enabled=False)
    page = context.new_page()
    visit(world, page, "runs")
    right = page.evaluate(EDGE)
    for link in page.locator(".rail nav a, .filters a").all():
        box = link.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= right, link.text_content()
    assert page.locator("td.about", has_text="month=2026-11").first.is_visible()
    visit(world, page, "job")
    assert page.locator("svg.chart").first.evaluate(SCALE) == 1
    context.close()
