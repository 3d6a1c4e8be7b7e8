"""Take the pictures of the console that the docs show: ``make pictures``.

They are of a plausible world on a private PostgreSQL, each page as a whole, in light; the overview
and the page of a run also in dark and on a phone.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from koken.embedded.server import Server
from koken.store.migrate import migrate
from tests.support.postgres import scratch_directory
from tests.web.browser.conftest import FLAGS
from tests.web.browser.gallery import PAGES, Exhibition, exhibited

PLACE = Path(__file__).parents[2] / "docs" / "images" / "console"
WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 800}
ALSO = ("overview", "run-failed")
"""Pages that are shown in dark, and on a phone, as well."""


def views() -> Iterator[tuple[str, str, str, dict[str, int]]]:
    """Each picture: its name, its page, light or dark, and its size."""
    for name in PAGES:
        yield name, name, "light", WIDE
    for name in ALSO:
        yield f"{name}-dark", name, "dark", WIDE
        yield f"{name}-phone", name, "light", PHONE


def take(world: Exhibition, browser: Browser) -> None:
    """All of them."""
    for name, page_name, scheme, size in views():
        context = browser.new_context(
            viewport=size,  # type: ignore[arg-type]
            color_scheme=scheme,  # type: ignore[arg-type]
            timezone_id="Europe/Berlin",
            reduced_motion="reduce",
        )
        page = context.new_page()
        page.goto(world.address + world.path(page_name))
        page.locator("h1").first.wait_for()
        if page_name == "run-failed":
            page.locator("details.action").first.click()
            page.locator(".plan").wait_for()
        page.screenshot(path=PLACE / f"{name}.png", full_page=size is WIDE)
        context.close()
        print(name)


def main() -> None:
    """Start what is needed, and take them."""
    path = shutil.which("chromium")
    if path is None:
        sys.exit("there is no Chromium here; on Debian: apt install chromium")
    PLACE.mkdir(parents=True, exist_ok=True)
    with scratch_directory() as folder, Server.start(folder) as server:
        os.environ["KOKEN_DATABASE_URL"] = server.url
        asyncio.run(migrate(server.url))
        with exhibited(server.url) as world, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
            take(world, browser)
            browser.close()


if __name__ == "__main__":
    main()
