"""What the doctor makes of the facts: each finding is fine or not, and says what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from koken.config import Config
from koken.model.logdays import DAYS_AHEAD, partition
from koken.store import migrate
from koken.store.migrate import Standing
from koken.views.clocks import roughly
from koken.views.floor import QueueRow, WorkerRow
from koken.views.health import Holder, LogFacts, RunFacts, ServerFacts
from koken.views.words import capped, counted

OLDEST, NEWEST = 14, 18
"""Major versions of PostgreSQL that are tested."""
SKEW = 5.0
"""Seconds by which two clocks may differ."""
LONG_OPEN = 300.0
"""Seconds after which an open transaction is in the way."""
FAR_BACK = 1_000_000
"""Transactions that a slot or a standby may hold back."""
CROWDED = 0.8
"""Share of the connections from which on they become few."""
MANY_DEAD = 200_000
"""Dead rows among the runs from which on they cost time, if they are half as many as live ones."""
SILENT = 30.0
"""Seconds without a beat."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor; a good one with a remedy is a hint."""

    name: str
    good: bool
    text: str
    remedy: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "name": self.name,
            "good": self.good,
            "text": self.text,
            "remedy": self.remedy or None,
        }


def of_server(facts: ServerFacts, config: Config, at: str) -> list[Finding]:
    """Connection, version, clock, room for connections, pooler."""
    answered = f"{at} answers in {facts.answered_in * 1000:.0f} ms"
    found = [
        Finding(
            "connection",
            not facts.standby,
            f"{answered}, but is a standby",
            "connect to the primary",
        )
        if facts.standby
        else Finding("connection", True, answered),
        of_version(facts),
        of_clock(facts.ahead),
        of_connections(facts),
        of_pooler(facts, config),
    ]
    if not facts.sees_all:
        advice = "grant pg_read_all_stats to Koken's user"
        found.append(Finding("rights", False, "other users' transactions are hidden here", advice))
    return found


def of_version(facts: ServerFacts) -> Finding:
    """The server's version."""
    major = facts.number // 10000
    text = f"PostgreSQL {facts.version}"
    if major < OLDEST:
        return Finding("version", False, f"{text} is too old", f"upgrade to {OLDEST} or newer")
    return Finding("version", True, text if major <= NEWEST else f"{text}, newer than tested")


def of_clock(ahead: float) -> Finding:
    """The clock; Koken itself counts by the database's alone."""
    if abs(ahead) <= SKEW:
        return Finding("clock", True, f"the clocks differ by {abs(ahead):.1f} s")
    way = "ahead of" if ahead > 0 else "behind"
    text = f"the database's clock is {roughly(abs(ahead))} {way} this machine's"
    return Finding("clock", False, text, "let both follow NTP; Koken goes by the database's")


def of_connections(facts: ServerFacts) -> Finding:
    """How many connections are left."""
    text = f"{facts.connections} of {facts.most_connections} connections are taken"
    if facts.connections < CROWDED * facts.most_connections:
        return Finding("connections", True, text)
    return Finding("connections", False, text, "raise max_connections, or put a pooler before it")


def of_pooler(facts: ServerFacts, config: Config) -> Finding:
    """Whether a pooler stands between, and whether the settings know."""
    if facts.pooler and not config.pooled:
        advice = "set KOKEN_POOLED=1, and KOKEN_LISTEN_URL to a direct address"
        return Finding("pooler", False, "a pooler stands before the database", advice)
    if config.pooled and not config.listen_url:
        advice = "set KOKEN_LISTEN_URL to a direct address; runs start with a delay until then"
        return Finding("pooler", False, "hints do not come through a pooler", advice)
    if config.pooled:
        return Finding("pooler", True, "pooled, with a direct address for hints")
    return Finding("pooler", True, "no pooler stands between")


def of_schema(standing: Standing) -> Finding:
    """Whether the tables are those that this release knows."""
    if standing.minimum_reader > migrate.latest():
        text = (
            f"the tables are at migration {standing.version}, this Koken knows {migrate.latest()}"
        )
        return Finding("tables", False, text, "upgrade Koken here")
    if standing.pending:
        text = f"{counted(len(standing.pending), 'migration')} pending"
        return Finding("tables", False, text, "koken migrate")
    return Finding("tables", True, f"at migration {standing.version}, nothing is pending")


def of_workers(found: Sequence[WorkerRow], unserved: Sequence[str]) -> list[Finding]:
    """Whether somebody works, and on every queue."""
    silent = [row for row in found if row.standing == "suspect" or row.silent_for > SILENT]
    alive = len(found) - len(silent)
    findings = []
    if not alive:
        findings.append(Finding("workers", False, "no worker is alive", "koken worker"))
    elif silent:
        names = ", ".join(f"{row.name} ({roughly(row.silent_for)})" for row in silent)
        text = f"{counted(alive, 'worker')} alive; silent: {names}"
        findings.append(
            Finding("workers", False, text, "look at its log and its way to the database")
        )
    else:
        findings.append(Finding("workers", True, f"{counted(alive, 'worker')} alive"))
    if unserved:
        names = ", ".join(unserved)
        advice = f"koken worker --queue {unserved[0]}"
        findings.append(
            Finding("queues", False, f"runs wait in {names}, which no worker serves", advice)
        )
    return findings


def of_queues(found: Sequence[QueueRow]) -> list[Finding]:
    """Queues in which runs wait for a slot: no fault, but good to know."""
    return [
        Finding(
            "queues", True, taken(row), f"more slots or workers: koken worker --queue {row.name}"
        )
        for row in found
        if row.full
    ]


def taken(row: QueueRow) -> str:
    """That a queue is full, in a sentence."""
    many = f"All {row.slots} slots of queue {row.name} are"
    told = many if row.slots > 1 else f"The one slot of queue {row.name} is"
    if row.stuck_for is not None:
        told += f" taken, and for {roughly(row.stuck_for)} none has come free"
    else:
        told += " taken"
    return f"{told}; {capped(row.ready)} ready."


def of_holders(found: Sequence[Holder]) -> list[Finding]:
    """What keeps dead rows alive: the claim grows slower with every one."""
    if not found:
        return [Finding("horizon", True, "no transaction is open for more than 5 min")]
    return [Finding("horizon", False, *held(each)) for each in found]


def held(each: Holder) -> tuple[str, str]:
    """One holder in words, and how to get rid of it."""
    since = roughly(each.seconds) if each.seconds is not None else ""
    match each.kind:
        case "transaction":
            program = f" ({each.program})" if each.program else ""
            text = f"pid {each.name} of {each.owner}{program} has a transaction open for {since}"
            return f"{text}, {each.state}", f"select pg_terminate_backend({each.name})"
        case "prepared":
            text = f"transaction {each.name!r} of {each.owner} is prepared for {since}"
            return text, f"commit prepared or rollback prepared '{each.name}'"
        case "slot":
            text = (
                f"replication slot {each.name} ({each.state}) holds back {each.age:,} transactions"
            )
            return (
                text,
                f"let its reader catch up, or select pg_drop_replication_slot('{each.name}')",
            )
    text = f"standby {each.name} holds back {each.age:,} transactions by its feedback"
    return text, "end its long queries, or set hot_standby_feedback = off there"


def of_log(facts: LogFacts) -> list[Finding]:
    """Whether the coming days have their partitions, and whether lines went astray."""
    today = facts.now.date()
    days = [partition(today + timedelta(days=ahead)) for ahead in range(DAYS_AHEAD)]
    missing = [day for day in days if day not in facts.partitions]
    text = f"missing: {', '.join(missing)}" if missing else "today and the next days have theirs"
    advice = "koken prune makes them now, a live worker within the hour" if missing else ""
    found = [Finding("log partitions", not missing, text, advice)]
    if facts.strays:
        text = f"{capped(facts.strays)} lines lie in log_line_other, outside of their days"
        advice = "koken prune moves those of today; older ones go when their time is over"
        found.append(Finding("log strays", False, text, advice))
    return found


def of_runs(facts: RunFacts, *, autovacuum: bool) -> list[Finding]:
    """Whether the table of runs is tidied up, and whether each running run has somebody."""
    text = f"{facts.live:,} rows, {facts.dead:,} dead"
    if not autovacuum or facts.switched_off:
        where = "for koken.run" if facts.switched_off else "on this server"
        found = Finding("vacuum", False, f"autovacuum is off {where}", "switch it on")
    elif facts.dead > MANY_DEAD and facts.dead > facts.live / 2:
        found = Finding("vacuum", False, text, "vacuum koken.run, and see what holds the horizon")
    else:
        found = Finding("vacuum", True, text)
    if not facts.orphans:
        return [found, Finding("orphans", True, "every running run has a worker")]
    text = f"{capped(facts.orphans)} running runs have no worker"
    return [found, Finding("orphans", False, text, "a live worker takes them over within a minute")]


def of_schedules(
    problems: Sequence[tuple[str, str]], late: Sequence[tuple[str, float]]
) -> list[Finding]:
    """Whether every schedule fires."""
    found = [
        Finding("schedules", False, f"{job}: {problem}", "mend its expression or zone")
        for job, problem in problems
    ]
    for job, seconds in late:
        text = f"{job} should have fired {roughly(seconds)} ago"
        found.append(Finding("schedules", False, text, "see whether a worker is alive"))
    return found or [Finding("schedules", True, "none is late")]
