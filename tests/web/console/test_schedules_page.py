"""The pages of schedules: how they stand, what people do with them, what a backfill says first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC
from typing import Any
from zoneinfo import ZoneInfo

import httpx

import koken
from koken import Schedule
from koken.engine import schedules
from koken.views import agenda
from koken.web.console import agendapicture
from koken.web.house import House
from tests.support.house import NOON
from tests.views.test_agenda import drawn_up, row
from tests.web.api.yard import open_yard
from tests.web.console.pressing import as_user, look, press
from tests.web.console.reading import Page
from tests.web.console.sending import VIEWERS

OpenHouse = Callable[..., Any]
LOGICAL = "select logical_at from koken.run order by id"
HOSTILE = "<script>alert(1)</script>"
OLD = "update koken.schedule set cursor_at = '2026-06-01 12:00+00', next_at = {}"


def make() -> koken.App:
    """A program with a daily and an hourly schedule."""
    app = koken.App("nights")

    @app.job(
        schedule=Schedule("0 2 * * *", args={"day": "{logical_time:%Y-%m-%d}"}),
        timezone="Europe/Berlin",
    )
    def report(day: str = "") -> None:
        """Sum up a day."""

    @app.job(schedule="0 * * * *", overlap="allow")
    def hourly() -> None:
        """Every hour."""

    return app


async def doors(open_house: OpenHouse, **options: Any) -> tuple[House, httpx.AsyncClient]:
    return await open_yard(open_house, program=make(), **options)


async def change(house: House, text: str, *args: Any) -> list[Any]:
    async with house.db.session() as session:
        return list(await session.fetch_text(text, *args))


async def number(house: House, job: str) -> int:
    (found,) = await change(
        house,
        "select s.id from koken.schedule s join koken.job j on j.id = s.job_id where j.name = $1",
        job,
    )
    return int(found["id"])


async def test_how_they_stand(open_house: OpenHouse) -> None:
    house, http = await doors(open_house)
    await change(house, "update koken.schedule set next_at = koken.now() + interval '4 min'")
    await schedules.pause(house.db, "report", workspace="default", by="lea", reason=HOSTILE)
    page = await look(http, "/schedules")
    assert page.sentence == "2 schedules; the next fires in 4 min; 1 is paused."
    assert HOSTILE in page.text
    assert "<script>alert" not in page.source
    assert "At 02:00 every day, Europe/Berlin" in page.rows[2]
    assert page.rows[1].startswith("hourly")
    assert page.rows[2].startswith("report")
    assert f"by lea: {HOSTILE}" in page.rows[2]
    await change(house, "update koken.schedule set next_at = koken.now() - interval '3 min'")
    page = await look(http, "/schedules")
    assert page.sentence == "2 schedules; none fires by itself; 1 is paused, 1 is late."


async def test_nothing_yet(open_house: OpenHouse) -> None:
    _, http = await open_house(program=koken.App("empty"))
    page = await look(http, "/schedules")
    assert page.sentence == "0 schedules."
    assert "No job has a schedule here." in page.text


async def test_a_pause_a_resume_and_a_run(open_house: OpenHouse) -> None:
    house, http = await doors(open_house)
    at = f"/schedules/{await number(house, 'report')}"
    await change(house, "update koken.schedule set next_at = koken.now() + interval '3 h'")
    assert (await look(http, at)).sentence == "report fires in 3 h."
    got = await press(http, at, f"{at}/pause", {"reason": "the disk is full"})
    assert (got.status_code, got.headers["location"]) == (303, at)
    told = (await look(http, at)).sentence
    assert told.startswith("report has been paused by mira since ")
    assert told.endswith(": the disk is full; it does not fire.")
    await press(http, at, f"{at}/resume")
    assert (await look(http, at)).sentence.startswith("report fires ")
    got = await press(http, at, f"{at}/run", {"reason": "the disk is back"})
    assert (got.status_code, got.headers["location"]) == (303, "/runs/1")
    told = (await look(http, "/events?q=job:report+verb:start")).rows
    assert [("the disk is back" in row, "mira" in row) for row in told[1:]] == [(True, True)]
    (run,) = await change(house, "select args, trigger_by, created_at from koken.run")
    day = f"{run['created_at'].astimezone(ZoneInfo('Europe/Berlin')):%Y-%m-%d}"
    assert (run["args"], run["trigger_by"]) == (f'{{"day": "{day}"}}', "mira")


async def test_a_backfill_tells_its_plan_and_then_does_it(open_house: OpenHouse) -> None:
    house, http = await doors(open_house)
    await change(house, OLD.format("koken.now() + interval '1 h'"))
    at = f"/schedules/{await number(house, 'report')}"
    asked = {"since": "2026-03-28T00:00", "until": "2026-03-31T00:00", "at_once": "1"}
    page = await look(http, f"{at}/backfill?{httpx.QueryParams(asked)}")
    assert page.sentence.startswith(
        "report: 3 runs, for 2026-03-28 02:00 to 2026-03-30 02:00 (Europe/Berlin), will be started"
    )
    assert "2026-03-29 03:00" in page.text  # the night on which there is no 02:00 to 03:00
    assert (
        "until they are through, new due times are skipped (overlap skip_if_running)" in page.text
    )
    assert await change(house, "select from koken.run") == []
    form = page.forms[f"{at}/backfill"].values
    got = await http.post(f"{at}/backfill", data=form | {"reason": "outage"})
    assert got.status_code == 303
    page = await look(http, got.headers["location"])
    assert [line.partition(" Europe/Berlin ")[0] for line in page.rows[1:]] == [
        "Mon 2026-03-30 00:00 02:00",
        "Sun 2026-03-29 01:00 03:00",
        "Sat 2026-03-28 01:00 02:00",
    ]
    assert "backfilled by mira: outage" in page.rows[1]
    logical = [row["logical_at"].isoformat() for row in await change(house, LOGICAL)]
    assert logical == [
        "2026-03-28T01:00:00+00:00",
        "2026-03-29T01:00:00+00:00",
        "2026-03-30T00:00:00+00:00",
    ]
    page = await look(http, f"{at}/backfill?{httpx.QueryParams(asked)}")
    assert "nothing will be started" in page.sentence
    assert "3 due times: already run" in page.text


async def test_a_backfill_over_http(open_house: OpenHouse) -> None:
    house, http = await doors(open_house)
    await change(house, OLD.format("koken.now() + interval '1 h'"))
    url = f"/api/v1/schedules/{await number(house, 'hourly')}/backfills"
    body = {"from": "2026-03-01T00:00:00Z", "to": "2026-03-01T04:00:00Z", "at_once": 2}
    plan = await http.post(f"{url}?dry_run=1", json=body)
    assert (plan.status_code, plan.json()["runs"], "started" in plan.json()) == (200, 4, False)
    done = await http.post(url, json=body, headers={"Idempotency-Key": "march"})
    assert (done.status_code, done.json()["started"]) == (201, ["1", "2", "3", "4"])
    again = await http.post(url, json=body, headers={"Idempotency-Key": "march"})
    assert again.json() == done.json()
    more = await http.post(url, json=body)
    assert (more.status_code, more.json()["started"], more.json()["kept"]) == (
        200,
        [],
        [{"why": "already run", "count": 4}],
    )
    assert (await http.post(url, json={**body, "to": "2026-02-01T00:00:00Z"})).status_code == 422
    assert (await http.post(url, json={**body, "from": "2026-03-01T00:00:00"})).status_code == 422
    assert (await http.post("/api/v1/schedules/99/backfills", json=body)).status_code == 404


async def test_equal_backfills_at_once_start_each_run_once(open_house: OpenHouse) -> None:
    house, http = await doors(open_house)
    await change(house, OLD.format("koken.now() + interval '1 h'"))
    url = f"/api/v1/schedules/{await number(house, 'hourly')}/backfills"
    body = {"from": "2026-03-01T00:00:00Z", "to": "2026-03-01T04:00:00Z"}
    found = await asyncio.gather(*(http.post(url, json=body) for _ in range(6)))
    told = [(each.status_code, each.json()) for each in found]
    assert [plain["started"] for status, plain in told if status == 201] == [["1", "2", "3", "4"]]
    for _, plain in (each for each in told if each[0] != 201):
        assert plain["started"] == []
        assert len(plain["existed"]) == plain["runs"]
    assert sorted(status for status, _ in told) == [200] * 5 + [201]


async def test_a_schedule_that_is_run_by_two_presses_runs_once(open_house: OpenHouse) -> None:
    house, http = await doors(open_house)
    at = f"/schedules/{await number(house, 'report')}"
    form = (await look(http, at)).forms[f"{at}/run"].values
    got = await asyncio.gather(*(http.post(f"{at}/run", data=form) for _ in range(3)))
    assert [each.headers["location"] for each in got] == ["/runs/1"] * 3
    form = (await look(http, at)).forms[f"{at}/run"].values
    assert (await http.post(f"{at}/run", data=form)).headers["location"] == "/runs/2"


async def test_who_looks_has_no_buttons(open_house: OpenHouse) -> None:
    house, http = await doors(open_house, web=VIEWERS)
    schedule = await number(house, "report")
    at = f"/schedules/{schedule}"
    assert (await look(http, at, **{"X-User": "vera"})).forms == {}
    assert sorted((await look(http, at, **{"X-User": "otto"})).forms) == [
        f"{at}/backfill",
        f"{at}/pause",
        f"{at}/run",
    ]
    vera = await as_user(house, "vera")
    for act in ("pause", "resume", "run", "backfill"):
        got = await http.post(f"{at}/{act}", headers=vera)
        assert (got.status_code, "may not" in got.text) == (403, True)
    plan = await look(http, f"{at}/backfill?since=2026-01-01&until=2026-01-02", **vera)
    assert ("You may look, and not start these runs" in plan.text, plan.forms) == (True, {})
    assert await change(house, "select from koken.event where verb <> 'publish'") == []


async def test_addresses_that_lead_nowhere(open_house: OpenHouse) -> None:
    house, http = await doors(open_house)
    at = f"/schedules/{await number(house, 'report')}"
    assert (await http.get("/schedules/99")).status_code == 404
    assert (await http.get(f"/schedules/{2**80}")).status_code == 404
    assert (await http.get(f"{at}?before=yesterday")).status_code == 422
    assert (await http.get(f"{at}/backfill?since=x&until=y")).status_code == 422
    assert (await http.get(f"{at}/backfill?since=2026-01-01&until=9999-12-31")).status_code == 422
    await change(house, "update koken.schedule set retired_at = koken.now()")
    assert "gave this schedule up" in (await look(http, at)).sentence
    assert (await http.get(f"{at}/backfill?since=2026-01-01&until=2026-01-02")).status_code == 409


async def test_due_times_are_turned_over_page_by_page(open_house: OpenHouse) -> None:
    house, http = await doors(open_house)
    schedule = await number(house, "hourly")
    await change(
        house,
        "insert into koken.tick (schedule_id, due_at, until_at, verdict, reason)"
        " select $1, t, t, 'missed', 'no scheduler ran' from generate_series("
        " timestamptz '2026-03-01 00:00+00', '2026-03-03 11:00+00', '1 hour') t",
        schedule,
    )
    seen: list[str] = []
    url = f"/schedules/{schedule}"
    while url:
        page = await look(http, url)
        seen += [" ".join(line.split()[1:3]) for line in page.rows[1:]]
        url = page.links.get("Older", "")
    assert len(seen) == len(set(seen)) == 60
    assert (seen[0], seen[-1]) == ("2026-03-03 11:00", "2026-03-01 00:00")


def test_the_picture_of_a_day() -> None:
    """Where marks lie, and the same as text in the reader's zone."""
    rows = [row(f"job {n}", "0 2 * * *", NOON) for n in range(8)]
    found = drawn_up(NOON, *rows, row("often", "* * * * *", NOON))
    picture = agendapicture.picture(found, UTC)
    assert picture.now_x == 178.4
    assert [told for _, told in picture.hours] == [
        "06:00", "09:00", "12:00", "15:00", "18:00", "21:00", "Wed", "03:00", "06:00", "09:00",
        "12:00",
    ]  # fmt: skip
    (spot,) = picture.rows[1][4]
    assert (spot.x, spot.told) == (585.3, "02:00 job 1: due")
    assert picture.text == [
        "Wed 02:00: job 0, job 1, job 2, job 3, job 4, job 5 and 2 more",
        "all the time: often about 1,439 times",
    ]
    half_an_hour_apart = agendapicture.picture(found, ZoneInfo("Asia/Kolkata")).text
    assert half_an_hour_apart[0].startswith("Wed 07:00: job 0")
    assert agendapicture.told(found, UTC) == (
        "The most at once: 23 due times in the quarter of an hour from Wed 02:00 on."
    )


async def test_a_thousand_schedules_are_a_page_of_bounded_size(open_house: OpenHouse) -> None:
    house, http = await doors(open_house)
    await change(
        house,
        "insert into koken.schedule (workspace_id, job_id, name, declared, expression, timezone,"
        " catchup, tzdata, next_at, cursor_at)"
        " select workspace_id, job_id, 'n' || n, declared, expression, timezone, catchup, tzdata,"
        " koken.now() + n * interval '1 min', cursor_at"
        " from koken.schedule, generate_series(1, 500) n",
    )
    agenda.computed.cache_clear()
    got = await http.get("/schedules")
    page = Page(got.text)
    assert page.sentence.startswith("1,002 schedules; ")
    assert len(page.rows) == 101
    assert len(got.text) < 300_000
    more = await look(http, page.links["More"])
    assert len(more.rows) == 101
    assert not set(more.rows[1:]) & set(page.rows[1:])


async def test_another_workspace_has_its_own(open_house: OpenHouse) -> None:
    house, http = await doors(open_house)
    schedule = await number(house, "report")
    await change(house, "insert into koken.workspace (name) values ('acme')")
    got = await http.get(f"/schedules/{schedule}?workspace=acme")
    assert got.status_code == 404
    assert "0 schedules." in (await http.get("/schedules?workspace=acme")).text


async def test_what_cannot_fire_stands_first(open_house: OpenHouse) -> None:
    house, http = await doors(open_house)
    await change(
        house,
        "update koken.schedule set next_at = null, problem = $1 where expression = '0 2 * * *'",
        f"ValueError: no zone {HOSTILE}",
    )
    page = await look(http, "/schedules")
    assert page.rows[1].startswith(f"reportcannot fire: ValueError: no zone {HOSTILE}")
    assert page.sentence.endswith("1 is broken.")
    assert "<script>alert" not in page.source


async def test_times_that_come_more_than_once_a_minute_have_seconds(open_house: OpenHouse) -> None:
    app = koken.App("ticks")

    @app.job(schedule="*/20 * * * * *")
    def tick() -> None: ...

    house, http = await open_yard(open_house, program=app)
    at = f"/schedules/{await number(house, 'tick')}"
    for address in (at, "/jobs/tick"):
        told = (await look(http, address)).text
        assert all(f":{second}" in told for second in ("00", "20", "40")), told
    await change(
        house,
        "insert into koken.tick (schedule_id, due_at, until_at, verdict)"
        " select id, t.at, t.at, 'skipped'"
        " from koken.schedule, (values (timestamptz '2026-11-30 12:00:40+00'),"
        " (timestamptz '2026-11-30 12:01:00+00')) t (at)",
    )
    rows = (await look(http, at)).rows
    assert [row[:23] for row in rows[1:]] == ["Mon 2026-11-30 12:01:00", "Mon 2026-11-30 12:00:40"]
