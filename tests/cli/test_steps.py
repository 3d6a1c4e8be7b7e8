"""A workflow's run in the terminal: ``koken show why steps logs watch``."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from koken import Client
from tests.cli.conftest import Koken, Said, change, process, wait_for_line
from tests.support.house import House, open_house
from tests.support.nights import ERROR, FAILED, at, failed, flow, insert

FULL = "OSError: [Errno 28] No space left on device"
WAYS = (
    "Ways on: koken retry 1 · koken skip 1 STEP · koken resolve 1 STEP · koken rerun 1"
    " · koken fork 1 --from STEP · koken acknowledge 1"
)
Make = Callable[[House], Coroutine[Any, Any, int]]
LINE = (
    "insert into koken.log_line (run_id, lease, at, level, stream, text)"
    " values (%s, 1, now(), 'info', 'stdout', %s)"
)
LIVE: dict[str, dict[str, Any]] = FAILED | {
    "table": {
        **FAILED["table"], "state": "waiting", "wait_cause": "children", "finished_at": None,
        "released": 120, "open_children": 8, "bad_children": 2,
    },
    "size": {"state": "waiting", "wait_cause": "signal", "wait_for": "go", "attempt": 1},
    "crunch": {
        "state": "running", "attempt": 1, "started_at": at(-1), "worker": "w-8", "progress": 71,
        "progress_text": "partition 5 of 7",
    },
    "add_up": {
        "state": "waiting", "wait_cause": "retry", "wake_at": at(1), "attempt": 1, "error": ERROR,
    },
    "publish": {"state": "waiting", "wait_cause": "gate", "wake_at": at(16.5)},
}  # fmt: skip


@pytest.fixture
def night(
    koken: Koken, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Make], int]:
    """Makes a run; times of day are UTC's."""
    monkeypatch.setenv("TZ", "UTC")

    async def made(make: Make) -> int:
        async with open_house(database_url) as house:
            return await make(house)

    return lambda make: asyncio.run(made(make))


async def live(house: House) -> int:
    return await flow(house, LIVE, state="waiting", wait_cause="children", open_children=5)


def steady(said: Said) -> list[str]:
    """The lines; how long something has gone on, or is ago, is … ."""
    return re.sub(
        r"\b\d+ (d|h)( \d+ (h|min))?(?= ·|\))|(?<=for )\d+ d \d+ h", "…", said.out
    ).splitlines()


def test_show_a_failed_night(koken: Koken, night: Callable[[Make], int]) -> None:
    night(failed)
    assert steady(koken("show", "nightly")) == [
        "nightly 1  ✗ failed   started by anna · … · version 1",
        "  ✓ files                   6:00   214 files",
        "  ✓ table     209/214    3:54:00   5 skipped: accepted at 95 % of 20",
        '  ✓ size                    0:00   "big"',
        f"  ✗ crunch        2/2    2:45:00   {FULL}   koken logs 1 crunch",
        '  – add_up                     –   skipped: size is not "small"',
        "  · publish                    –   · site   · apologise",
        WAYS,
    ]
    steps = koken("show", "1", "--json").json["steps"]
    assert [(each["name"], each["code"]) for each in steps[3:5]] == [("crunch", -1), ("add_up", 3)]


def test_why_a_night_failed(koken: Koken, night: Callable[[Make], int]) -> None:
    night(failed)
    assert steady(koken("why", "nightly")) == [
        "nightly 1 has stood since 11:45 (…): step crunch failed, 2 of 2 attempts used.",
        "  crunch     OSError: [Errno 28] No space left on device           w-7, 11:45:00",
        "  publish    needs crunch; then not before 04:30 (gate 30 4 * * *)",
        "  site       needs publish              apologise  needs site",
        "Ways on: retry 1 --from crunch · skip 1 crunch · resolve 1 crunch",
    ]


def test_why_several_steps_failed(koken: Koken, night: Callable[[Make], int]) -> None:
    async def make(house: House) -> int:
        broken = FAILED | {"size": FAILED["crunch"]}
        return await flow(house, broken, state="failed", finished_at=at(0))

    night(make)
    lines = steady(koken("why", "1"))
    assert lines[0] == "nightly 1 has stood since 11:45 (…): 2 steps failed."
    assert lines[-1] == (
        "Ways on: retry 1 · skip 1 size · resolve 1 size · skip 1 crunch · resolve 1 crunch"
    )


def test_show_and_why_a_live_night(koken: Koken, night: Callable[[Make], int]) -> None:
    night(live)
    assert steady(koken("show", "1"))[:-1] == [
        "nightly 1  ● running   started by anna · … · version 1",
        "  ✓ files                   6:00   214 files",
        "  ● table     110/214    6:54:00   running",
        "  ◔ size                       –   awaits a signal  go",
        "  ● crunch               1:00:00   running on w-8  ███████░░░ 71 %  partition 5 of 7",
        "  ↻ add_up        1/2          –   retrying  until 13:00",
        "  ◔ publish                    –   held  until 04:30 (gate 30 4 * * *)",
        "  ◌ site                       –   ◌ apologise",
    ]
    assert steady(koken("why", "1")) == [
        "nightly 1  ● running for …: 5 of its runs go: table, size, crunch and 2 more",
        "  table      running",
        "  size       awaits a signal: go",
        "  crunch     runs on w-8",
        "  add_up     OSError: [Errno 28] No space left on device; retrying until 13:00",
        "  publish    held by its gate 30 4 * * * until 04:30",
        "  site       needs publish              apologise  needs site",
        "Ways on: koken watch 1 · koken cancel 1",
    ]
    assert koken("why", "4").lines[-1] == (
        "Ways on: koken signal 4 go VALUE · koken watch 4 · koken cancel 4 · koken skip 1 size"
        " · koken resolve 1 size"
    )
    assert koken("show", "4").lines[0] == "nightly size 4  ◔ waiting"
    assert koken("show", "4").lines[1].startswith("part of run 1 · queue default · version 1 · ")


def test_a_night_that_is_undone(koken: Koken, night: Callable[[Make], int]) -> None:
    async def make(house: House) -> int:
        run_id = await flow(
            house, FAILED, state="waiting", wait_cause="children", wait_for="undo",
            settle="failed", open_children=1,
        )  # fmt: skip
        undo = {"state": "running", "attempt": 1, "started_at": at(-0.1), "worker": "w-9"}
        await insert(house, run_id, 1_000_001, "undo publish", undoes_id=7, **undo)
        return run_id

    night(make)
    lines = steady(koken("show", "1"))
    assert lines[0] == "nightly 1  ⟲ compensating   started by anna · … · version 1"
    assert "  ● undo publish          6:00   running on w-9" in lines
    assert steady(koken("why", "1"))[1] == "  what its steps did is undone; then it ends as failed"
    assert koken("runs", "--json").json["items"][0]["phase"] == "compensating"


def test_steps(koken: Koken, night: Callable[[Make], int]) -> None:
    night(failed)
    said = koken("steps", "nightly")
    assert said.lines == [
        "nightly 1  ✗ failed  3 ✓  3 ·  1 ✗  1 –",
        "STEP       RUN  STATE           DONE     TOOK  SAYS",
        "files        2  ✓ succeeded              6:00  214 files",
        "table        3  ✓ succeeded  209/214  3:54:00  5 skipped: accepted at 95 % of 20",
        'size         4  ✓ succeeded              0:00  "big"',
        "crunch       5  ✗ failed         2/2  2:45:00  OSError: [Errno 28] No space lef…",
        'add_up       6  – skipped                   –  size is not "small"',
        "publish      7  · not begun                 –",
        "site         8  · not begun                 –",
        "apologise    9  · not begun                 –",
    ]
    assert koken("steps", "1", "--codes").out == (
        "files 4\ntable 4\nsize 4\ncrunch -1\nadd_up 3\npublish 0\nsite 0\napologise 0\n"
    )
    items = koken("steps", "1", "--json").json["items"]
    assert [each["name"] for each in items][:2] == ["files", "table"]
    assert koken("steps", "2").lines == ["nightly files 2 has no steps."]
    assert koken("steps", "2", "--codes").out == ""
    assert koken("steps", "nothing").code == 3


def test_steps_for_programs(koken: Koken, night: Callable[[Make], int], database_url: str) -> None:
    night(failed)
    with Client(database_url) as client:
        found = client.steps("nightly")
        assert [row.code for row in found] == [4, 4, 4, -1, 3, 0, 0, 0]
        assert client.steps(found[0].run_id or 0) == []


def test_many_steps_are_counted(koken: Koken, night: Callable[[Make], int]) -> None:
    """The items of a step: those that failed or go are listed, the others counted."""

    async def make(house: House) -> int:
        run_id = await flow(house, FAILED, state="waiting", wait_cause="children")
        table = run_id + 2
        for no in range(1, 101):
            row = {"state": "failed", "error": ERROR} if no == 50 else {"state": "succeeded"}
            await insert(house, table, no, "table", need_rule=None, attempt=1, **row)
        return table

    table = night(make)
    assert steady(koken("show", str(table)))[1:3] == [
        f"  ✗ table[49]   1/2          –   {FULL}   koken logs {table} table[49]",
        f"  … 99 more: 99 ✓  koken steps {table}",
    ]
    said = koken("logs", str(table), "table[49]")
    assert said.err == f"nightly table {table + 56} has printed nothing\n"


def test_logs_of_a_step(koken: Koken, night: Callable[[Make], int], database_url: str) -> None:
    night(failed)
    change(database_url, LINE, 5, "no room")
    assert koken("logs", "nightly", "crunch").out.endswith(" no room\n")
    assert koken("logs", "1", "crunch", "-f").out.endswith(" no room\n")
    said = koken("logs", "1", "size")
    assert (said.code, said.err) == (0, "nightly size 4 has printed nothing\n")
    said = koken("logs", "1", "nothing")
    assert (said.code, said.err) == (
        3,
        "koken: run 1 has no step 'nothing' that has a run; `koken steps 1` lists them\n",
    )


def test_watched(
    koken: Koken, night: Callable[[Make], int], folder: Path, database_url: str
) -> None:
    night(live)
    with process("watch", "nightly", folder=folder) as child:
        first = wait_for_line(child.stdout, "◔ publish")
        assert steady(Said(0, first[0], "")) == [
            "nightly 1  ● running for …: 5 of its runs go: table, size, crunch and 2 more"
        ]
        assert [line.split(" ", 1)[1] for line in first[1:]] == [
            "● table  running",
            "◔ size  awaits a signal  go",
            "● crunch  running on w-8  ███████░░░ 71 %  partition 5 of 7",
            "↻ add_up  retrying  until 13:00",
            "◔ publish  held  until 04:30 (gate 30 4 * * *)",
        ]
        change(
            database_url,
            "update koken.run set state = 'succeeded', finished_at = now(), result = '7'"
            " where step = 'crunch'",
        )
        assert wait_for_line(child.stdout, "crunch")[-1].endswith("✓ crunch  succeeded  7")
        change(
            database_url,
            "update koken.run set state = 'cancelled', wait_cause = null, finished_at = now()"
            " where id = 1",
        )
        assert wait_for_line(child.stdout, "nightly 1")[-1] == "nightly 1  ⊘ cancelled"
        assert child.wait(20) == 1


def test_watch_says_until_when_steps_are_held(
    koken: Koken, night: Callable[[Make], int], folder: Path
) -> None:
    async def make(house: House) -> int:
        crunch = {"state": "running", "attempt": 1, "started_at": at(-1), "worker": "w-8"}
        return await flow(
            house, FAILED | {"crunch": crunch}, state="waiting", wait_cause="children",
            open_children=1,
        )  # fmt: skip

    night(make)
    with process("watch", "nightly", folder=folder) as child:
        first = wait_for_line(child.stdout, "● crunch")
    assert [re.sub("for .*:", "for …:", line, count=1) for line in first[:2]] == [
        "nightly 1  ● running for …: crunch",
        "  publish  held until 04:30 (gate 30 4 * * *)",
    ]


def test_waits_that_somebody_else_ends(koken: Koken, night: Callable[[Make], int]) -> None:
    """Their time is the one at which they are given up."""

    async def make(house: House) -> int:
        far = datetime.now(UTC) + timedelta(days=7, minutes=5)
        size = {"state": "waiting", "wait_cause": "signal", "wait_for": "go", "wake_at": far}
        return await flow(
            house, FAILED | {"size": size}, state="waiting", wait_cause="children", open_children=1
        )

    night(make)
    assert "  ◔ size                       –   awaits a signal  go gives up in 7 d" in (
        koken("show", "1").lines
    )
    assert "  size       awaits a signal: go (gives up in 7 d)" in koken("why", "1").lines
    assert koken("why", "4").lines[0] == "nightly size 4  ◔ waiting, gives up in 7 d"
    assert koken("show", "1", "size").lines[0] == "nightly size 4  ◔ waiting, gives up in 7 d"


def test_a_workflow_has_no_attempts(koken: Koken, night: Callable[[Make], int]) -> None:
    night(failed)
    assert koken("wait", "1").lines[0] == "nightly 1  ✗ failed: "


def test_undo_steps_are_told(koken: Koken, night: Callable[[Make], int]) -> None:
    async def make(house: House) -> int:
        run_id = await failed(house)
        undo = {"state": "failed", "attempt": 2, "error": ERROR, "finished_at": at(0)}
        await insert(house, run_id, 1_000_001, "undo publish", undoes_id=7, **undo)
        return run_id

    night(make)
    assert koken("steps", "1").lines[-1] == (
        "undo publish   10  ✗ failed         2/2        –  OSError: [Errno 28] No space …"
    )
    assert "undo" not in koken("steps", "1", "--codes").out
    assert koken("graph", "1").lines[-1] == (
        f"  ✗ undo publish   2/2          –   {FULL}   koken logs 10"
    )


def test_watched_for_a_program(koken: Koken, night: Callable[[Make], int]) -> None:
    night(failed)
    said = koken("watch", "1", "--json")
    assert (said.code, json.loads(said.out)["state"]) == (1, "failed")


def test_names_do_not_steer_the_terminal(
    koken: Koken, night: Callable[[Make], int], database_url: str
) -> None:
    night(failed)
    change(
        database_url,
        "update koken.job_version set spec ="
        " replace(spec::text, '\"crunch\"', '\"cr\\u001b[2Junch\"')::jsonb",
    )
    change(database_url, "update koken.run set step = E'cr\\x1b[2Junch' where step = 'crunch'")
    for words in (["show"], ["why"], ["steps"], ["steps", "--codes"], ["graph"]):
        said = koken(words[0], "1", *words[1:])
        assert "crunch" in said.out
        assert "\x1b" not in said.out
