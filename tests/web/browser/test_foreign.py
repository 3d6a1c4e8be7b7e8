"""A page of another site, in a real browser, that sends a form here."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Browser

FORM = """<form method="post" action="{site}/queues/default/pause">
<input name="reason" value="x"><button>Go</button></form>"""


def test_a_form_of_another_site_does_nothing(browser: Browser, site: Any) -> None:
    page = browser.new_page()
    form = FORM.format(site=site.address)
    page.route(
        "http://evil.example/**", lambda route: route.fulfill(body=form, content_type="text/html")
    )
    page.goto("http://evil.example/")
    with page.expect_navigation() as moved:
        page.click("button")
    told = page.inner_text("body")
    page.close()
    assert moved.value is not None
    assert moved.value.status == 403
    assert "another site; nothing was done" in told
