"""What machines ask: health, readiness, figures."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from koken.engine import register
from koken.engine.register import Label
from koken.errors import DatabaseUnreachable
from koken.store.database import Database
from koken.views import vitals
from tests.web.api.yard import open_yard, start, token

OpenHouse = Callable[..., Any]


def figures(text: str) -> dict[str, float]:
    """Figures by their names and labels."""
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


async def test_a_process_lives_and_is_ready(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    assert (await http.get("/health")).json() == {"alive": True}
    got = await http.get("/ready")
    assert (got.status_code, got.json()) == (200, {"ready": True})


async def test_it_is_not_ready_where_tables_are_missing(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    async with house.db.transaction() as tx:
        await tx.execute("delete from koken.migration where number = 6")
    got = await http.get("/ready")
    assert (got.status_code, got.json()) == (
        503, {"ready": False, "why": "the tables are not those of this release"},
    )  # fmt: skip


async def test_it_lives_and_is_not_ready_without_a_database(
    open_house: OpenHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, http = await open_yard(open_house)

    async def refused(_: Database) -> Any:
        raise DatabaseUnreachable("no answer from db.secret.example")

    monkeypatch.setattr(Database, "connect", refused)
    monkeypatch.setattr(Database, "take", lambda _: None)
    assert (await http.get("/health")).status_code == 200
    got = await http.get("/ready")
    assert (got.status_code, got.json()) == (
        503, {"ready": False, "why": "PostgreSQL does not answer"},
    )  # fmt: skip
    assert figures((await http.get("/metrics")).text)["koken_database_up"] == 0


async def test_figures(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    label = Label(name="w-7", host="h", pid=1, app="yard", version="1")
    worker = await register.register(house.db, label, {"default": 5})
    for _ in range(3):
        await start(http, "one")
    await start(http, "lift")
    await start(http, "lift")
    async with house.db.transaction() as tx:
        await tx.execute(
            f"update koken.run set state = 'running', worker_id = {worker}, lease = 1 where id = 1;"
            "update koken.run set state = 'failed', finished_at = koken.now() where id = 2;"
            f"update koken.worker set busy = 1 where id = {worker};"
            "update koken.run set rank = koken.now() - interval '1 h' where id = 3;"
            "update koken.schedule set next_at = koken.now() - interval '2 min' where id = 1"
        )
    got = await http.get("/metrics")
    assert got.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = figures(got.text)
    assert {name: found[name] for name in found if re.match("koken_(?!http|oldest)", name)} == {
        "koken_database_up": 1,
        'koken_runs{queue="default",state="running"}': 1,
        'koken_runs{queue="default",state="ready"}': 2,
        'koken_workers{standing="live"}': 1,
        "koken_slots": 5,
        "koken_slots_used": 1,
        "koken_runs_waiting": 0,
        "koken_runs_in_line": 1,
        "koken_runs_failed_open": 1,
        "koken_schedules_late": 1,
    }
    assert 3600 <= found['koken_oldest_ready_seconds{queue="default"}'] < 3700
    assert found["process_start_time_seconds"] > 0


async def test_requests_are_counted_by_route(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    run = await start(http, "one")
    for path in (f"/api/v1/runs/{run}", "/api/v1/runs/77", "/api/v1/nowhere/1", "/nothing"):
        await http.get(path)
    await http.request("BREW", "/api/v1/runs")
    found = figures((await http.get("/metrics")).text)
    counted = {
        name.removeprefix("koken_http_requests_total"): value
        for name, value in found.items()
        if name.startswith("koken_http_requests_total")
    }
    assert counted['{method="GET",route="/api/v1/runs/{run}",status="200"}'] == 1
    assert counted['{method="GET",route="/api/v1/runs/{run}",status="404"}'] == 1
    assert counted['{method="POST",route="/api/v1/runs",status="201"}'] == 1
    assert not any("77" in name or "nowhere" in name or "BREW" in name for name in counted)
    assert found['koken_http_request_seconds_count{method="POST",route="/api/v1/runs"}'] == 1


async def test_figures_are_read_once_in_five_seconds(
    open_house: OpenHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, http = await open_yard(open_house)
    read = []
    real = vitals.vitals

    async def counted(db: Database) -> Any:
        read.append(db)
        return await real(db)

    monkeypatch.setattr(vitals, "vitals", counted)
    for _ in range(3):
        await http.get("/metrics")
    assert len(read) == 1


async def test_strangers_get_no_figures(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house, loopback=False)
    everywhere = await token(house, "read", name="scraper")
    somewhere = await token(house, "read", workspace="default", name="one")
    inside = http._transport
    assert isinstance(inside, httpx.ASGITransport)
    transport = httpx.ASGITransport(inside.app, client=("10.1.2.3", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://koken.example") as far:
        assert (await far.get("/metrics")).status_code == 401
        assert (await far.get("/metrics", headers=somewhere)).status_code == 403
        assert (await far.get("/metrics", headers=everywhere)).status_code == 200
        assert (await far.get("/health")).status_code == 200
    proxied = {"X-Forwarded-For": "10.1.2.3"}
    assert (await http.get("/metrics", headers=proxied)).status_code == 401
    assert (await http.get("/metrics", headers={"Host": "evil.example"})).status_code == 401
    assert (await http.get("/metrics")).status_code == 200
