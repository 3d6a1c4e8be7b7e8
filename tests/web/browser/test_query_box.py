"""The query box suggests what there is, by the keyboard alone."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.web.browser.conftest import Site


def test_a_query_is_completed_and_asked_by_the_keyboard(
    site: Site, visitor: Callable[..., Page]
) -> None:
    page = visitor(site)
    page.goto("/")
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search runs")
    expect(box).to_be_focused()
    page.keyboard.type("sta")
    expect(page.get_by_role("option").first).to_have_text("state:how it stands")
    expect(box).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Tab")
    expect(page.get_by_role("option").first).to_have_text("state:blocked◌")
    page.keyboard.type("fa")
    expect(page.get_by_role("option")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    expect(box).to_have_attribute("aria-activedescendant", "search-list-0")
    page.keyboard.press("Enter")
    expect(box).to_have_value("state:failed ")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site.address}/runs?q=state%3Afailed+")
    expect(page.get_by_role("heading", level=1)).to_have_text("0 runs match state:failed.")
