"""What listeners hear, on real connections."""

from __future__ import annotations

import asyncio

import pytest

from koken.engine import access, control, sessions, tokens
from koken.model.rights import Right
from koken.runtime.worker import Worker
from koken.views import access as views
from koken.web.access.principal import Principal
from koken.web.live import hub, stream
from tests.support.moments import until
from tests.web.live.conftest import Doors


async def test_a_run_is_told_at_each_change_until_its_end(doors: Doors) -> None:
    run = await doors.start("greet", name="Ada")
    async with doors.listening(f"/api/v1/runs/{run}/stream") as events:
        assert events.answer.headers["content-type"].startswith("text/event-stream")
        assert events.answer.headers["x-accel-buffering"] == "no"
        first = await events.next()
        assert (first.name, first.data["state"]) == ("run", "ready")
        await control.cancel(doors.house.db, run, by="mira", reason=None)
        last, end = await events.rest()
        assert (last.data["id"], last.data["state"]) == (str(run), "cancelled")
        assert end.name == "end"
    got = await doors.http.get(f"/api/v1/runs/{run}/stream", headers={"Last-Event-ID": end.mark})
    assert got.status_code == 204
    async with doors.listening(f"/api/v1/runs/{run}/stream", seen=last.mark) as events:
        assert [event.name for event in await events.rest()] == ["end"]
    for odd in ("x", last.mark[1:], f"{last.mark}0"):
        got = await doors.http.get(f"/api/v1/runs/{run}/stream?seen={odd}")
        assert (got.status_code, list(got.json()["problems"])) == (422, ["seen"])


async def test_lines_come_once_also_to_who_comes_back(doors: Doors, worker: Worker) -> None:
    run = await doors.start("talk", lines=3)
    path = f"/api/v1/runs/{run}/logs/stream"
    async with doors.listening(path) as events:
        told = await events.rest()
    assert [event.data["text"] for event in told[:-1]] == ["line 0", "line 1", "line 2"]
    assert told[-1].name == "end"
    async with doors.listening(path, seen=told[0].mark) as events:
        again = await events.rest()
    assert [event.mark for event in again] == [event.mark for event in told[1:]]
    got = await doors.http.get(path, headers={"Last-Event-ID": told[-1].mark})
    assert got.status_code == 204
    for odd in ("nonsense", "nonsense;end"):
        got = await doors.http.get(path, headers={"Last-Event-ID": odd})
        assert got.status_code == 422


async def test_the_lines_of_a_step_alone(doors: Doors, worker: Worker) -> None:
    run = await doors.start("nightly")
    whole = await doors.house.client.wait(run, timeout=20)
    (load, _) = await doors.house.client.steps(whole)
    async with doors.house.db.transaction() as tx:
        await tx.execute(
            "insert into koken.log_line (run_id, lease, at, level, stream, text) values"
            f" ({run}, 1, koken.now(), 'info', 'log', 'whole'),"
            f" ({load.run_id}, 1, koken.now(), 'info', 'log', 'part')"
        )
    async with doors.listening(f"/api/v1/runs/{run}/logs/stream?step=load") as events:
        line, end = await events.rest()
    assert (line.data["text"], end.name) == ("part", "end")
    got = await doors.http.get(f"/api/v1/runs/{run}/logs/stream?step=lod")
    assert got.status_code == 404


async def test_events_come_to_who_listens_and_to_who_comes_back(doors: Doors) -> None:
    runs = [await doors.start("greet") for _ in range(3)]
    async with doors.listening("/api/v1/events/stream") as events:
        begin = await events.next()
        assert begin.name == "begin"
        await control.cancel(doors.house.db, runs[0], by="mira", reason="no need")
        first = await events.next()
        assert (first.data["verb"], first.data["run"]) == ("cancel", str(runs[0]))
    for run in runs[1:]:
        await control.cancel(doors.house.db, run, by="mira", reason=None)
    async with doors.listening("/api/v1/events/stream", seen=first.mark) as events:
        heard = [await events.next(), await events.next()]
        assert [each.data["run"] for each in heard] == [str(run) for run in runs[1:]]


async def test_secrets_are_masked_as_they_come(doors: Doors) -> None:
    async with doors.listening("/api/v1/events/stream") as events:
        await events.next()
        async with doors.house.db.transaction() as tx:
            await tx.execute(
                "insert into koken.event (workspace_id, verb, by, detail)"
                """ values (1, 'retry', 'anna', '{"args": {"password": "ebb"}}')"""
            )
        told = await events.next()
        assert told.data["detail"] == {"args": {"password": "•••"}}


async def test_who_administers_the_house_no_more_hears_it_no_more(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "TICK", 0.05)
    credentials = doors.house.credentials
    credentials.good.seconds = 0.0
    token = await tokens.make(doors.house.db, "root", list(Right), by="mira")
    doors.http.headers["Authorization"] = f"Bearer {token.token}"
    async with doors.listening("/api/v1/events/stream") as events:
        assert (await events.next()).name == "begin"
        async with doors.house.db.transaction() as tx:
            await tx.execute("update koken.token set rights = '{read}'")
        await tokens.make(doors.house.db, "other", ["read"], by="mira")
        assert {event.name for event in await events.rest()} <= {"event"}
    async with doors.listening("/api/v1/events/stream") as events:
        assert (await events.next()).name == "begin"


async def test_who_leaves_is_forgotten(doors: Doors) -> None:
    run = await doors.start("greet")
    async with doors.listening(f"/api/v1/runs/{run}/stream") as events:
        await events.next()
        assert list(doors.house.hub.watched) == [f"run:{run}"]
    await until(lambda: not doors.house.hub.watched)


async def test_the_console_tells_what_its_page_has_not_seen(doors: Doors) -> None:
    run = await doors.start("greet")
    async with doors.listening(f"/live?topic=run:{run}") as events:
        first = await events.next()
        assert (first.name, first.data) == ("changed", first.mark)
    async with doors.listening(f"/live?topic=run:{run}&seen={first.mark}") as events:
        await until(lambda: doors.house.hub.watched and doors.house.hub.seen)
        await control.cancel(doors.house.db, run, by="mira", reason=None)
        changed = await events.next()
        assert changed.name == "changed"
        assert changed.mark != first.mark
        await control.acknowledge(doors.house.db, run, by="mira", reason=None)
        assert [event.name for event in await events.rest()] == ["changed", "over"]


async def test_streams_end_when_the_doors_close(doors: Doors) -> None:
    async with doors.listening("/live?topic=workspace") as events:
        await events.next()
        doors.house.hub.end()
        assert await events.rest() == []


async def test_nothing_is_to_be_watched_by_another_name(doors: Doors) -> None:
    for topic in ("run:99", "run:x", "workspace:nowhere\0", "queue:1"):
        got = await doors.http.get("/live", params={"topic": topic})
        assert got.status_code == 404, topic


async def test_a_stream_ends_when_its_token_is_revoked(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "TICK", 0.05)
    doors.house.credentials.good.seconds = 0.0
    token = await tokens.make(doors.house.db, "ci", ["read"], by="mira")
    doors.http.headers["Authorization"] = f"Bearer {token.token}"
    async with doors.listening("/live?topic=workspace") as events:
        await events.next()
        await tokens.revoke(doors.house.db, "ci", by="mira")
        assert [event.name for event in await events.rest() if event.name != "changed"] == []
    got = await doors.http.get("/api/v1/events/stream")
    assert got.status_code == 401


async def test_nothing_is_told_after_a_token_is_revoked(doors: Doors, worker: Worker) -> None:
    token = await tokens.make(doors.house.db, "ci", ["read"], by="mira")
    run = await doors.start("talk", lines=1, more=True)
    doors.http.headers["Authorization"] = f"Bearer {token.token}"
    async with doors.listening(f"/api/v1/runs/{run}/logs/stream") as events:
        assert (await events.next()).data["text"] == "line 0"
        before = doors.house.hub.rights
        await tokens.revoke(doors.house.db, "ci", by="mira")
        await until(lambda: doors.house.hub.rights != before)
        doors.go_on.set()
        assert await events.rest() == []


async def test_a_stream_ends_when_its_token_has_expired(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "TICK", 0.05)
    token = await tokens.make(doors.house.db, "ci", ["read"], seconds=3600, by="mira")
    doors.http.headers["Authorization"] = f"Bearer {token.token}"
    async with doors.listening("/api/v1/events/stream") as events:
        assert (await events.next()).name == "begin"
        await until(lambda: doors.house.credentials.known_at)
        monkeypatch.setattr(Principal, "over", property(lambda who: who.until == token.expires_at))
        async with asyncio.timeout(20):
            assert await events.rest() == []
    assert (await doors.http.get("/api/v1/events/stream")).status_code == 401


async def test_a_stream_ends_when_its_session_has_run_out(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "TICK", 0.05)
    db = doors.house.db
    await access.add_user(db, "anna", "none", role="viewer", by="mira")
    (anna,) = await views.users(db)
    kept = await sessions.open_session(
        db, anna.id, password="none", seconds=3600, address="", agent=""
    )
    doors.http.headers["Cookie"] = f"koken_session={kept}"
    async with doors.listening("/live?topic=workspace") as events:
        await events.next()
        await until(lambda: doors.house.credentials.known_at)
        (kept_until,) = [each.expires_at for each in await views.sessions(db, "anna")]
        async with db.transaction() as tx:
            await tx.execute("update koken.session set expires_at = koken.now()")
        monkeypatch.setattr(Principal, "over", property(lambda who: who.until == kept_until))
        async with asyncio.timeout(20):
            assert {event.name for event in await events.rest()} <= {"changed"}


async def test_one_who_listens_much_leaves_room_for_others(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "MOST_EACH", 1)
    mine, other = [
        {"Authorization": f"Bearer {made.token}"}
        for made in [
            await tokens.make(doors.house.db, name, ["read"], by="mira") for name in ("ci", "cd")
        ]
    ]
    path = "/api/v1/events/stream"
    async with doors.http.stream("GET", path, headers=mine) as first:
        assert first.status_code == 200
        got = await doors.http.get(path, headers=mine)
        assert (got.status_code, got.headers["retry-after"], got.json()["detail"]) == (
            429,
            "10",
            "you have 1 live views open here already",
        )
        async with doors.http.stream("GET", path, headers=other) as second:
            assert second.status_code == 200
    await until(lambda: not doors.house.hub.followers)
    async with doors.http.stream("GET", path, headers=mine) as again:
        assert again.status_code == 200


async def test_too_many_listeners_are_told_when_to_come_back(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "MOST", 0)
    got = await doors.http.get("/api/v1/events/stream")
    assert (got.status_code, got.headers["retry-after"]) == (429, "10")
    assert (await doors.http.get("/live?topic=workspace")).status_code == 429
