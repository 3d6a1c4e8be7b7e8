"""``koken backfill``."""

from __future__ import annotations

import re

import pytest

from tests.cli.conftest import Koken, change, value

MARCH = ("--from", "2026-03-01T00:00:00+00:00", "--to", "2026-03-04T00:00:00+00:00")
FORGOTTEN = "3 of them are from before DAY: whether they have run is not remembered for so long"
FOR = "for 2026-03-01 02:00 to 2026-03-03 02:00"
SKIPPED = "until they are through, new due times are skipped (overlap skip_if_running)"


@pytest.fixture
def shop(koken: Koken, database_url: str) -> Koken:
    """The shop, whose ``report`` the database knows since long ago."""
    koken("run", "report")
    change(database_url, "update koken.schedule set cursor_at = '2026-03-20 12:00+00'")
    return koken


def test_a_plan_then_the_runs(shop: Koken, database_url: str) -> None:
    said = shop("backfill", "report", *MARCH, "--dry-run")
    day = re.search(r"\d{4}-\d\d-\d\d(?=:)", said.out)
    told = [FORGOTTEN.replace("DAY", day[0])] if day else []
    assert said.lines == [
        f"report: 3 runs, {FOR} (UTC), will be started, the oldest first, one at a time.",
        *[f"  {line}" for line in (*told, SKIPPED)],
    ]
    assert value(database_url, "select count(*) from koken.run") == 1
    said = shop("backfill", "report", *MARCH, "--reason", "outage")
    assert said.lines[0] == "report: 3 runs started (2 to 4)."
    assert shop("backfill", "report", *MARCH).lines == [
        "report: no due time in this stretch wanted a run; nothing was started.",
        "  3 due times: already run",
    ]
    ticks = shop("ticks", "report", "--json").json["items"]
    assert [(tick["due_at"], tick["run"], tick["reason"]) for tick in ticks] == [
        ("2026-03-03T02:00:00+00:00", "4", "backfilled by anna: outage"),
        ("2026-03-02T02:00:00+00:00", "3", "backfilled by anna: outage"),
        ("2026-03-01T02:00:00+00:00", "2", "backfilled by anna: outage"),
    ]


def test_as_json(shop: Koken) -> None:
    plan = shop("backfill", "report", *MARCH, "--dry-run", "--json").json
    assert (plan["job"], plan["schedule"], plan["runs"]) == ("report", "1", 3)
    assert (plan["first"], plan["last"]) == (
        "2026-03-01T02:00:00+00:00",
        "2026-03-03T02:00:00+00:00",
    )
    done = shop("backfill", "report", *MARCH, "--json").json
    assert done["started"] == ["2", "3", "4"]
    assert shop("backfill", "report", *MARCH, "--json").json["kept"] == [
        {"why": "already run", "count": 3}
    ]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("report",), 2, "say from when on: --from 2026-03-01T00:00:00+00:00"),
        (("greet", *MARCH), 4, "job 'greet' has no schedule, so nothing was ever due"),
        (("nothing", *MARCH), 3, "there is no job 'nothing'; `koken jobs` lists them"),
        (("report", *MARCH, "--schedule", "x"), 3, "report has no schedule 'x'; it has 1"),
        (
            ("report", *MARCH, "--at-once", "3"),
            2,
            (
                "scheduled runs of report go one at a time (overlap skip_if_running); "
                "leave at_once at 1"
            ),
        ),
        (
            ("report", *MARCH, "--at-once", "0"),
            2,
            "at_once: 0 is no whole number of 1 or more. Nothing was done.",
        ),
    ],
)
def test_what_is_refused(shop: Koken, words: tuple[str, ...], code: int, told: str) -> None:
    shop("run", "greet")
    said = shop("backfill", *words)
    assert (said.code, said.err) == (code, f"koken: {told}\n")
