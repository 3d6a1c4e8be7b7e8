"""Who may give what to whom."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from koken.engine import access, accesssessions, accesstokens
from koken.errors import Conflict, Forbidden, InvalidArguments, KokenError, NotFound, Refused
from koken.model.rights import Role
from koken.views.access import sessions, tokens, users

EVERYTHING = {"*": Role.ADMIN.rights}
OF_ACME = {"acme": Role.ADMIN.rights}
OPERATES = {"*": Role.OPERATOR.rights}


@pytest.fixture
async def house(open_house: Any, user: Any) -> Any:
    """Anna administers everything, ben all of acme, cora looks on at globex."""
    opened, _ = await open_house()
    await user(opened, "anna", admin="*")
    await user(opened, "ben", admin="acme")
    await user(opened, "cora", viewer="globex")
    return opened


async def roles(house: Any) -> dict[str, dict[str, str]]:
    """Who may do what where."""
    return {each.name: dict(each.roles) for each in await users(house.views)}


async def test_roles_are_given_and_taken_by_place(house: Any) -> None:
    give: Any = {"by": "anna", "holds": EVERYTHING}
    await access.give_role(house.db, "Cora", "operator", workspace="acme", **give)
    await access.give_role(house.db, "cora", "viewer", **give)
    await access.give_role(house.db, "cora", "admin", workspace="globex", **give)
    await access.take_role(house.db, "ben", workspace="acme", **give)
    assert await roles(house) == {
        "anna": {"*": "admin"},
        "ben": {},
        "cora": {"*": "viewer", "acme": "operator", "globex": "admin"},
    }


async def test_every_change_is_written_down_with_who_and_why(house: Any) -> None:
    act: Any = {"by": "anna", "reason": "holidays", "holds": EVERYTHING}
    await access.give_role(house.db, "cora", "viewer", workspace="acme", **act)
    await access.disable(house.db, "cora", **act)
    await accesstokens.make(house.db, "ci", ["read"], workspace="acme", **act)
    await accesstokens.revoke(house.db, "ci", **act)
    text = (
        "select e.verb, e.by, w.name as place, e.detail::text as detail from koken.event e"
        " join koken.workspace w on w.id = e.workspace_id where e.reason = 'holidays' order by e.id"
    )
    found = await house.views.run(lambda tx: tx.fetch_text(text))
    assert [(row["verb"], row["by"], row["place"]) for row in found] == [
        ("give role", "anna", "acme"),
        ("disable user", "anna", "GLOBAL"),
        ("add token", "anna", "acme"),
        ("revoke token", "anna", "acme"),
    ]
    assert json.loads(found[0]["detail"]) == {
        "user": "cora",
        "role": "viewer",
        "workspace": "acme",
        "before": None,
    }
    assert "koken_" in json.loads(found[2]["detail"])["hint"]


GIVING: list[tuple[Any, str, str, type[KokenError]]] = [
    (OF_ACME, "viewer", "globex", Forbidden),
    (OF_ACME, "viewer", "*", Forbidden),
    (OF_ACME, "admin", "*", Forbidden),
    (OPERATES, "viewer", "acme", Forbidden),
    ({}, "viewer", "acme", Forbidden),
    (EVERYTHING, "owner", "acme", InvalidArguments),
    (EVERYTHING, "viewer", "nowhere", NotFound),
]


async def test_nobody_gives_what_they_have_not(house: Any) -> None:
    before = await roles(house)
    for holds, role, workspace, error in GIVING:
        given: Any = {"workspace": workspace, "holds": holds, "by": "x"}
        with pytest.raises(error):
            await access.give_role(house.db, "cora", role, **given)
        with pytest.raises(error):
            await access.add_user(house.db, "dora", "hash", role=role, **given)
    assert await roles(house) == before


MAKING: list[tuple[Any, list[str], str, type[KokenError]]] = [
    (OF_ACME, ["read"], "globex", Forbidden),
    (OF_ACME, ["read"], "*", Forbidden),
    (OPERATES, ["read"], "acme", Forbidden),
    ({"acme": ["administer", "read"]}, ["start"], "acme", Forbidden),
    (EVERYTHING, ["read"], "nowhere", NotFound),
    (EVERYTHING, [], "acme", InvalidArguments),
    (EVERYTHING, ["read", "everything"], "acme", InvalidArguments),
]


async def test_nobody_makes_a_token_that_may_more_than_they(house: Any) -> None:
    for holds, scopes, workspace, error in MAKING:
        with pytest.raises(error):
            await accesstokens.make(
                house.db, "ci", scopes, workspace=workspace, holds=holds, by="x"
            )
    assert await tokens(house.views) == []


async def test_nobody_changes_somebody_who_may_more_than_they(house: Any) -> None:
    by_ben: Any = {"holds": OF_ACME, "by": "ben"}
    for change in (
        access.disable(house.db, "anna", **by_ben),
        access.enable(house.db, "cora", **by_ben),
        access.set_password(house.db, "anna", "hash", **by_ben),
        access.set_password(house.db, "cora", "hash", **by_ben),
        access.give_role(house.db, "anna", "viewer", **by_ben),
        access.set_password(house.db, "ben", "hash", holds=OPERATES, by="cora", keep=b"x"),
    ):
        with pytest.raises(Forbidden):
            await change
    with pytest.raises(NotFound):
        await access.take_role(house.db, "cora", workspace="globex", **by_ben)
    await access.set_password(house.db, "cora", "hash", holds={}, by="cora", keep=b"hers")
    await access.give_role(house.db, "cora", "viewer", workspace="acme", **by_ben)
    with pytest.raises(Forbidden):
        await access.disable(house.db, "cora", **by_ben)
    await access.take_role(house.db, "cora", workspace="globex", by="anna")
    await access.disable(house.db, "cora", **by_ben)


async def test_a_token_is_revoked_only_where_one_administers(house: Any) -> None:
    await accesstokens.make(house.db, "Everywhere", ["read"], by="x")
    await accesstokens.make(house.db, "acmes", ["read"], workspace="acme", by="x")
    for name in ("everywhere", "nothing"):
        with pytest.raises(NotFound, match=f"there is no token '{name}' that is good"):
            await accesstokens.revoke(house.db, name, holds=OF_ACME, by="ben")
    assert await accesstokens.revoke(house.db, "acmes", holds=OF_ACME, by="ben") == "acmes"
    with pytest.raises(NotFound):
        await accesstokens.revoke(house.db, "acmes", by="x")
    number = str((await tokens(house.views))[0].id)
    assert await accesstokens.revoke(house.db, number, by="x") == "Everywhere"
    found = await tokens(house.views, revoked=True)
    assert [(each.name, each.standing, each.revoked_by) for each in found] == [
        ("acmes", "revoked", "ben"),
        ("Everywhere", "revoked", "x"),
    ]


async def test_a_name_belongs_to_one(house: Any) -> None:
    with pytest.raises(Conflict, match="there is a user 'ANNA' already"):
        await access.add_user(house.db, "ANNA", "hash", by="x")
    await accesstokens.make(house.db, "ci", ["read"], by="x")
    with pytest.raises(Conflict, match="there is a token 'CI' already"):
        await accesstokens.make(house.db, "CI", ["read"], by="x")
    await accesstokens.revoke(house.db, "ci", by="x")
    await accesstokens.make(house.db, "CI", ["read"], by="x")
    for name in ("", "an na", "a\nb", "x" * 101, "\x7f"):
        with pytest.raises(InvalidArguments, match="is no name for a user"):
            await access.add_user(house.db, name, "hash", by="x")


async def test_the_last_who_administers_everything_stays(house: Any) -> None:
    by_anna: Any = {"holds": EVERYTHING, "by": "anna"}
    for change in (
        access.disable(house.db, "anna", **by_anna),
        access.take_role(house.db, "anna", **by_anna),
        access.give_role(house.db, "anna", "operator", **by_anna),
    ):
        with pytest.raises(Refused, match="anna is the last who administers everything"):
            await change
    await access.give_role(house.db, "cora", "admin", **by_anna)
    await access.disable(house.db, "cora", **by_anna)
    with pytest.raises(Refused):
        await access.take_role(house.db, "anna", **by_anna)
    await access.enable(house.db, "cora", **by_anna)
    await access.take_role(house.db, "anna", **by_anna)
    await access.disable(house.db, "cora", by="terminal")
    assert (await roles(house))["anna"] == {}


async def test_two_who_take_each_others_role_at_once_leave_one(house: Any) -> None:
    await access.give_role(house.db, "cora", "admin", by="x")
    done = await asyncio.gather(
        access.take_role(house.db, "anna", holds=EVERYTHING, by="cora"),
        access.take_role(house.db, "cora", holds=EVERYTHING, by="anna"),
        return_exceptions=True,
    )
    assert sorted(type(each).__name__ for each in done) == ["NoneType", "Refused"]
    left = [name for name, held in (await roles(house)).items() if held.get("*") == "admin"]
    assert len(left) == 1


async def test_lists_tell_of_ones_own_workspaces_only(house: Any) -> None:
    await access.give_role(house.db, "cora", "viewer", workspace="acme", by="x")
    found = await users(house.views, ["acme"])
    assert [(each.name, dict(each.roles)) for each in found] == [
        ("anna", {"*": "admin"}),
        ("ben", {"acme": "admin"}),
        ("cora", {"acme": "viewer"}),
    ]
    assert [each.name for each in await users(house.views, ["globex"])] == ["anna", "cora"]
    for place in ("acme", "globex", "*"):
        await accesstokens.make(house.db, f"for-{place}", ["read"], workspace=place, by="x")
    assert [each.name for each in await tokens(house.views, ["acme"])] == ["for-acme"]
    assert len(await tokens(house.views)) == 3


async def test_sessions_are_listed_and_ended(house: Any, browser: Any, open_house: Any) -> None:
    _, http = await open_house()
    one, two = await browser(http, "anna"), await browser(http, "anna")
    listed = await sessions(house.views, "Anna")
    assert [(each.user, each.address) for each in listed] == [("anna", "127.0.0.1")] * 2
    assert "hash" not in listed[0].to_json()
    with pytest.raises(NotFound):
        await accesssessions.end(house.db, "ben", listed[0].id, by="x", reason=None)
    with pytest.raises(Forbidden):
        await accesssessions.end(house.db, "anna", holds=OF_ACME, by="ben", reason=None)
    ended = await accesssessions.end(house.db, "anna", listed[0].id, by="x", reason="lost")
    assert ended == 1
    standing = [(await each.get("/account")).status_code for each in (one, two)]
    assert sorted(standing) == [200, 303]
    assert await accesssessions.end(house.db, "anna", by="x", reason=None) == 1
