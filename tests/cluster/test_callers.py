"""Starts inside the caller's own transaction: they count once it commits, if it does (bug-081)."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from koken.model.states import State
from tests.cluster import app, callers
from tests.cluster.cluster import Cluster
from tests.support.moments import until

TABLE = "create table public.mine (key text primary key)"
HOLDER = """
import sys
import psycopg
connection = psycopg.connect(sys.argv[1])
connection.execute("insert into public.mine (key) values ('killed')")
print(connection.execute("select koken.enqueue('quick', '{\\"n\\": 5}')").fetchone()[0], flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=callers.KINDS, ids=[kind.__name__.lower() for kind in callers.KINDS])
def kind(request: pytest.FixtureRequest) -> type[callers.Asyncpg]:
    """Each way to the database."""
    found: type[callers.Asyncpg] = request.param
    return found


async def test_in_the_callers_transaction(cluster: Cluster, kind: type[callers.Asyncpg]) -> None:
    """Rolled back, or to a savepoint: never. Committed: promptly, and with the caller's rows."""
    await cluster.rows(TABLE)
    await cluster.worker()

    caller: callers.Caller = await kind.at(cluster.url)
    await caller.insert("rolled back")
    await caller.start(app.quick)
    await caller.end(commit=False)

    caller = await kind.at(cluster.url)
    await caller.savepoint()
    await caller.start(app.quick, 1)
    await caller.back()
    await caller.insert("committed")
    run = await caller.start(app.reads, cluster.url, "committed")
    assert await cluster.states() == {}
    await caller.end(commit=True)

    ended = await cluster.client.wait(run, 20)
    assert (ended.state, ended.result) == (State.SUCCEEDED, 1)
    assert ended.started_at is not None
    assert await cluster.states() == {"succeeded": 1}
    assert cluster.facts() == []


async def test_a_caller_that_is_killed_before_its_commit(cluster: Cluster) -> None:
    """Nothing of it happens."""
    await cluster.rows(TABLE)
    await cluster.worker()
    holder = subprocess.Popen(  # noqa: ASYNC220 - a moment, once
        [sys.executable, "-c", HOLDER, cluster.url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdin is not None
    killed = int(holder.stdout.readline())
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    later = await cluster.client.start(app.quick, 6)
    assert later.id > killed
    assert (await cluster.client.wait(later, 20)).result == 6
    assert await cluster.states() == {"succeeded": 1}
    assert cluster.count("ended") == {later.id: 1}


async def test_plain_sql(cluster: Cluster) -> None:
    """One function for every language, with defaults, delays and keys."""
    await cluster.worker()
    await until(lambda: cluster.value("select count(*) > 0 from koken.job"))
    first = await cluster.value("""select koken.enqueue('quick', '{"n": 7}')""")
    assert (await cluster.client.wait(first, 20)).result == 7
    keyed = (
        "select koken.enqueue('quick', $1, idempotency_key => 'once', delay => interval '50 ms')"
    )
    second = await cluster.value(keyed, json.dumps({"n": 8}))
    assert await cluster.value(keyed, json.dumps({"n": 8})) == second
    ended = await cluster.client.wait(second, 20)
    assert (ended.result, ended.trigger.kind, ended.trigger.by) == (8, "api", "postgres")
