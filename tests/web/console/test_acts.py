from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from koken.app import App
from koken.engine import tokens
from koken.model.states import State
from koken.web.console import acts
from koken.web.house import House
from tests.support.moments import until
from tests.web.console.mill import HOSTILE
from tests.web.console.reading import Page
from tests.web.console.sending import VIEWERS, sent
from tests.web.console.test_run_page import begin, ended, page, told, waits
from tests.web.forms import hidden

Mill = tuple[House, httpx.AsyncClient]


def plans(found: Page) -> list[str]:
    """The addresses of all plans that a page offers, in their order."""
    return re.findall(r'data-plan="([^"]*)"', found.source)


async def test_from_a_failed_step_over_its_plan_to_success(
    mill_house: Mill, trouble: set[str]
) -> None:
    house, http = mill_house
    run = await ended(house, "daily-report")
    at = f"/runs/{run.id}"
    assert plans(await page(http, at)) == [
        f"{at}/plan/retry?step=load",
        f"{at}/plan/skip?step=load",
        f"{at}/plan/resolve?step=load",
        f"{at}/plan/rerun",
        f"{at}/plan/fork",
        f"{at}/plan/acknowledge",
    ]
    plan = await page(http, f"{at}/plan/retry?step=load")
    assert plan.sentence == f"Run again from load: daily-report {run.id} failed."
    for line in (
        "runs again load: idempotent; inputs as recorded at",
        "then mail",
        "keeps extract",
        "may repeat outside nothing",
        "tries count from 1 of 3 again",
    ):
        assert line in plan.text
    trouble.clear()
    got = await sent(
        http, f"{at}/plan/retry?step=load", {"step": "load", "reason": HOSTILE}, to=f"{at}/retry"
    )
    assert (got.status_code, got.headers["location"]) == (303, f"{at}?did=retry")
    whole = await house.client.wait(run.id)
    assert whole.state == "succeeded"
    assert "It goes again." not in (await page(http, f"{at}?did=retry")).text
    assert acts.done(replace(whole, state=State.RUNNING), "retry") == "It goes again."
    assert acts.done(whole, "rerun") == "Started anew: this is the new run."
    events = await page(http, f"{at}?tab=events")
    assert f"mira retry {HOSTILE}" in events.rows[-1]
    assert "script" not in events.tags


async def test_unsafe_work_wants_a_reason_and_a_mark(mill_house: Mill, trouble: set[str]) -> None:
    house, http = mill_house
    trouble.symmetric_difference_update({"load", "mail"})
    run = await ended(house, "daily-report")
    at = f"/runs/{run.id}"
    plan = await page(http, f"{at}/plan/retry?step=mail")
    assert "may repeat outside mail: unsafe to repeat" in plan.text
    assert "I have looked: repeating it is safe this time" in plan.text
    got = await sent(http, f"{at}/plan/retry", {"step": "mail"}, to=f"{at}/retry")
    assert got.status_code == 409
    assert "Nothing was done." in Page(got.text).text
    assert "retry repeats mail, which is unsafe" in Page(got.text).text
    trouble.clear()
    forced = {"step": "mail", "force": "yes", "reason": "it was never sent"}
    assert (await sent(http, f"{at}/plan/retry", forced, to=f"{at}/retry")).status_code == 303
    assert (await house.client.wait(run.id)).state == "succeeded"


async def test_what_somebody_else_has_done_is_told_with_what_stands_now(
    mill_house: Mill, trouble: set[str]
) -> None:
    house, http = mill_house
    run = await ended(house, "daily-report")
    at = f"/runs/{run.id}"
    trouble.clear()
    await house.client.retry(run)
    await house.client.wait(run)
    got = await sent(http, f"{at}/plan/rerun", {"step": "load"}, to=f"{at}/skip")
    found = Page(got.text)
    assert got.status_code == 409
    assert told(found) == f"daily-report {run.id} succeeded AGO, in TIME; all 3 steps are done."
    assert "Nothing was done." in found.text
    plan = await page(http, f"{at}/plan/retry")
    assert "it has ended (succeeded)" in plan.text
    assert f"{at}/retry" not in plan.forms


async def test_a_step_is_resolved_with_a_result(mill_house: Mill) -> None:
    house, http = mill_house
    run = await ended(house, "daily-report")
    at = f"/runs/{run.id}"
    plan = await page(http, f"{at}/plan/resolve?step=load")
    assert "wants a result: step mail takes it as load, which has no default" in plan.text
    form = f"{at}/plan/resolve?step=load"
    wrong = await sent(http, form, {"step": "load", "result": "{"}, to=f"{at}/resolve")
    assert (wrong.status_code, "the result cannot be read as JSON" in wrong.text) == (422, True)
    good = {"step": "load", "result": '{"token": "t"}'}
    assert (await sent(http, form, good, to=f"{at}/resolve")).status_code == 303
    assert (await house.client.wait(run.id)).state == "succeeded"


async def test_what_has_ended_is_not_asked_to_stop(mill_house: Mill) -> None:
    house, http = mill_house
    run = await ended(house, "daily-report")
    form = {"csrf": hidden((await http.get(f"/runs/{run.id}/plan/retry")).text, "csrf")}
    got = await http.post(f"/runs/{run.id}/cancel", data=form)
    assert got.status_code == 409
    assert f"daily-report {run.id} has ended already (failed)" in got.text
    got = await http.post(f"/api/v1/runs/{run.id}/cancellations")
    assert (got.status_code, got.json()["detail"]) == (
        409,
        f"daily-report {run.id} has ended already (failed)",
    )


async def test_who_only_starts_repairs_nothing(
    mill_app: App, open_house: Callable[..., Any]
) -> None:
    house, http = await open_house(program=mill_app)
    run = await ended(house, "daily-report")
    made = await tokens.make(house.db, "ci", ["read", "start"], by="test")
    house.credentials.forget()
    starter = {"Authorization": f"Bearer {made.token}"}
    assert "details" not in (await page(http, f"/runs/{run.id}", headers=starter)).tags
    for path in (f"/runs/{run.id}/rerun", f"/api/v1/runs/{run.id}/reruns"):
        assert (await http.post(path, headers=starter)).status_code == 403, path


@pytest.mark.parametrize(
    ("verb", "values", "leads"),
    [
        ("rerun", {}, "/runs/5?did=rerun"),
        ("fork", {"step": "load"}, "/runs/5?did=fork"),
        ("retry", {"step": "load"}, "/runs/1?did=retry"),
    ],
)
async def test_a_form_that_is_pressed_twice_acts_once(
    mill_house: Mill, verb: str, values: dict[str, str], leads: str
) -> None:
    house, http = mill_house
    run = await ended(house, "daily-report")
    at = f"/runs/{run.id}"
    source = (await http.get(f"{at}/plan/{verb}", params=values)).text
    form = {name: hidden(source, name) for name in ("csrf", "once")} | values
    got = await asyncio.gather(*(http.post(f"{at}/{verb}", data=form) for _ in range(3)))
    found = [(each.status_code, each.headers["location"]) for each in got]
    assert found == [(303, leads)] * 3
    events = (await http.get(f"/api/v1/events?q=verb:{verb}")).json()["items"]
    assert len(events) == 1
    again = await http.post(f"{at}/{verb}", data=form | {"once": "another", "reason": "x"})
    assert again.headers.get("location") != leads or verb == "retry"


async def test_new_runs_are_led_to(mill_house: Mill, trouble: set[str]) -> None:
    house, http = mill_house
    run = await ended(house, "daily-report")
    trouble.clear()
    for verb, values, text in (
        ("rerun", {}, "Rerun of"),
        ("fork", {"step": "load"}, "Fork of"),
    ):
        form = f"/runs/{run.id}/plan/{verb}"
        got = await sent(http, form, values, to=f"/runs/{run.id}/{verb}")
        leads = got.headers["location"]
        assert leads != f"/runs/{run.id}?did={verb}"
        found = await page(http, leads)
        assert f"{text} daily-report {run.id}" in found.text
    got = await sent(http, f"/runs/{run.id}/plan/acknowledge", {}, to=f"/runs/{run.id}/acknowledge")
    assert got.status_code == 303
    assert "acknowledged by mira" in told(await page(http, f"/runs/{run.id}"))


async def test_answers_and_signals(mill_house: Mill) -> None:
    house, http = mill_house
    asks, awaits = await begin(house, "approve"), await begin(house, "word")
    await waits(house, asks, "question")
    await waits(house, awaits, "signal")
    at = f"/runs/{asks.id}"
    key = (await page(http, at)).forms[f"{at}/answer"].values["question"]
    wrong = await sent(http, at, {"question": key, "value": "maybe"}, to=f"{at}/answer")
    assert (wrong.status_code, "answer to 'May it go?'" in Page(wrong.text).text) == (422, True)
    right = {"question": key, "value": "true"}
    assert (await sent(http, at, right, to=f"{at}/answer")).status_code == 303
    assert (await house.client.wait(asks)).result is True
    late = await sent(http, f"{at}/plan/rerun", right, to=f"{at}/answer")
    assert (late.status_code, "asks nothing" in late.text) == (404, True)
    there = f"/runs/{awaits.id}"
    said = {"name": "go", "value": '{"by": "hand"}'}
    assert (await sent(http, there, said, to=f"{there}/signal")).status_code == 303
    assert (await house.client.wait(awaits)).result == {"by": "hand"}


async def test_a_cancelled_workflow_is_undone(mill_house: Mill) -> None:
    house, http = mill_house
    run = await begin(house, "booking")

    async def asks() -> bool:
        return f"/runs/{run.id}/plan/cancel" in plans(await page(http, f"/runs/{run.id}")) and (
            "Charge" in (await page(http, f"/runs/{run.id}")).text
        )

    await until(asks)
    found = await page(http, f"/runs/{run.id}")
    assert f"Charge {HOSTILE}?" in found.text
    assert "Step charge asks lea" in found.text
    assert "script" not in found.tags
    plan = await page(http, f"/runs/{run.id}/plan/cancel")
    assert "what its steps have done is undone where they say how" in plan.text
    form = f"/runs/{run.id}/plan/cancel"
    got = await sent(http, form, {"reason": "no card"}, to=f"/runs/{run.id}/cancel")
    assert got.status_code == 303
    assert (await house.client.wait(run)).state == "cancelled"
    steps = await page(http, f"/runs/{run.id}?tab=steps")
    assert "undo of" in steps.text


async def test_who_only_looks_is_refused(mill_app: App, open_house: Callable[..., Any]) -> None:
    house, http = await open_house(program=mill_app, web=VIEWERS)
    run = await ended(house, "daily-report")
    vera = {"X-User": "vera"}
    found = await page(http, f"/runs/{run.id}", headers=vera)
    assert "details" not in found.tags
    assert "You may look, and not act on it: vera has no right to operate in default." in found.text
    told = await page(http, found.links["Run again from load"], headers=vera)
    assert "runs again load" in told.text
    assert "You may look, and not do this: vera has no right to operate in default." in told.text
    assert f"/runs/{run.id}/retry" not in told.forms
    for verb in ("retry", "cancel", "rerun", "answer", "signal"):
        got = await http.post(f"/runs/{run.id}/{verb}", data={}, headers=vera)
        assert got.status_code == 403
    assert (await house.client.get(run.id)).state == "failed"
    otto = {"X-User": "otto"}
    assert (await http.get(f"/runs/{run.id}/plan/nothing", headers=otto)).status_code == 404
    assert (await http.get("/runs/daily-report/plan/retry", headers=otto)).status_code == 404
    assert (await http.get(f"/runs/{'9' * 5000}", headers=otto)).status_code == 404


async def test_a_run_goes_again_with_its_arguments_as_they_are_changed(
    house: House, http: httpx.AsyncClient
) -> None:
    """They stand there, without secrets; only what is other than it was is given."""
    run = await begin(house, "report", password="s3cr3t")
    await house.client.cancel(run)
    at = f"/runs/{run.id}"
    source = (await http.get(f"{at}/plan/retry")).text
    (text,) = re.findall(r'name="args"[^>]*>(.*?)</textarea>', source, re.DOTALL)
    plain = json.loads(html.unescape(text))
    assert plain == {"day": "2026-11-30", "customer": None, "size": "small"}
    assert "So does what is not shown: password." in source
    form = {"args": json.dumps(plain | {"size": "big"})}
    got = await sent(http, f"{at}/plan/retry", form, to=f"{at}/retry")
    assert got.status_code == 303
    again = await house.client.get(run.id)
    assert (again.args["size"], again.args["password"]) == ("big", "s3cr3t")
