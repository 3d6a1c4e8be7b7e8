"""``koken doctor`` against real troubles."""

from __future__ import annotations

import os
from collections.abc import Callable

import psycopg
import pytest

from koken.views import examination
from tests.cli.conftest import Koken, Said, change, value
from tests.support.pgbouncer import pgbouncer


def wrong(said: Said) -> dict[str, str]:
    """What is not well, by name."""
    return {each["name"]: each["text"] for each in said.json["items"] if not each["good"]}


@pytest.fixture
def well(koken: Koken, work: Callable[..., None], database_url: str) -> str:
    """A database with all that a worker makes, and a live worker's row."""
    work("select count(*) > 1 from pg_inherits where inhparent = 'koken.log_line'::regclass")
    change(
        database_url,
        "insert into koken.worker (name, host, pid, app, version, queues, slots)"
        """ values ('w-2', '', 1, '', '', '{"default": 5, "reports": 5}', 10)""",
    )
    return database_url


def test_all_is_well(koken: Koken, well: str) -> None:
    said = koken("doctor")
    assert said.code == 0
    assert said.lines[-1] == "All is well."
    assert all(line.startswith("✓ ") for line in said.lines[:-1])
    assert wrong(koken("doctor", "--json")) == {}


def test_nobody_works(koken: Koken) -> None:
    koken("run", "greet")
    said = koken("doctor")
    assert said.code == 1
    place = said.lines.index("✗ workers        no worker is alive")
    assert said.lines[place + 1] == f"{' ' * 17}→ koken worker"
    assert set(wrong(koken("doctor", "--json"))) == {"workers", "queues"}


def test_no_tables(
    terminal: Koken, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOKEN_DATABASE_URL", empty_database_url)
    said = terminal("doctor", "--json")
    assert said.code == 1
    assert list(wrong(said)) == ["tables"]


def test_no_server(terminal: Koken, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOKEN_DATABASE_URL", "postgresql://anna:secret@127.0.0.1:1/x")
    said = terminal("doctor")
    assert said.code == 5
    assert said.lines[0].startswith("✗ connection     127.0.0.1:1/x: PostgreSQL does not answer")
    assert "secret" not in said.out


def test_an_old_transaction(koken: Koken, well: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "LONG_OPEN", 0.0)
    with psycopg.connect(well, application_name="report") as neighbour:
        pid = neighbour.execute("select pg_backend_pid()").fetchone()
        assert pid is not None
        said = koken("doctor", "--json")
    horizon = wrong(said)["horizon"]
    assert said.code == 1
    assert horizon.startswith(f"pid {pid[0]} of postgres (report) has a transaction open for 0 s")
    assert f"pg_terminate_backend({pid[0]})" in said.out


def test_a_run_without_a_worker_and_astray_lines(koken: Koken, well: str) -> None:
    koken("run", "greet")
    change(well, "update koken.run set state = 'running', worker_id = 77")
    change(
        well,
        "insert into koken.log_line (run_id, lease, at, level, stream, text)"
        " values (1, 1, '2000-01-01', 'info', 'stdout', 'x')",
    )
    change(well, "update koken.schedule set next_at = now() - interval '1 h'")
    change(well, "alter table koken.run set (autovacuum_enabled = false)")
    assert wrong(koken("doctor", "--json")) == {
        "orphans": "1 running runs have no worker",
        "log strays": "1 lines lie in log_line_other, outside of their days",
        "schedules": "report should have fired 60 min ago",
        "vacuum": "autovacuum is off for koken.run",
    }


def test_a_user_with_few_rights(koken: Koken, well: str, monkeypatch: pytest.MonkeyPatch) -> None:
    user = f"koken_plain_{os.getpid()}"
    change(well, f"create role {user} login")
    try:
        change(well, f"grant usage on schema koken to {user}")
        change(well, f"grant select on all tables in schema koken to {user}")
        monkeypatch.setenv("KOKEN_DATABASE_URL", well.replace("postgres@", f"{user}@"))
        assert list(wrong(koken("doctor", "--json"))) == ["rights"]
    finally:
        change(well, f"drop owned by {user}")
        change(well, f"drop role {user}")


def test_a_pooler(koken: Koken, well: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pgbouncer(well) as pooled:
        monkeypatch.setenv("KOKEN_DATABASE_URL", pooled)
        assert list(wrong(koken("doctor", "--json"))) == ["pooler"]
        monkeypatch.setenv("KOKEN_POOLED", "1")
        assert wrong(koken("doctor", "--json")) == {"pooler": "hints do not come through a pooler"}
        monkeypatch.setenv("KOKEN_LISTEN_URL", well)
        assert wrong(koken("doctor", "--json")) == {}
    assert value(well, "select count(*) from koken.run") == 0


def test_a_full_queue_is_a_hint(koken: Koken, well: str) -> None:
    koken("run", "greet")
    koken("run", "greet")
    change(
        well,
        "update koken.run set state = 'running', worker_id = (select max(id) from koken.worker)"
        " where id = 1",
    )
    change(well, """update koken.worker set queues = '{"default": 1, "reports": 5}'""")
    said = koken("doctor")
    assert said.code == 0
    place = said.lines.index("▲ queues         The one slot of queue default is taken; 1 ready.")
    assert said.lines[place + 1].endswith("→ more slots or workers: koken worker --queue default")
