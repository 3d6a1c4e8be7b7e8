"""Attempts are numbered in one way; what people let go again, or keep, is told where it stands."""

from __future__ import annotations

import re

import httpx

from koken.engine.repair import Order, repair
from koken.model.run import Run
from koken.web.house import House
from tests.support.moments import until
from tests.web.console.test_run_page import ended, page
from tests.web.console.test_runlog import texts

Mill = tuple[House, httpx.AsyncClient]


async def retried(house: House, run: Run[object]) -> Run[object]:
    await repair(house.db, Order(verb="retry", run_id=run.id, by="mira", reason="fixed"))
    return await house.client.wait(run)


def parts(source: str) -> list[str]:
    return re.findall(r'class="log-part"[^>]*>([^<]*)<', source)


async def test_attempts_count_on_over_a_retry_that_is_told(mill_house: Mill) -> None:
    house, http = mill_house
    run = await retried(house, await ended(house, "plain", lines=2))

    async def printed() -> bool:
        found = await page(http, f"/runs/{run.id}?after=0")
        return texts(found.source).count("ValueError: no good") == 4

    await until(printed)
    whole = await page(http, f"/runs/{run.id}?after=0")
    assert parts(whole.source) == [
        "attempt 1", "attempt 2", "attempt 3, retried by mira", "attempt 4"
    ]  # fmt: skip
    assert "Older lines" not in whole.links
    failed = await page(http, f"/runs/{run.id}")
    assert parts(failed.source) == ["attempt 4"]
    assert texts(failed.source)[:2] == ["line 0", "line 1"]
    assert "after 2 tries since it was retried by mira" in failed.sentence
    tab = await page(http, f"/runs/{run.id}?tab=attempts")
    assert [each[:12].strip() for each in tab.rows if each[:1] in "1234r"] == [
        "1 ↻ failed 2", "2 ✗ failed 2", "retried by m", "3 ↻ failed 2", "4 ✗ failed 2"
    ]  # fmt: skip
    assert "Traceback of attempt 4" in tab.text
    assert "attempt 3 retried by mira" in tab.text


async def test_a_line_that_is_found_leads_to_those_around_it(mill_house: Mill) -> None:
    house, http = mill_house
    run = await ended(house, "plain", lines=3)

    async def printed() -> bool:
        return "line 1" in (await page(http, f"/runs/{run.id}?log_q=line 1")).text

    await until(printed)
    found = await page(http, f"/runs/{run.id}?log_q=line 1")
    (first, *_) = re.findall(r'class="at" href="([^"]*)"', found.source)
    around = await page(http, first.replace("&amp;", "&").partition("#")[0])
    assert texts(around.source)[:3] == ["line 0", "line 1", "line 2"]


async def test_a_fork_tells_what_it_keeps(mill_house: Mill, trouble: set[str]) -> None:
    house, http = mill_house
    run = await ended(house, "daily-report")
    trouble.clear()
    fork = await house.client.wait(await house.client.fork(run, from_step="load"))
    found = await page(http, f"/runs/{fork.id}")
    assert f"all 3 steps are done, 1 of them kept from daily-report {run.id}." in found.sentence
    assert "extract kept from its origin" in found.text
    assert f"Without 1 step kept from daily-report {run.id}, which went there." in found.text
    assert "kept, not run again" in found.source
