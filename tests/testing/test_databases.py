from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import psycopg
import pytest

from koken import App
from koken.testing import TestClient
from koken.testing.databases import Place, template_name
from tests.testing.conftest import Hire

app = App("databases")


@app.job
def one() -> int:
    return 1


def databases(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        return {str(row[0]) for row in connection.execute("select datname from pg_database")}


def test_database_is_gone_in_the_end(client_of: Hire, postgres_url: str) -> None:
    with TestClient(app) as client:
        name = client.stage.place.name
        assert name in databases(postgres_url)
        assert template_name("koken") in databases(postgres_url)
    assert name not in databases(postgres_url)


def test_template_is_made_once_by_many(postgres_url: str) -> None:
    schema = "many_at_once"
    places = [Place.new() for _ in range(4)]

    async def make_all() -> None:
        await asyncio.gather(*(place.make(schema) for place in places))
        await asyncio.gather(*(place.drop() for place in places))

    asyncio.run(make_all())
    found = databases(postgres_url)
    assert template_name(schema) in found
    assert not found & {place.name for place in places}
    assert not {name for name in found if name.endswith("_new")}


def test_settings_of_the_app_count_but_its_database_does_not(client_of: Hire) -> None:
    other = App("other", database_url="postgresql://nowhere/", schema="jobs", pooled=True)
    job = other.job(lambda: "here", name="where")
    client = client_of(other)
    assert client.run(job).result == "here"
    with psycopg.connect(client.database_url) as connection:
        row = connection.execute("select count(*) from jobs.run").fetchone()
    assert row == (1,)


def test_an_unreachable_server_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOKEN_TEST_DATABASE_URL", "postgresql://postgres@127.0.0.1:1/")
    with pytest.raises(Exception, match="PostgreSQL does not answer"):
        TestClient(app)


PROGRAM = """
from tests.testing.test_databases import app, one
from koken.testing import TestClient
for _ in range(2):
    with TestClient(app) as client:
        print(client.run(one).result, client.database_url.partition("/koken_test")[0])
"""


def test_own_server_is_started_once_and_ends_with_the_process() -> None:
    without = {key: value for key, value in os.environ.items() if not key.startswith("KOKEN_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=without
    )
    first, second = done.stdout.splitlines()
    assert first == second
    url = first.removeprefix("1 ")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(f"{url}/postgres", connect_timeout=5)
