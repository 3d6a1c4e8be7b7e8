"""``koken migrate`` and ``koken prune``."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from koken.store import migrate
from tests.cli.conftest import Koken, change, value

ALL = [each.file.removesuffix(".sql") for each in migrate.migrations()]
LATEST = migrate.latest()


@pytest.fixture
def fresh(terminal: Koken, empty_database_url: str, monkeypatch: pytest.MonkeyPatch) -> Koken:
    """Gives a command, with a database that has nothing in it."""
    monkeypatch.setenv("KOKEN_DATABASE_URL", empty_database_url)
    return terminal


def test_migrate(fresh: Koken) -> None:
    check = fresh("migrate", "--check")
    assert check.code == 1
    assert check.lines == [f"Pending: {', '.join(ALL)}. Apply them: koken migrate"]
    assert fresh("migrate", "--check", "--json").json == {"version": 0, "pending": ALL}
    assert fresh("migrate").lines == [f"Applied {', '.join(ALL)}."]
    found = {each["name"]: each["good"] for each in fresh("doctor", "--json").json["items"]}
    assert found["log partitions"]
    assert fresh("migrate").lines == [f"Nothing to apply: the database is at migration {LATEST}."]
    check = fresh("migrate", "--check")
    assert check.code == 0
    assert check.lines == [f"Nothing is pending: the database is at migration {LATEST}."]
    assert fresh("migrate", "--json").json == {"applied": [], "version": LATEST}


def test_sql_does_what_migrate_does(fresh: Koken, empty_database_url: str) -> None:
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute(fresh("migrate", "--sql").out.encode())
    assert fresh("migrate", "--check").code == 0
    assert fresh("migrate", "--sql").out == "-- Nothing is pending.\n"


def test_sql_without_a_database(terminal: Koken) -> None:
    said = terminal("migrate", "--sql")
    assert said.code == 0
    assert said.lines[0] == "begin;"
    assert said.lines[-1] == "commit;"
    assert "create schema if not exists koken;" in said.out


def test_a_schema_that_is_too_new(koken: Koken, database_url: str) -> None:
    change(
        database_url,
        "insert into koken.migration (number, name, minimum_reader) values (9999, 'x', 9999)",
    )
    for words in (["migrate"], ["migrate", "--check"]):
        said = koken(*words)
        assert said.code == 4
        assert said.err.endswith("Upgrade Koken here\n")


def test_prune(koken: Koken, work: Callable[..., None], database_url: str) -> None:
    for _ in range(3):
        koken("run", "greet")
    work()
    change(
        database_url,
        "update koken.run set finished_at = now() - interval '31 d' where id < 3;"
        "create table koken.log_line_20200101 (like koken.log_line);"
        "alter table koken.log_line attach partition koken.log_line_20200101"
        " for values from ('2020-01-01') to ('2020-01-02');"
        "insert into koken.tick (schedule_id, due_at, until_at, verdict, fired_at)"
        " select min(id), now() - n * interval '100 d', now(), 'skipped',"
        "   now() - n * interval '100 d'"
        " from koken.schedule, generate_series(0, 2) n group by n",
    )
    told = "2 runs, 2 ticks and 1 day of log lines.\n"
    assert koken("prune", "--dry-run").out == f"Would delete {told}"
    assert value(database_url, "select count(*) from koken.run") == 3
    assert koken("prune", "--reason", "disk").out == f"Deleted {told}"
    assert value(database_url, "select count(*) from koken.run") == 1
    assert value(database_url, "select count(*) from koken.tick") == 1
    assert value(database_url, "select to_regclass('koken.log_line_20200101')") is None
    event = "select by || ': ' || reason || ' ' || detail from koken.event where verb = 'prune'"
    assert value(database_url, event) == 'anna: disk {"runs": 2, "ticks": 2, "log_days": 1}'
    assert koken("prune", "--json").json == {
        "runs": 0,
        "ticks": 0,
        "log_days": 0,
        "dry_run": False,
    }
