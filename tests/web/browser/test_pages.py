"""Every page of the console, in a plausible world: accessible, in light and dark, wide and narrow.

What axe calls serious or critical fails, as does whatever the browser complains of. Nothing may be
wider than a phone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize

from tests.support.moments import until_sync
from tests.support.postgres import fresh_database
from tests.web.browser.conftest import complain
from tests.web.browser.gallery import PAGES, Exhibition, exhibited
from tests.web.halma import ALL_HOSTILE

SERIOUS = ("serious", "critical")
SCRIPTED = (
    "script:not([src]):not([type='application/json']), img[onerror], svg[onload],"
    " a[href^='javascript:' i]"
)
"""What a text of a job would be that is no text."""
HOSTILE_ON = ("runs", "run-failed", "run-values", "run-log", "events")
"""Pages that show them."""
WIDE: ViewportSize = {"width": 1280, "height": 720}
PHONE: ViewportSize = {"width": 390, "height": 800}
SCROLLS = "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
EDGE = "document.documentElement.clientWidth"
SCALE = "picture => picture.getScreenCTM().a"
STATUSES = {"not-found": 404, "query-unread": 422}
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
    assert got.status == STATUSES.get(name, 200), (name, got.status)
    page.locator("h1").first.wait_for()


@pytest.fixture(scope="module")
def complaints() -> list[str]:
    """What the browser complains of."""
    return []


@pytest.fixture(scope="module")
def page(browser: Browser, complaints: list[str]) -> Iterator[Page]:
    context = browser.new_context(timezone_id="UTC", reduced_motion="reduce")
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(f"script: {error}"))
    page.on("console", lambda line: complain(complaints, line))
    yield page
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_page(world: Exhibition, page: Page, complaints: list[str], name: str) -> None:
    """Axe finds nothing serious in light and dark, texts are no elements; a phone shows all."""
    complaints.clear()
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    visit(world, page, name)
    assert page.locator(SCRIPTED).count() == 0
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert serious(page, RULES[scheme]) == [], scheme
    page.set_viewport_size(PHONE)
    until_sync(lambda: page.evaluate(SCROLLS) <= 0)
    assert complaints == []


def serious(page: Page, rules: Mapping[str, object]) -> list[str]:
    """What axe calls serious or critical."""
    return [
        f"{each['id']} {[node['target'] for node in each['nodes'][:3]]}"
        for each in Axe().run(page, options=dict(rules)).response["violations"]
        if each["impact"] in SERIOUS
    ]


def test_hostile_texts_are_shown(world: Exhibition, page: Page) -> None:
    """The world is full of them, and they are read as they are written."""
    told: set[str] = set()
    for name in HOSTILE_ON:
        visit(world, page, name)
        words = page.locator("main").inner_text()
        told.update(text for text in ALL_HOSTILE if text in words)
    assert told == set(ALL_HOSTILE)


def test_the_docs_show_every_page() -> None:
    text = (Path(__file__).parents[3] / "docs/reference/pages.md").read_text(encoding="utf-8")
    shown = re.findall(r"images/console/([a-z-]+)\.png", text)
    assert [name for name in shown if name in PAGES] == list(PAGES)


def test_pictures_and_the_log_take_a_wide_window(world: Exhibition, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1900, "height": 900})
    visit(world, page, "run-failed")
    found = {
        name: (page.locator(name).first.bounding_box() or {})["width"]
        for name in (".graph-frame", ".times", ".log", ".run-head")
    }
    page.close()
    assert found[".graph-frame"] > 1600
    assert found[".times"] > 1600
    assert found[".log"] > 1300
    assert found[".run-head"] <= 1280


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


def test_a_wheel_over_a_graph_scrolls_the_page_once_it_was_let_go(
    world: Exhibition, browser: Browser
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 500})
    visit(world, page, "run-failed")
    page.locator("[data-zoom=in]").click()
    page.locator("[data-zoom=all]").click()
    page.locator(".graph-frame").hover()
    page.mouse.wheel(0, 200)
    page.wait_for_function("scrollY > 0")
    page.close()


def test_names_do_not_break_and_targets_can_be_hit(world: Exhibition, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    visit(world, page, "run-steps")
    for cell in page.locator("#more td.main, #more td[data-th=run]").all():
        box = cell.bounding_box()
        assert box is not None
        line = "node => { const r = document.createRange(); r.selectNodeContents(node);"
        assert cell.evaluate(f"{line} return r.getBoundingClientRect().height; }}") < 30
    for name in ("jobs", "runs", "overview"):
        visit(world, page, name)
        small = page.evaluate(
            """() => [...document.querySelectorAll("button, .button, a.tag, .facet, .top a")]
              .filter((each) => each.checkVisibility())
              .map((each) => [each.textContent, each.getBoundingClientRect()])
              .filter(([, box]) => Math.min(box.width, box.height) < 24).map(([text]) => text)"""
        )
        assert small == [], name
    page.close()


def test_a_phone_reads_a_line_beside_its_time_and_numbers_with_their_names(
    world: Exhibition, browser: Browser
) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800})
    visit(world, page, "run-failed")
    line = page.locator(".line").first
    at, text = (line.locator(name).bounding_box() or {} for name in (".at", ".text"))
    assert abs(at["y"] - text["y"]) < 6
    visit(world, page, "run-attempts")
    label = "cell => getComputedStyle(cell, '::before').content"
    assert page.locator("td[data-th=took]").first.evaluate(label) == '"took "'
    page.close()
