from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import koken
from koken.app import App
from koken.model.run import Run
from koken.web.house import House
from tests.support.moments import until
from tests.web.console.mill import HOSTILE, make
from tests.web.console.reading import Page
from tests.web.console.sending import VIEWERS

Mill = tuple[House, httpx.AsyncClient]


async def begin(house: House, job: str, **args: Any) -> Run[Any]:
    return await house.client.start_bound(house.registry.get(job), args)


async def ended(house: House, job: str, **args: Any) -> Run[Any]:
    return await house.client.wait(await begin(house, job, **args))


async def page(http: httpx.AsyncClient, address: str, **options: Any) -> Page:
    got = await http.get(address, **options)
    assert got.status_code == 200, got.text
    return Page(got.text)


def told(found: Page) -> str:
    """The sentence, without what the clock says."""
    text = re.sub(r"\b(just now|\d+ s ago)\b", "AGO", found.sentence)
    return re.sub(r"\b[\d.]+ m?s\b", "TIME", text)


async def waits(house: House, run: Run[Any], cause: str) -> None:
    async def there() -> bool:
        found = await house.client.get(run.id)
        return found.wait is not None and found.wait.cause.value == cause

    await until(there)


async def test_a_failed_workflow_says_where_why_and_whether_it_is_safe(mill_house: Mill) -> None:
    house, http = mill_house
    run = await ended(house, "daily-report", password="s3cret")
    found = await page(http, f"/runs/{run.id}")
    assert told(found) == (
        f"daily-report {run.id} failed AGO in step load, after 3 tries; "
        "1 of 3 steps is done; running again from load is safe."
    )
    assert f"load ConnectionError: connection refused {HOSTILE}" in found.text
    assert "password=•••" in found.text
    assert "s3cret" not in found.source
    assert "Log of step load, from its error on" in found.text
    assert "script" not in found.tags


async def test_what_repeats_something_unsafe_says_so(mill_house: Mill, trouble: set[str]) -> None:
    house, http = mill_house
    trouble.symmetric_difference_update({"load", "mail"})
    run = await ended(house, "daily-report")
    found = await page(http, f"/runs/{run.id}")
    assert told(found) == (
        f"daily-report {run.id} failed AGO in step mail, after 1 try; "
        "2 of 3 steps are done; running again from mail repeats mail, which is unsafe."
    )


async def test_runs_that_have_no_steps(mill_house: Mill) -> None:
    house, http = mill_house
    run = await ended(house, "plain")
    found = await page(http, f"/runs/{run.id}")
    assert told(found) == f"plain {run.id} failed AGO, after 2 tries; running again is safe."
    assert "attempt 1 retry" not in found.text
    quiet = await ended(house, "quiet")
    found = await page(http, f"/runs/{quiet.id}")
    assert told(found) == f"quiet {quiet.id} succeeded AGO, in TIME."
    assert "This run has printed and logged nothing." in found.text


async def test_a_job_leads_to_its_last_run(mill_house: Mill) -> None:
    house, http = mill_house
    await ended(house, "quiet")
    run = await ended(house, "quiet")
    got = await http.get("/runs/quiet")
    assert (got.status_code, got.headers["location"]) == (303, f"/runs/{run.id}")
    assert (await http.get("/runs/999999")).status_code == 404
    assert (await http.get("/runs/nothing")).status_code == 404


async def test_why_a_run_does_not_go_stands_there(
    shop: App, open_house: Callable[..., Any]
) -> None:
    house, http = await open_house(program=make(set()))
    run = await begin(house, "quiet")
    found = await page(http, f"/runs/{run.id}")
    assert told(found) == f"quiet {run.id} is ready."
    assert (
        "no live worker serves queue default; start one: koken worker --queue default "
        "it is next in line in queue default"
    ) in found.text
    assert "live=" in found.source


async def test_a_question_is_asked_and_who_looks_cannot_answer(
    mill_app: App, open_house: Callable[..., Any]
) -> None:
    house, http = await open_house(program=mill_app, web=VIEWERS)
    run = await begin(house, "approve")
    await waits(house, run, "question")
    otto = await page(http, f"/runs/{run.id}", headers={"X-User": "otto"})
    assert told(otto) == f"approve {run.id} waits for lea to answer, asked AGO: “May it go?”."
    assert list(otto.forms) == [f"/runs/{run.id}/answer", f"/runs/{run.id}#more"]
    vera = await page(http, f"/runs/{run.id}", headers={"X-User": "vera"})
    assert told(vera) == told(otto)
    assert list(vera.forms) == [f"/runs/{run.id}#more"]
    assert "details" not in vera.tags


@pytest.mark.parametrize(
    ("tab", "text"),
    [
        ("steps", "load ✗ failed 3/3"),
        ("attempts", "3 failed"),
        ("values", '"password": "•••"'),
        ("checkpoints", "Nothing is kept."),
        ("operation", "No work elsewhere."),
        ("events", "Nobody has touched this run."),
    ],
)
async def test_tabs(mill_house: Mill, tab: str, text: str) -> None:
    house, http = mill_house
    run = await ended(house, "daily-report", password="s3cret")
    found = await page(http, f"/runs/{run.id}?tab={tab}")
    assert text in found.text
    assert "s3cret" not in found.source
    assert "script" not in found.tags


async def test_results_of_steps_are_masked_and_escaped(mill_house: Mill, trouble: set[str]) -> None:
    house, http = mill_house
    trouble.clear()
    run = await ended(house, "daily-report")
    found = await page(http, f"/runs/{run.id}?tab=steps")
    assert '{"text":"<script>alert(1)</script>","token":"•••"}' in found.text
    assert "s3cret" not in found.source
    assert "script" not in found.tags
    assert told(found) == f"daily-report {run.id} succeeded AGO, in TIME; all 3 steps are done."


async def test_another_is_started_like_one_that_has_ended(mill_house: Mill) -> None:
    house, http = mill_house
    run = await ended(house, "daily-report", day="2026-12-01")
    found = await page(http, f"/runs/{run.id}")
    form = await page(http, found.links["Start like this…"])
    assert f"Start daily-report again like run {run.id}." in form.text
    assert form.forms["/jobs/daily-report/start"].values["a.day"] == "2026-12-01"
    (load,) = [each for each in await house.client.steps(run.id) if each.name == "load"]
    assert "Start like this…" not in (await page(http, f"/runs/{load.run_id}")).links
    live = await begin(house, "approve")
    assert "Start like this…" not in (await page(http, f"/runs/{live.id}")).links
    await house.client.cancel(live.id, reason="over")


async def test_whoever_may_not_start_is_offered_no_start(
    mill_app: App, open_house: Callable[..., Any]
) -> None:
    house, http = await open_house(program=mill_app, web=VIEWERS)
    run = await ended(house, "quiet")
    vera, otto = ({"headers": {"X-User": name}} for name in ("vera", "otto"))
    assert "Start like this…" not in (await page(http, f"/runs/{run.id}", **vera)).links
    assert "Start like this…" in (await page(http, f"/runs/{run.id}", **otto)).links


async def test_what_a_run_keeps_for_itself_stands_among_its_facts(
    open_house: Callable[..., Any],
) -> None:
    app = koken.App("keys")

    @app.job(lock="account:{name}", overlap="queue_one", overlap_key="{name}")
    def sync(name: str) -> None: ...

    @app.job(lock="account:{name}")
    def check(name: str) -> None: ...

    @app.workflow
    def flow() -> None: ...

    @flow.step(lock="cluster")
    def crunch() -> int:
        return 1

    @flow.step
    def tell(crunch: int) -> None: ...

    house, http = await open_house(program=app)
    first = await begin(house, "sync", name="de")
    second = await begin(house, "check", name="de")
    found = await page(http, f"/runs/{first.id}")
    assert "Overlap queue_one, sync:de Locks account:de" in found.text
    assert found.links["account:de"] == "/locks?key=account%3Ade"
    assert "Locks account:de (waits for it)" in (await page(http, f"/runs/{second.id}")).text
    run = await begin(house, "flow")
    drawn = await page(http, f"/runs/{run.id}")
    assert "· lock cluster</text>" in drawn.source
