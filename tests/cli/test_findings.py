"""What the doctor makes of the facts, one by one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from koken.config import Config
from koken.store.migrate import Standing, migrations
from koken.views import findings
from koken.views.findings import Finding
from koken.views.floor import QueueRow, WorkerRow
from koken.views.health import Holder, LogFacts, RunFacts, ServerFacts

NOW = datetime(2026, 3, 8, 12, tzinfo=UTC)
GOOD = {
    "version": "18.6", "number": 180006, "answered_in": 0.002, "ahead": 0.01, "connections": 5,
    "most_connections": 100, "autovacuum": True, "sees_all": True, "standby": False,
    "pooler": False,
}  # fmt: skip


def server(config: Config | None = None, **facts: Any) -> list[Finding]:
    """What is wrong with a server."""
    found = findings.of_server(ServerFacts(**{**GOOD, **facts}), config or Config(), "db:5432/x")
    return [each for each in found if not each.good]


def test_a_good_server() -> None:
    assert server() == []
    assert server(number=200000) == []


@pytest.mark.parametrize(
    ("facts", "name", "text", "remedy"),
    [
        ({"standby": True}, "connection", "db:5432/x answers in 2 ms, but is a standby",
         "connect to the primary"),
        ({"number": 130010, "version": "13.10"}, "version", "PostgreSQL 13.10 is too old",
         "upgrade to 14 or newer"),
        ({"ahead": -90.0}, "clock", "the database's clock is 90 s behind this machine's",
         "let both follow NTP; Koken goes by the database's"),
        ({"connections": 80}, "connections", "80 of 100 connections are taken",
         "raise max_connections, or put a pooler before it"),
        ({"pooler": True}, "pooler", "a pooler stands before the database",
         "set KOKEN_POOLED=1, and KOKEN_LISTEN_URL to a direct address"),
        ({"sees_all": False}, "rights", "other users' transactions are hidden here",
         "grant pg_read_all_stats to Koken's user"),
    ],
)  # fmt: skip
def test_a_bad_server(facts: dict[str, Any], name: str, text: str, remedy: str) -> None:
    assert server(**facts) == [Finding(name, False, text, remedy)]


def test_pooled() -> None:
    (found,) = server(Config(pooled=True), pooler=True)
    assert found.remedy.startswith("set KOKEN_LISTEN_URL")
    assert server(Config(pooled=True, listen_url="postgresql://x"), pooler=True) == []


def test_tables() -> None:
    latest = migrations()[-1].number
    assert findings.of_schema(Standing(latest, 1, ())).good
    pending = findings.of_schema(Standing(0, 0, migrations()))
    assert (pending.good, pending.remedy) == (False, "koken migrate")
    newer = findings.of_schema(Standing(9999, 9999, ()))
    assert (newer.good, newer.remedy) == (False, "upgrade Koken here")


def worker(**facts: Any) -> WorkerRow:
    """A worker."""
    values = {
        "id": 1, "name": "w", "host": "h", "pid": 1, "app": "", "version": "", "queues": {},
        "slots": 1, "busy": 0, "started_at": NOW, "beat_at": NOW, "silent_for": 1.0,
        "standing": "live",
    }  # fmt: skip
    return WorkerRow(**{**values, **facts})


def test_workers() -> None:
    assert findings.of_workers([worker()], []) == [Finding("workers", True, "1 worker alive")]
    assert findings.of_workers([], [])[0].remedy == "koken worker"
    (silent,) = findings.of_workers([worker(), worker(name="b", silent_for=45.0)], [])
    assert (silent.good, silent.text) == (False, "1 worker alive; silent: b (45 s)")
    (_, unserved) = findings.of_workers([worker()], ["reports"])
    assert unserved.text == "runs wait in reports, which no worker serves"
    assert unserved.remedy == "koken worker --queue reports"


@pytest.mark.parametrize(
    ("facts", "text", "remedy"),
    [
        (("transaction", "77", "anna", "psql", "idle in transaction", 600.0, 0),
         "pid 77 of anna (psql) has a transaction open for 10 min, idle in transaction",
         "select pg_terminate_backend(77)"),
        (("prepared", "t1", "anna", "", "prepared", 7200.0, 5),
         "transaction 't1' of anna is prepared for 2 h",
         "commit prepared or rollback prepared 't1'"),
        (("slot", "s1", "", "", "inactive", None, 2_000_000),
         "replication slot s1 (inactive) holds back 2,000,000 transactions",
         "let its reader catch up, or select pg_drop_replication_slot('s1')"),
        (("standby", "b", "repl", "", "streaming", None, 2_000_000),
         "standby b holds back 2,000,000 transactions by its feedback",
         "end its long queries, or set hot_standby_feedback = off there"),
    ],
)  # fmt: skip
def test_what_holds_the_horizon(facts: tuple[Any, ...], text: str, remedy: str) -> None:
    names = ("kind", "name", "owner", "program", "state", "seconds", "age")
    holder = Holder(**dict(zip(names, facts, strict=True)))
    assert findings.of_holders([holder]) == [Finding("horizon", False, text, remedy)]
    assert findings.of_holders([])[0].good


def test_log() -> None:
    days = frozenset({"log_line_20260308", "log_line_20260309", "log_line_20260310"})
    assert all(each.good for each in findings.of_log(LogFacts(partitions=days, now=NOW, strays=0)))
    one_missing = LogFacts(partitions=days - {"log_line_20260309"}, now=NOW, strays=1001)
    missing, strays = findings.of_log(one_missing)
    assert (missing.good, missing.text) == (False, "missing: log_line_20260309")
    assert strays.text == "1,000+ lines lie in log_line_other, outside of their days"


def runs(*, autovacuum: bool = True, **facts: Any) -> list[str]:
    """What is wrong with the table of runs."""
    values = {"live": 10, "dead": 5, "last_autovacuum": None, "switched_off": False, "orphans": 0}
    found = findings.of_runs(RunFacts(**{**values, **facts}), autovacuum=autovacuum)
    return [each.text for each in found if not each.good]


def test_runs() -> None:
    assert runs() == []
    assert runs(autovacuum=False) == ["autovacuum is off on this server"]
    assert runs(switched_off=True) == ["autovacuum is off for koken.run"]
    assert runs(live=400_000, dead=250_000) == ["400,000 rows, 250,000 dead"]
    assert runs(live=4_000_000, dead=250_000) == []
    assert runs(orphans=2) == ["2 running runs have no worker"]
    facts = RunFacts(live=0, dead=0, last_autovacuum=None, switched_off=False, orphans=1)
    assert findings.of_runs(facts, autovacuum=True)[1].remedy.endswith("within a minute")


def test_full_queues() -> None:
    """bug-037: a hint, and no fault."""
    values = {"name": "q", "running": 2, "ready": 1, "slots": 2, "max_running": None, "rate": None}
    values |= {"burst": 1, "paused_at": None, "paused_by": None, "pause_reason": None}
    (hint,) = findings.of_queues([QueueRow(**values), QueueRow(**{**values, "ready": 0})])
    assert (hint.good, hint.text) == (True, "All 2 slots of queue q are taken; 1 ready.")
    assert hint.remedy == "more slots or workers: koken worker --queue q"
    for seconds, text in (
        (59.0, "All 2 slots of queue q are taken; 1 ready."),
        (840.0, "All 2 slots of queue q are taken, and for 14 min none has come free; 1 ready."),
    ):
        (hint,) = findings.of_queues([QueueRow(**values, taken_for=seconds)])
        assert hint.text == text


def test_schedules() -> None:
    assert findings.of_schedules([], [])[0].good
    problem, late = findings.of_schedules([("a", "no zone")], [("b", 600.0)])
    assert (problem.text, late.text) == ("a: no zone", "b should have fired 10 min ago")
