"""Queues, workers, locks, events and workspaces: what they say, and who may press what."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from koken.engine import claim, control, queues, register, schedules
from koken.engine.register import Label
from koken.web.house import House
from tests.web.api.yard import open_yard, start
from tests.web.console.pressing import as_user, look, press
from tests.web.console.sending import VIEWERS
from tests.web.forms import hidden

OpenHouse = Callable[..., Any]
HOSTILE = "<script>alert(1)</script>"
LOCAL = replace(VIEWERS, roles={**VIEWERS.roles, "olga": {"default": "operator"}})
"""Olga acts in one workspace alone."""


async def change(house: House, text: str, *args: Any) -> list[Any]:
    async with house.db.session() as session:
        return list(await session.fetch_text(text, *args))


async def hire(house: House, name: str = "quay-1", **lanes: int) -> int:
    """A worker that counts as alive."""
    label = Label(name=name, host="h", pid=7, app="yard", version="1.2")
    return await register.register(house.db, label, lanes)


async def test_queues(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    await hire(house, default=2)
    for _ in range(3):
        await start(http, "lift")
    worker = (await change(house, "select id from koken.worker"))[0]["id"]
    ids = await register.queue_ids(house.db, {"default": 1})
    await change(house, "update koken.run set state = 'ready' where state = 'blocked'")
    await claim.from_bottom(house.db, worker, {ids["default"]: 2})
    await queues.set_limits(house.db, "night", limit=3, rate=0.5, by="lea", reason=None)
    await queues.pause(house.db, "night", paused=True, by="lea", reason=HOSTILE)
    page = await look(http, "/queues")
    assert page.sentence == (
        "2 queues: 2 running, 1 waiting for a slot; night is paused; default is full."
    )
    assert page.rows[1].startswith("night ‖ paused by lea")
    assert page.rows[1].endswith("no worker serves it 0 3 30/m")
    assert '<td data-th="limit" class="num">3</td>' in page.source
    assert page.rows[2].startswith("default 2 of 2 ▲ 1 lift 3 ready")
    assert HOSTILE in page.text
    assert "<script>alert" not in page.source


async def test_a_queue_in_which_no_slot_comes_free_needs_a_hand(open_house: OpenHouse) -> None:
    """bug-037"""
    house, http = await open_yard(open_house)
    worker = await hire(house, default=2)
    for _ in range(3):
        await start(http, "lift")
    ids = await register.queue_ids(house.db, {"default": 1})
    await change(house, "update koken.run set state = 'ready' where state = 'blocked'")
    await claim.from_bottom(house.db, worker, {ids["default"]: 2})
    assert "▲ full" not in (await look(http, "/")).text
    since = "update koken.run set claimed_at = koken.now() - interval '{} min' where id = {}"
    await change(house, since.format(180, 1))
    await change(house, since.format(90, 2))
    first = await look(http, "/")
    assert "▲ full default queue 1 run waits, and no slot comes free; a timeout ends what" in (
        first.text
    )
    assert first.links["Runs"] == "/runs?q=queue%3Adefault+state%3Arunning"
    told = "no slot has come free for 1 h 30 min"
    assert f"▲ full; {told}" in (await look(http, "/queues")).text
    assert "none has come free for 1 h 30 min." in (await look(http, "/queues/default")).sentence
    (queue,) = [
        each for each in (await http.get("/api/v1/queues")).json()["items"]
        if each["name"] == "default"
    ]  # fmt: skip
    assert (queue["full"], queue["taken_for"] // 60) == (True, 90)
    await change(house, "update koken.run set state = 'ready', worker_id = null where id = 2")
    assert "▲ full" not in (await look(http, "/")).text


async def test_a_queue_is_paused_limited_and_goes_on(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    at = "/queues/default"
    assert (await look(http, at)).sentence == "default is served by no worker; 0 runs wait."
    got = await press(http, at, f"{at}/pause", {"reason": "the crane is stuck"})
    assert (got.status_code, got.headers["location"]) == (303, at)
    page = await look(http, at)
    assert page.sentence.startswith("default has been paused by mira since ")
    assert page.sentence.endswith(": the crane is stuck; 0 runs wait.")
    await press(http, at, f"{at}/resume", {"reason": ""})
    await press(http, at, f"{at}/limits", {"limit": "4", "rate": "600/m", "reason": "quota"})
    assert "at most 4 at once Rate 10/s, 1 at once" in (await look(http, at)).text
    await press(http, at, f"{at}/limits", {"limit": "", "rate": "10/s"})
    assert "Limit none Rate 10/s" in (await look(http, at)).text
    for data in ({"limit": "many"}, {"limit": "-1"}, {"limit": "9999999999"}, {"rate": "often"}):
        got = await press(http, at, f"{at}/limits", {"limit": "", "rate": "", **data})
        assert got.status_code == 422
    events = "select verb, reason from koken.event where detail ? 'queue' order by id"
    assert [tuple(row) for row in await change(house, events)] == [
        ("pause", "the crane is stuck"),
        ("resume", None),
        ("queue", "quota"),
        ("queue", None),
    ]
    assert (await http.get("/queues/nothing")).status_code == 404


@pytest.mark.parametrize("name", ["vera", "olga"])
async def test_a_queue_is_everybodys(open_house: OpenHouse, name: str) -> None:
    """Who does not act in every workspace sees it, and may not press."""
    house, http = await open_yard(open_house, web=LOCAL)
    headers = await as_user(house, name)
    assert (await look(http, "/queues/default", **headers)).forms == {}
    for act in ("pause", "resume", "limits"):
        assert (await http.post(f"/queues/default/{act}", headers=headers)).status_code == 403
    assert (await look(http, "/queues/default", **await as_user(house, "otto"))).forms != {}


async def test_counts_are_of_the_own_workspace(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house, web=LOCAL)
    await change(house, "insert into koken.workspace (name) values ('acme')")
    otto = await as_user(house, "otto")
    for _ in range(2):
        got = await http.post(
            "/api/v1/runs", json={"job": "one"}, headers={**otto, "Koken-Workspace": "acme"}
        )
        assert got.status_code == 201, got.text
    assert (
        "0 running, 0 waiting" in (await look(http, "/queues", **await as_user(house, "olga"))).text
    )
    page = await look(http, "/queues?workspace=acme", **otto)
    assert "0 running, 2 waiting" in page.text
    assert (
        await http.get("/queues?workspace=acme", headers=await as_user(house, "olga"))
    ).status_code == 404
    page = await look(http, "/workspaces", **await as_user(house, "olga"))
    assert page.sentence == "You are in default, the only workspace that you see."
    assert "acme" not in page.text
    page = await look(http, "/workspaces?workspace=default", **otto)
    assert page.sentence == "You are in default, one of 2 workspaces; no failure is open."
    assert page.links["acme"] == "/?workspace=acme"
    assert page.rows[1].startswith("acme 0 0 2 ")
    assert page.rows[1].endswith("read, start, operate")


async def test_no_worker(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    page = await look(http, "/workers")
    assert page.sentence == "No worker is alive: nothing starts, and nothing goes on."
    assert "koken worker --app shop:app" in page.text


async def test_workers(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    worker = await hire(house, default=3, night=1)
    gone = await hire(house, HOSTILE, default=70)
    await start(http, "one")
    ids = await register.queue_ids(house.db, {"default": 1})
    await claim.from_bottom(house.db, worker, {ids["default"]: 1})
    await change(
        house, "update koken.worker set lost_at = now(), cleared_at = now() where id = $1", gone
    )
    page = await look(http, "/workers")
    assert page.sentence == "1 worker alive, with 1 run of this workspace on 4 slots."
    assert (page.source.count('class="busy"'), page.source.count('class="free"')) == (1, 3)
    assert page.links["one 1"] == "/runs/1"
    page = await look(http, "/workers?gone=1")
    assert page.sentence.endswith("; 1 is lost.")
    assert HOSTILE in page.text
    assert "<script>alert" not in page.source


async def test_locks(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house, web=LOCAL)
    otto, vera = await as_user(house, "otto"), await as_user(house, "vera")
    assert (await look(http, "/locks", **otto)).sentence == (
        "Nobody holds a lock, and nobody waits for one."
    )
    for _ in range(3):
        got = await http.post(
            "/api/v1/runs", json={"job": "lift", "args": {"ship": HOSTILE}}, headers=otto
        )
        assert got.status_code == 201, got.text
    page = await look(http, "/locks", **otto)
    assert page.sentence == "1 lock held; 2 runs wait for one."
    assert page.rows[1].startswith(
        f"crane:{HOSTILE}lock of a job or a step lift 1 ○ ready, has had it for "
    )
    assert "2: lift 2, lift 3" in page.rows[1]
    assert "<script>alert" not in page.source
    asked = {"key": f"crane:{HOSTILE}", "kind": "lock"}
    got = await http.post("/locks/unlock", data=asked, headers=otto)
    assert (got.status_code, "run 1 of lift has it and goes" in got.text) == (409, True)
    assert (
        await http.post("/locks/unlock", data=asked | {"kind": "x"}, headers=otto)
    ).status_code == 422
    assert (await http.post("/locks/unlock", data=asked, headers=vera)).status_code == 403
    assert "/locks/unlock" not in (await look(http, "/locks", **vera)).forms
    async with house.db.transaction() as tx:
        await tx.execute(
            "update koken.run set state = 'running', lease = 1, worker_id = 1 where id = 1"
        )
    asked |= {name: hidden(page.source, name) for name in ("run", "since", "once")}
    asked |= {"force": "1", "reason": "it hangs"}
    assert "lift 1 goes and keeps the lock until it has ended. Cancel it, and the lock" in page.text
    assert page.links["Cancel it"] == "/runs/1/plan/cancel"
    got = await asyncio.gather(
        *(http.post("/locks/unlock", data=asked, headers=otto) for _ in range(2))
    )
    assert {(each.status_code, each.headers["location"]) for each in got} == {
        (303, "/locks?taken=1")
    }
    late = await http.post("/locks/unlock", data=asked | {"once": "other"}, headers=otto)
    assert (late.status_code, "run 2 of lift has it, since" in late.text) == (409, True)
    page = await look(http, "/locks?taken=1", **otto)
    assert "lift 2 ○ ready, has had it for " in page.rows[1]
    assert (
        "The lock was taken from lift 1, which is asked to end and may still be at work."
        in page.text
    )
    chip = (await look(http, "/events", **otto)).links["unlock"]
    (_, row) = (await look(http, chip, **otto)).rows
    assert row.endswith("lift 1 it hangs")


async def test_keys_that_one_run_keeps(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    await start(http, "reduce")
    page = await look(http, "/locks")
    assert page.rows[-1].startswith("reduce reduce 1 ready skip_if_running")


async def test_events(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    await schedules.pause(house.db, "tide", workspace="default", by="lea", reason=HOSTILE)
    await start(http, "one")
    await control.cancel(house.db, 1, by="mira", reason="not now")
    page = await look(http, "/events")
    assert page.sentence.startswith("mira made the last change ")
    assert page.rows[1].endswith("one 1 not now")
    assert HOSTILE in page.text
    assert "<script>alert" not in page.source
    assert page.links["lea"] == "/events?q=by%3Alea"
    (schedule,) = (await http.get("/api/v1/schedules?job=tide&limit=1")).json()["items"]
    acts = (await http.get("/api/v1/events?q=verb:pause")).json()["items"]
    assert {"schedule": schedule["id"], "name": schedule["name"]} in [it["detail"] for it in acts]
    assert page.links[f"schedule {schedule['name']}"] == f"/schedules/{schedule['id']}"
    assert len((await look(http, "/events?q=verb:cancel")).rows) == 2
    assert len((await look(http, "/events?q=run:1 by:lea")).rows) == 0
    got = await http.get("/events?q=colour:red")
    assert (got.status_code, "There are verb, by, job" in got.text) == (422, True)
    assert (await http.get("/events?before=x")).status_code == 200


async def test_events_are_turned_over_page_by_page(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    await change(
        house,
        "insert into koken.event (workspace_id, verb, by, reason)"
        " select w.id, 'cancel', 'bob', 'n' || n from koken.workspace w, generate_series(1, 250) n"
        " where w.name = 'default'",
    )
    seen: list[str] = []
    url = "/events?q=by:bob"
    while url:
        page = await look(http, url)
        seen += [line.split()[-1] for line in page.rows[1:]]
        url = page.links.get("Older", "")
    assert seen == [f"n{n}" for n in range(250, 0, -1)]
