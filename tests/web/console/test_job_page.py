from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from koken.engine import control, schedules
from koken.model.duration import in_words
from koken.model.schedule import Schedule
from koken.model.states import State
from koken.runtime.worker import Worker
from koken.views import catalog
from koken.views.durations import Taken
from koken.web.console import jobpictures, runbook
from koken.web.console.pages import environment
from koken.web.house import House
from koken.web.specs import differences
from tests.web.console.reading import Page
from tests.web.console.sending import VIEWERS, sent
from tests.web.console.test_jobs_page import HOSTILE, declare, page
from tests.web.console.test_stars import known
from tests.web.shop import make


async def test_a_job_begins_with_when_it_runs_and_how_it_went(
    house: House, http: httpx.AsyncClient
) -> None:
    await known(house, "report", "greet")
    found = await page(http, "/jobs/report")
    assert re.fullmatch(
        r"report runs at 02:00 every day, Europe/Berlin, next in \d+ (h|min); it has never run\.",
        found.sentence,
    )
    found = await page(http, "/jobs/greet")
    assert found.sentence == "greet runs when somebody or something starts it; it has never run."
    assert "koken run greet" in found.text


async def test_the_past_of_a_job(house: House, http: httpx.AsyncClient, worker: Worker) -> None:
    job = make().registry.get("broken")
    for _ in range(2):
        run = await house.client.start(job)
        await house.client.wait(run)
    found = await page(http, "/jobs/broken")
    assert "its last 2 runs failed, the first of them" in found.sentence
    assert found.links["2 open failures"] == "/runs?q=job%3Abroken+state%3Aopen"
    assert "the last 2 runs: 2 failed" in found.text
    assert f'href="/runs/{run.id}" class="look-failed"' in found.source
    assert "Too few runs have succeeded to say what is to be expected" in found.text
    assert '<script type="application/json" id="durations">' in found.source
    assert re.search(r"\d+ \w+ \d{4}: 2 failed", found.text)
    for one in await house.client.find("job:broken"):
        await control.acknowledge(house.db, one.id, by="mira", reason="known")
    found = await page(http, "/jobs/broken")
    assert found.sentence.endswith("; of the last 2 runs 2 failed.")
    assert "open failure" not in found.text


async def test_schedules_say_what_happens_when(house: House, http: httpx.AsyncClient) -> None:
    """The next three times by two clocks; overlap and catch-up in words; arguments masked."""
    schedule = Schedule(
        "0 2 * * *",
        timezone="Europe/Berlin",
        catchup="all",
        catchup_limit=7,
        args={"day": "{logical_time}", "password": "s3cr3t"},
    )
    await declare(house, "tidy", schedules=(schedule,), overlap="queue_all", overlap_key="k:{day}")
    got = await http.get("/jobs/tidy", headers={"Cookie": "koken_zone=Asia/Tokyo"})
    found = Page(got.text)
    times = [row.removeprefix("Next ") for row in found.rows if "02:00" in row]
    assert len(times) == 3
    assert all(re.search(r"02:00 ?\w{3} \d+ \w{3} (09|10):00$", row) for row in times)
    assert "all made up for, the oldest first, at most 7 of them." in found.text
    assert "While a run goes, the next ones wait in line, one after the other." in found.text
    assert "Counted apart for each k:{day}." in found.text
    assert "day={logical_time} password=•••" in found.text
    assert "s3cr3t" not in got.text


async def test_schedules_are_paused_and_resumed_with_a_reason(
    house: House, http: httpx.AsyncClient
) -> None:
    await known(house, "report")
    got = await sent(http, "/jobs/report", {"reason": HOSTILE}, "/jobs/report/pause")
    assert (got.status_code, got.headers["location"]) == (303, "/jobs/report")
    found = await page(http, "/jobs/report")
    assert re.fullmatch(
        r"report has been paused by mira for (a moment|\d+ s); it has never run\.", found.sentence
    )
    assert HOSTILE in found.text
    assert "<script>alert" not in found.source
    assert "/jobs/report/pause" not in found.forms
    await sent(http, "/jobs/report", {"reason": ""}, "/jobs/report/resume")
    found = await page(http, "/jobs/report")
    assert "runs at 02:00 every day" in found.sentence
    assert "/jobs/report/resume" not in found.forms


async def test_who_only_looks_can_neither_start_nor_pause(open_house: Any) -> None:
    house, http = await open_house(web=VIEWERS)
    await known(house, "report")
    vera = {"X-User": "vera"}
    found = Page((await http.get("/jobs/report", headers=vera)).text)
    assert [address for address in found.forms if "star" not in address] == []
    assert "/jobs/report/start" not in found.links.values()
    for address in ("/jobs/report/pause", "/jobs/report/resume", "/jobs/report/start"):
        got = await sent(http, "/jobs/report", {}, address, headers=vera)
        assert got.status_code == 403
    assert (await http.get("/jobs/report/start", headers=vera)).status_code == 403
    assert (await http.get("/runs?q=job:report", headers=vera)).status_code == 200
    assert await house.client.find("job:report") == []


async def test_the_steps_are_drawn(house: House, http: httpx.AsyncClient) -> None:
    await known(house, "nightly")
    found = await page(http, "/jobs/nightly")
    assert "2 steps" in found.text
    assert "load → publish" in found.text
    assert "<style" not in found.source
    assert " style=" not in found.source
    got = await http.get("/jobs/nightly/graph.svg")
    assert got.headers["content-type"] == "image/svg+xml"
    assert got.text.startswith("<svg")


async def test_texts_of_a_job_are_texts(house: House, http: httpx.AsyncClient) -> None:
    await declare(
        house,
        "odd",
        description=f"Odd {HOSTILE}\n\nEffects: {HOSTILE} http://x.example/{HOSTILE}",
        owner=HOSTILE,
        tags=(HOSTILE,),
        lock=None,
        parameters={"type": "object", "properties": {HOSTILE: {"description": HOSTILE}}},
    )
    for address in ("/jobs/odd", "/jobs/odd/versions", "/jobs/odd/ticks", "/jobs/odd/start"):
        got = await http.get(address)
        assert got.status_code == 200
        assert "<script>alert" not in got.text


async def test_versions_and_what_differs(house: House, http: httpx.AsyncClient) -> None:
    await declare(house, "report", max_attempts=1)
    found = await page(http, "/jobs/report/versions")
    assert "This is the only version." in found.text
    defaults = {"password": "s3cr3t"}
    await declare(house, "report", max_attempts=3, defaults=defaults)
    got = await http.get("/jobs/report/versions")
    found = Page(got.text)
    assert "2 differences from version 1 to 2" in found.text
    assert "max_attempts before: 1 after: 3" in found.rows
    assert "defaults.password after: •••" in found.rows
    assert "s3cr3t" not in got.text
    found = await page(http, "/jobs/report/versions?old=2&new=2")
    assert "Versions 2 and 2 do not differ" in found.text
    await page(http, "/jobs/report/versions?old=1&new=9", 404)


def test_secrets_in_versions_are_hidden_by_their_place() -> None:
    def spec(default: str, args: dict[str, str]) -> dict[str, Any]:
        properties = {"db_password": {"type": "string", "default": default}}
        parameters = {"type": "object", "properties": properties}
        return {
            "defaults": {},
            "steps": [],
            "parameters": parameters,
            "schedules": [{"name": "nightly", "args": args}],
        }

    found = differences(spec("a", {}), spec("b", {"db_password": "x"}), ("password",))
    assert [(each.change, each.before, each.after) for each in found[:1]] == [
        ("changed", "•••", "•••")
    ]
    assert "'x'" not in repr(found)


async def test_ticks_and_their_verdicts(house: House, http: httpx.AsyncClient) -> None:
    await known(house, "report", "greet")
    found = await page(http, "/jobs/greet/ticks")
    assert found.sentence == "greet has no tick yet."
    assert "It has no schedule." in found.text
    async with house.db.session() as session:
        await session.execute(
            "insert into koken.tick (schedule_id, due_at, until_at, verdict, reason, count)"
            " select s.id, '2026-03-01 01:00+00'::timestamptz + n * interval '1 day',"
            " '2026-03-01 01:00+00', 'missed', '<b>no worker', n + 1"
            " from koken.schedule s, generate_series(0, 50) n"
        )
    found = await page(http, "/jobs/report/ticks")
    assert len(found.rows) == 51
    first, last = "Mon 2026-04-20 01:00", "Sun 2026-03-01 01:00"
    assert found.rows[1].startswith(f"{first} up to {last}")
    assert found.rows[1].endswith("∅ missed × 51 – <b>no worker")
    found = await page(http, "/jobs/report/ticks" + found.links["Older"])
    (row,) = found.rows[1:]
    assert row.startswith(last)
    assert row.endswith("∅ missed – <b>no worker")
    await page(http, "/jobs/report/ticks?before=x", 422)


async def test_a_job_that_there_is_not(http: httpx.AsyncClient) -> None:
    for address in ("", "/ticks", "/versions", "/graph.svg", "/start"):
        assert (await http.get(f"/jobs/nothing{address}")).status_code == 404


async def test_a_job_that_no_program_declares_any_more(
    house: House, http: httpx.AsyncClient
) -> None:
    await known(house, "greet")
    async with house.db.session() as session:
        await session.execute("update koken.job set retired_at = koken.now()")
    found = await page(http, "/jobs/greet")
    assert "no program declares it any more" in found.sentence
    assert "/jobs/greet/start" not in found.links.values()


def test_a_docstring_as_a_runbook() -> None:
    found = runbook.sections(
        """Sum up a day.

        Effects: books close late. Workaround: use yesterday's.

        Recovery
        --------
        1. stop the mill
        2. run it again,
           from where it failed
        """
    )
    assert [(each.title, [block.items for block in each.blocks]) for each in found] == [
        ("", [("Sum up a day.",)]),
        ("Effects", [("books close late.",)]),
        ("Workaround", [("use yesterday's.",)]),
        ("Recovery", [("stop the mill", "run it again, from where it failed")]),
    ]
    assert found[3].blocks[0].numbered
    assert runbook.sections("") == []
    assert runbook.sections("No side effects: none.")[0].title == ""
    assert runbook.pieces("see https://x.example/a?b=1. javascript:x") == [
        ("see ", ""),
        ("https://x.example/a?b=1", "link"),
        (". javascript:x", ""),
    ]
    assert runbook.pieces("**Never** run `rm *` or ``a**b``: 2 ** 3 * 4 ** 5, **<b>** `") == [
        ("Never", "strong"),
        (" run ", ""),
        ("rm *", "code"),
        (" or ", ""),
        ("a**b", "code"),
        (": 2 ** 3 * 4 ** 5, ", ""),
        ("<b>", "strong"),
        (" `", ""),
    ]


def test_what_is_marked_in_a_docstring_is_escaped_first() -> None:
    said = environment.from_string(
        '{% from "jobparts.html" import said with context %}{{ said(text, pieces) }}'
    )
    assert said.render(text="**<b>** `<i>` <u>", pieces=runbook.pieces) == (
        "<strong>&lt;b&gt;</strong> <code>&lt;i&gt;</code> &lt;u&gt;"
    )


@pytest.mark.parametrize("highest", [0.0, 0.004, 0.76, 4.0, 61.0, 7000.0, 900_000.0])
def test_no_point_of_a_chart_is_above_its_highest_line(highest: float) -> None:
    at = datetime(2026, 11, 30, tzinfo=UTC)
    runs = [
        Taken(
            id=no, state=State.SUCCEEDED, at=at, seconds=seconds, peak_bytes=None, cpu_seconds=None
        )
        for no, seconds in enumerate((highest / 2, highest))
    ]
    drawn = jobpictures.chart(
        runs, lambda each: each.seconds, jobpictures.LENGTHS, in_words, (None, None), UTC, "took"
    )
    lines = [float(y) for y in re.findall(r'<line class="rule"[^>]* y1="([\d.]+)"', drawn)]
    points = [float(y) for y in re.findall(r'cy="([\d.]+)"', drawn)]
    assert min(lines) <= min(points)
    assert 2 <= len(lines) <= 6
    assert "viewBox" not in drawn


async def test_one_paused_schedule_of_several_is_told(
    house: House, http: httpx.AsyncClient
) -> None:
    both = (Schedule("0 2 * * *", name="early"), Schedule("0 3 * * *", name="late"))
    await declare(house, "tidy", schedules=both)
    (first, _) = await catalog.schedules(house.views, workspace="default", job="tidy")
    await schedules.pause(
        house.db, "tidy", workspace="default", by="lea", reason=None, schedule=first.id
    )
    told = (await page(http, "/jobs/tidy")).sentence
    assert told.startswith("tidy runs by 2 schedules, of which 1 is paused, next in ")


async def test_a_page_tells_one_length_for_what_is_the_rule(
    house: House, http: httpx.AsyncClient, worker: Worker
) -> None:
    """Nothing of it where too few runs have succeeded."""
    job = make().registry.get("greet")
    for count in range(5):
        if count:
            found = await page(http, "/jobs/greet")
            assert "as a rule" not in found.sentence
            assert "Too few runs have succeeded" in found.text
        await house.client.wait(await house.client.start(job))
    found = await page(http, "/jobs/greet")
    (length,) = re.findall(
        r"the last 5 runs all succeeded; one takes (.*) as a rule", found.sentence
    )
    assert f"As a rule {length};" in found.text


async def test_a_command_to_copy_has_what_it_takes(house: House, http: httpx.AsyncClient) -> None:
    schema = {"type": "object", "properties": {"day": {}, "size": {}}, "required": ["day"]}
    await declare(house, "other", parameters=schema)
    assert "<pre>koken run other day=DAY</pre>" in (await page(http, "/jobs/other")).source
    async with house.db.session() as session:
        await session.execute("insert into koken.workspace (name) values ('acme')")
    got = await http.get("/jobs/other?workspace=acme")
    assert "<pre>koken run other day=DAY --workspace acme</pre>" in got.text
