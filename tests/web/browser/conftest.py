"""A real browser on a real console with a worker beside it.

The browser is the system's Chromium; where there is none, these tests are skipped, unless
``KOKEN_TEST_BROWSER=required``. Whatever the browser complains of fails the test: an error of a
script, a violation of the content policy, a file that is not there.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from koken import AsyncClient
from koken.app import App
from koken.config import Config, load
from koken.model.timing import FAST
from koken.model.web import Web
from koken.runtime.worker import Worker
from koken.web.house import House
from koken.web.serve import address, bind, is_loopback, open_doors

T = TypeVar("T")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, without a window.

    Playwright keeps an event loop as long as it goes: it ends with the module, since other tests
    have loops of their own.
    """
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        if os.environ.get("KOKEN_TEST_BROWSER") == "required":
            pytest.fail("there is no Chromium here, and KOKEN_TEST_BROWSER wants one")
        pytest.skip("there is no Chromium here")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens pages: ``visitor(site, java_script_enabled=False)``; none of them may complain."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def opened(site: Site, **options: Any) -> Page:
        context = browser.new_context(base_url=site.address, **{"timezone_id": "UTC"} | options)
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(f"script: {error}"))
        page.on("console", lambda line: complain(complaints, line))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def complain(complaints: list[str], line: Any) -> None:
    """Note an error that the browser shows; a page that is refused is no fault of a script."""
    refused = ("the server responded with a status of 4", "the page did not come: 4")
    if line.type == "error" and not any(each in line.text for each in refused):
        complaints.append(f"{line.text} ({line.location.get('url')})")


@dataclass(slots=True)
class Site:
    """A console with a worker, on a loop of its own."""

    address: str
    url: str
    house: House
    worker: Worker
    loop: asyncio.AbstractEventLoop

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Carry something out on the site's loop."""
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self.loop)
        return future.result(60)

    @property
    def client(self) -> AsyncClient:
        """A client on the site's loop."""
        return self.house.client


@contextmanager
def served(program: App, *, web: Web | None = None, host: str = "127.0.0.1") -> Iterator[Site]:
    """A console and a worker for a program, until the end of the block."""
    config = replace(load(program.settings), web=web or Web(), timing=FAST)
    opened: Future[Site] = Future()
    over = threading.Event()
    thread = threading.Thread(
        target=lambda: asyncio.run(serving(program, config, host, opened, over))
    )
    thread.start()
    try:
        yield opened.result(60)
    finally:
        over.set()
        thread.join(60)


async def serving(
    program: App, config: Config, host: str, opened: Future[Site], over: threading.Event
) -> None:
    """Serve and work until it is over."""
    try:
        async with AsyncExitStack() as stack:
            queues = {job.spec.queue: 4 for job in program.registry}
            worker = Worker(program, replace(config, queues=queues))
            await worker.start()
            stack.push_async_callback(worker.stop, grace=1)
            listening = bind(host, 0)
            house = House(program, config, loopback=is_loopback(listening), local="mira")
            await stack.enter_async_context(open_doors(house, listening))
            loop = asyncio.get_running_loop()
            opened.set_result(Site(address(listening), config.database_url, house, worker, loop))
            await asyncio.to_thread(over.wait)
    except BaseException as error:
        if not opened.done():
            opened.set_exception(error)
        raise


@pytest.fixture
def site(shop: App) -> Iterator[Site]:
    """The shop's console, without credentials, with a worker."""
    with served(shop) as found:
        yield found
