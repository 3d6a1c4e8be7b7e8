"""Who may give what to whom."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from koken.engine import access, sessions, tokens
from koken.errors import Conflict, Forbidden, InvalidArguments, KokenError, NotFound, Refused
from koken.model.rights import Role
from koken.views import access as views

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
    return {each.name: dict(each.roles) for each in await views.users(house.views)}


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
    await tokens.make(house.db, "ci", ["read"], workspace="acme", **act)
    await tokens.revoke(house.db, "ci", **act)
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
    for holds, rights, workspace, error in MAKING:
        with pytest.raises(error):
            await tokens.make(house.db, "ci", rights, workspace=workspace, holds=holds, by="x")
    assert await views.tokens(house.views) == []


async def test_nobody_changes_somebody_who_may_more_than_they(house: Any) -> None:
    by_ben: Any = {"holds": OF_ACME, "by": "ben"}
    for change in (
        access.disable(house.db, "anna", **by_ben),
        access.set_password(house.db, "anna", "hash", **by_ben),
        access.give_role(house.db, "anna", "viewer", **by_ben),
    ):
        with pytest.raises(Forbidden):
            await change
    by_cora: Any = {"holds": OPERATES, "by": "cora"}
    for name, changes in (
        (
            "cora",
            (
                access.enable(house.db, "cora", **by_ben),
                access.set_password(house.db, "cora", "hash", **by_ben),
                access.take_role(house.db, "cora", workspace="globex", **by_ben),
                sessions.end(house.db, "cora", reason=None, **by_ben),
            ),
        ),
        ("ben", (access.set_password(house.db, "ben", "hash", keep=b"x", **by_cora),)),
    ):
        for change in changes:
            with pytest.raises(NotFound, match=f"there is no user '{name}'"):
                await change
    await access.set_password(house.db, "cora", "hash", holds={}, by="cora", keep=b"hers")
    await access.give_role(house.db, "cora", "viewer", workspace="acme", **by_ben)
    with pytest.raises(Forbidden):
        await access.disable(house.db, "cora", **by_ben)
    await access.take_role(house.db, "cora", workspace="globex", by="anna")
    await access.disable(house.db, "cora", **by_ben)


async def test_who_has_no_role_belongs_to_who_administers_everywhere(house: Any, user: Any) -> None:
    await user(house, "nora")
    by_ben: Any = {"holds": OF_ACME, "by": "ben"}
    for change in (
        access.set_password(house.db, "nora", "hash", **by_ben),
        access.disable(house.db, "nora", **by_ben),
        sessions.end(house.db, "nora", reason=None, **by_ben),
    ):
        with pytest.raises(NotFound, match="there is no user 'nora'"):
            await change
    with pytest.raises(Forbidden, match="nora has no role anywhere"):
        await access.give_role(house.db, "nora", "viewer", workspace="acme", **by_ben)
    with pytest.raises(Forbidden, match="only who administers everywhere"):
        await access.add_user(house.db, "olaf", "hash", **by_ben)
    by_anna: Any = {"holds": EVERYTHING, "by": "anna"}
    await access.add_user(house.db, "olaf", "hash", **by_anna)
    await access.set_password(house.db, "nora", "hash", **by_anna)
    await access.give_role(house.db, "nora", "viewer", workspace="acme", **by_anna)
    await access.give_role(house.db, "nora", "operator", workspace="acme", **by_ben)
    assert (await roles(house))["nora"] == {"acme": "operator"}


async def test_a_token_is_revoked_only_where_one_administers(house: Any) -> None:
    await tokens.make(house.db, "Everywhere", ["read"], by="x")
    await tokens.make(house.db, "acmes", ["read"], workspace="acme", by="x")
    for name in ("everywhere", "nothing"):
        with pytest.raises(NotFound, match=f"there is no token '{name}' that is good"):
            await tokens.revoke(house.db, name, holds=OF_ACME, by="ben")
    assert await tokens.revoke(house.db, "acmes", holds=OF_ACME, by="ben") == "acmes"
    with pytest.raises(NotFound):
        await tokens.revoke(house.db, "acmes", by="x")
    number = str((await views.tokens(house.views))[0].id)
    assert await tokens.revoke(house.db, number, by="x") == "Everywhere"
    found = await views.tokens(house.views, revoked=True)
    assert [(each.name, each.standing, each.revoked_by) for each in found] == [
        ("acmes", "revoked", "ben"),
        ("Everywhere", "revoked", "x"),
    ]


async def test_each_workspace_has_names_of_tokens_of_its_own(house: Any) -> None:
    for place in ("*", "globex", "acme"):
        await tokens.make(house.db, "ci", ["read"], workspace=place, by="x")
    with pytest.raises(Conflict, match="there is a token 'CI' in workspace 'acme' already"):
        await tokens.make(house.db, "CI", ["read"], workspace="acme", holds=OF_ACME, by="ben")
    with pytest.raises(InvalidArguments, match=r"several tokens.*: 1 everywhere, 2 in workspace"):
        await tokens.revoke(house.db, "ci", by="x")
    await tokens.revoke(house.db, "ci", workspace="globex", by="x")
    await tokens.revoke(house.db, "ci", holds=OF_ACME, by="ben")
    assert [(each.id, each.workspace) for each in await views.tokens(house.views)] == [(1, "*")]


async def test_a_token_that_has_expired_keeps_its_name(house: Any) -> None:
    await tokens.make(house.db, "ci", ["read"], seconds=60, by="x")
    await house.db.run(lambda tx: tx.execute("update koken.token set expires_at = created_at"))
    with pytest.raises(Conflict, match="there is a token 'ci' everywhere already"):
        await tokens.make(house.db, "ci", ["read"], by="x")


async def test_a_name_belongs_to_one(house: Any) -> None:
    with pytest.raises(Conflict, match="there is a user 'ANNA' already"):
        await access.add_user(house.db, "ANNA", "hash", by="x")
    await tokens.make(house.db, "ci", ["read"], by="x")
    with pytest.raises(Conflict, match="there is a token 'CI' everywhere already"):
        await tokens.make(house.db, "CI", ["read"], by="x")
    await tokens.revoke(house.db, "ci", by="x")
    await tokens.make(house.db, "CI", ["read"], by="x")
    for name in ("", "an na", "a\nb", "x" * 101, "\x7f", ".", ".."):
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
    assert sorted(type(each).__name__ for each in done) == ["Membership", "Refused"]
    left = [name for name, held in (await roles(house)).items() if held.get("*") == "admin"]
    assert len(left) == 1


async def test_lists_tell_of_ones_own_workspaces_only(house: Any) -> None:
    await access.give_role(house.db, "cora", "viewer", workspace="acme", by="x")
    found = await views.users(house.views, ["acme"])
    assert [(each.name, dict(each.roles)) for each in found] == [
        ("anna", {"*": "admin"}),
        ("ben", {"acme": "admin"}),
        ("cora", {"acme": "viewer"}),
    ]
    assert [each.name for each in await views.users(house.views, ["globex"])] == ["anna", "cora"]
    for place in ("acme", "globex", "*"):
        await tokens.make(house.db, f"for-{place}", ["read"], workspace=place, by="x")
    assert [each.name for each in await views.tokens(house.views, ["acme"])] == ["for-acme"]
    assert len(await views.tokens(house.views)) == 3


async def test_sessions_are_listed_and_ended(house: Any, browser: Any, open_house: Any) -> None:
    _, http = await open_house()
    one, two = await browser(http, "anna"), await browser(http, "anna")
    listed = await views.sessions(house.views, "Anna")
    assert [(each.user, each.address) for each in listed] == [("anna", "127.0.0.1")] * 2
    assert "hash" not in listed[0].to_json()
    with pytest.raises(NotFound):
        await sessions.end(house.db, "ben", listed[0].id, by="x", reason=None)
    with pytest.raises(Forbidden):
        await sessions.end(house.db, "anna", holds=OF_ACME, by="ben", reason=None)
    ended = await sessions.end(house.db, "ANNA", listed[0].id, by="x", reason="lost")
    assert ended.to_json() == {"user": "anna", "ended": 1}
    text = "select detail::text as detail from koken.event where reason = 'lost'"
    (row,) = await house.views.run(lambda tx: tx.fetch_text(text))
    assert json.loads(row["detail"]) == {"user": "anna", "ended": 1}
    standing = [(await each.get("/account")).status_code for each in (one, two)]
    assert sorted(standing) == [200, 303]
    assert (await sessions.end(house.db, "anna", by="x", reason=None)).ended == 1
