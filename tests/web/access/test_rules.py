"""Rules that console and API have in common: who hears what, and what a verb takes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from koken.model.rights import Right
from koken.views.events import of_workspace
from koken.web.access import credentials, passwords
from koken.web.access.principal import Kind, Principal
from tests.web.access.conftest import PASSWORD, csrf

NEW = "roses in summer"


def holding(**rights: set[Right]) -> Principal:
    """Somebody with rights in ``acme``, or everywhere by ``every``."""
    places = {"*" if place == "every" else place: held for place, held in rights.items()}
    return Principal(
        name="x", kind=Kind.TOKEN, rights={key: frozenset(held) for key, held in places.items()}
    )


def test_everywhere_is_of_a_right() -> None:
    starts = holding(every={Right.START}, acme={Right.READ}, beta={Right.OPERATE})
    assert [right for right in Right if starts.everywhere(right)] == [Right.START]
    assert starts.places(Right.READ) == ["acme"]
    assert starts.places(Right.START) is None


async def test_who_only_starts_is_told_of_no_counts(open_house: Any, token: Any) -> None:
    house, http = await open_house()
    starter = await token(house, "start")
    assert (await http.get("/api/v1/workspaces", headers=starter)).json() == {
        "items": [],
        "next": None,
    }
    reader = await token(house, "read", name="reader")
    (row,) = (await http.get("/api/v1/workspaces", headers=reader)).json()["items"]
    assert row["name"] == "default"


async def test_a_page_of_workspaces_has_those_that_one_reads(open_house: Any, token: Any) -> None:
    house, http = await open_house()
    async with house.db.transaction() as tx:
        await tx.execute("insert into koken.workspace (name) values ('acme')")
    house.credentials.forget()
    principal = holding(default={Right.READ}, acme={Right.START})
    await token(house, "read")

    async def session(text: str) -> Principal:
        return principal

    house.credentials.session = session
    got = await http.get("/workspaces", headers={"Cookie": "koken_session=x"})
    assert (got.status_code, "the only workspace that you see" in got.text) == (200, True)
    principal = holding(default={Right.READ}, every={Right.START})
    got = await http.get("/workspaces", headers={"Cookie": "koken_session=x"})
    assert (got.status_code, "the only workspace that you see" in got.text) == (200, True)


async def test_what_is_the_houses_is_heard_by_who_administers_it(
    open_house: Any, user: Any, token: Any, browser: Any
) -> None:
    house, http = await open_house()
    await user(house, "anna", admin="*")
    await user(house, "ben", viewer="*")
    for name, rights, heard in (
        ("reader", ("read",), False),
        ("root", ("read", "administer"), True),
    ):
        headers = await token(house, *rights, name=name)
        rows = (await http.get("/api/v1/events", headers=headers)).json()["items"]
        assert ("add user" in {row["verb"] for row in rows}) is heard, name
    for name, heard in (("ben", False), ("anna", True)):
        page = (await (await browser(http, name)).get("/events")).text
        assert ("<strong>add user</strong>" in page) is heard, name


VERBS: tuple[tuple[str, dict[str, Any], Right], ...] = (
    ("cancellations", {}, Right.OPERATE),
    ("acknowledgements", {}, Right.OPERATE),
    ("retries", {}, Right.OPERATE),
    ("reruns", {}, Right.OPERATE),
    ("forks", {}, Right.OPERATE),
    ("skips", {"step": "x"}, Right.OPERATE),
    ("resolutions", {"step": "x"}, Right.OPERATE),
    ("marks", {"step": "x", "code": 4}, Right.OPERATE),
    ("answers", {"question": "x", "value": 1}, Right.START),
    ("signals", {"name": "x"}, Right.START),
)


async def test_every_verb_takes_its_right(open_house: Any, token: Any) -> None:
    house, http = await open_house()
    run = (await http.post("/api/v1/runs", json={"job": "greet", "delay": "1h"})).json()["id"]
    lacking = {
        right: await token(house, *(each for each in Right if each != right), name=f"no-{right}")
        for right in (Right.OPERATE, Right.START)
    }
    for verb, body, right in VERBS:
        asked = {"url": f"/api/v1/runs/{run}/{verb}", "json": body}
        got = await http.post(**asked, headers=lacking[right])
        assert (verb, got.status_code, got.json()["code"]) == (verb, 403, "forbidden")
        assert f"may not {right} in workspace 'default'" in got.json()["detail"], verb
    for verb, body, right in VERBS:
        having = lacking[Right.START if right is Right.OPERATE else Right.OPERATE]
        got = await http.post(f"/api/v1/runs/{run}/{verb}", json=body, headers=having)
        assert got.status_code != 403, verb


async def test_pages_that_show_what_there_is_are_for_readers(open_house: Any, token: Any) -> None:
    house, http = await open_house()
    run = (await http.post("/api/v1/runs", json={"job": "greet", "delay": "1h"})).json()["id"]
    doer = await token(house, "operate", "start")
    reader = await token(house, "read", name="reader")
    for path in (
        f"/runs/{run}/plan/cancel",
        "/bulks/preview?q=job:greet&verb=cancel",
        "/schedules/1/backfill?since=2026-01-01&until=2026-01-02",
        "/jobs/greet/start",
    ):
        got = await http.get(path, headers=doer)
        assert (got.status_code, "may not read in workspace" in got.text) == (403, True), path
        if "start" not in path:
            got = await http.get(path, headers=reader)
            assert got.status_code != 403, path
    for path, form in (
        ("/bulks", {"verb": "cancel", "q": "job:greet", "reason": ""}),
        ("/jobs/greet/start", {"a.name": "x", "o.when": "at"}),
    ):
        assert (await http.post(path, data=form, headers=doer)).status_code == 403, path


async def test_what_somebody_changes_of_their_own_is_written_down(
    open_house: Any, user: Any, browser: Any
) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    here, _ = await browser(http, "anna"), await browser(http, "anna")
    proof = await csrf(here)
    await here.post("/account/sessions", data={"csrf": proof})
    given = {"csrf": proof, "password": PASSWORD, "new": NEW}
    assert (await here.post("/account/password", data=given)).status_code == 303
    rows = await of_workspace(house.views, workspace="default", common=True)
    assert [(row.verb, row.by) for row in rows[:2]] == [
        ("set password", "anna"),
        ("end session", "anna"),
    ]


async def test_few_passwords_are_worked_on_at_once(
    open_house: Any, user: Any, browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, http = await open_house()
    await user(house, "anna", admin="*")
    here = await browser(http, "anna")
    proof = await csrf(here)
    house.credentials.checking = asyncio.Semaphore(1)
    held: list[bool] = []
    made = passwords.hashed

    def watched(password: str, name: str) -> str:
        held.append(house.credentials.checking.locked())
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        return made(password, name)

    monkeypatch.setattr(credentials.passwords, "hashed", watched)
    given = {"csrf": proof, "password": PASSWORD, "new": NEW}
    assert (await here.post("/account/password", data=given)).status_code == 303
    added = {"csrf": proof, "name": "ben", "password": NEW, "role": "viewer", "place": "*"}
    assert (await here.post("/access/users", data=added)).status_code == 303
    assert held == [True, True]
