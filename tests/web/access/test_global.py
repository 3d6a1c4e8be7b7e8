"""GLOBAL holds what concerns no workspace alone: nobody chooses it, and few are told all of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from koken.client.awaiting import AsyncClient
from koken.config import Config
from koken.engine import access, queues, tokens
from koken.errors import DeclarationError, InvalidArguments, NotFound
from koken.model.web import Web, read_web
from koken.views import events, heardevents
from koken.web.house import House

HOLDS = {"*": frozenset(("read", "start", "operate", "administer"))}


async def house_of_anna(open_house: Any, user: Any) -> tuple[House, Any]:
    """A house in which something was done about users, and to a queue."""
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    await house.client.start(house.registry.get("greet"))
    await queues.pause(house.db, "default", paused=True, by="otto", reason="a move")
    return house, http


async def test_nobody_chooses_it_at_the_doors(open_house: Any, user: Any, browser: Any) -> None:
    _, http = await house_of_anna(open_house, user)
    anna = await browser(http, "anna")
    there = {"Koken-Workspace": "GLOBAL"}
    for path in ("/api/v1/events", "/api/v1/events/stream?seen=1", "/api/v1/runs"):
        got = await anna.get(path, headers=there)
        assert (got.status_code, got.json()["detail"]) == (
            404,
            "there is no workspace 'GLOBAL' here",
        ), path
    for path in ("/events?workspace=GLOBAL", "/?workspace=GLOBAL", "/live?topic=workspace:GLOBAL"):
        assert (await anna.get(path)).status_code == 404, path
    anna.cookies["koken_workspace"] = "GLOBAL"
    page = (await anna.get("/events")).text
    assert "a move" in page
    assert "add user" not in page


async def test_its_name_tells_no_more_than_another(open_house: Any, user: Any) -> None:
    house, _ = await house_of_anna(open_house, user)
    for place in ("default", "GLOBAL"):
        found = await events.of_workspace(house.views, workspace=place)
        assert [event.verb for event in found] == ["pause"], place
        told, _ = await heardevents.after(house.views, place, heardevents.Heard(0), common=False)
        assert [event.verb for event, _ in told] == ["pause"], place
        heard = await heardevents.anew(house.views, place, common=False)
        assert len(heard.beyond) == 1, place
        whole = await events.of_workspace(house.views, workspace=place, common=True)
        assert [event.verb for event in whole] == ["pause", "give role", "add user"], place


async def test_nothing_is_started_or_given_there(open_house: Any, user: Any) -> None:
    house, _ = await house_of_anna(open_house, user)
    for choose in (
        lambda: AsyncClient("postgresql://nowhere", workspace="GLOBAL"),
        lambda: house.client.using(workspace="GLOBAL"),
    ):
        with pytest.raises(InvalidArguments, match="GLOBAL is no workspace that one may choose"):
            choose()
    enqueue = f"select koken.enqueue('greet', '{json.dumps({})}', workspace => 'GLOBAL')"
    with pytest.raises(InvalidArguments, match="GLOBAL is no workspace that one may choose"):
        await house.db.run(lambda tx: tx.execute(enqueue))
    for holds in (None, HOLDS):
        place: Any = {"workspace": "GLOBAL", "holds": holds, "by": "anna"}
        with pytest.raises((InvalidArguments, NotFound), match="no workspace"):
            await access.give_role(house.db, "anna", "viewer", **place)
        with pytest.raises((InvalidArguments, NotFound), match="no workspace"):
            await tokens.make(house.db, "ci", ["read"], **place)


def test_no_setting_names_it() -> None:
    with pytest.raises(DeclarationError, match="workspace: GLOBAL is no workspace that one may"):
        Config().with_settings({"workspace": "GLOBAL"}, "koken.toml")
    with pytest.raises(ValueError, match="roles: GLOBAL is no workspace that one may choose"):
        read_web({"roles": {"ops": {"GLOBAL": "viewer"}}}, Web())
