"""What happens to somebody while their password is being looked at, which takes its time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from koken.engine import access, sessions
from koken.views import access as views
from koken.web.access import passwords
from koken.web.house import House
from tests.web.access.conftest import PASSWORD, csrf, form

NEW = "roses in summer"
THIEFS = "mine from now on"


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Awaitable[None]]], None]:
    """Has something happen after the hash was read, and before it was compared."""
    is_right = passwords.is_right

    def arranged(happens: Callable[[], Awaitable[None]]) -> None:
        async def slow(password: str, kept: str | None) -> bool:
            monkeypatch.setattr(passwords, "is_right", is_right)
            await happens()
            return await is_right(password, kept)

        monkeypatch.setattr(passwords, "is_right", slow)

    return arranged


async def replace_password(house: House) -> None:
    """What an administrator does who knows that the password was stolen."""
    await access.set_password(house.db, "anna", passwords.hashed(NEW, "anna"), by="test")


async def test_a_password_that_is_replaced_signs_nobody_in(
    open_house: Any, user: Any, meanwhile: Any
) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    meanwhile(lambda: replace_password(house))
    got = await http.post("/sign-in", data=form())
    assert (got.status_code, "Name or password is wrong." in got.text) == (401, True)
    assert "koken_session" not in got.cookies
    assert await views.sessions(house.views, "anna") == []
    assert (await http.post("/sign-in", data=form(password=NEW))).status_code == 303


async def test_who_is_disabled_is_not_in_once_they_are_enabled(
    open_house: Any, user: Any, meanwhile: Any
) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    meanwhile(lambda: access.disable(house.db, "anna", by="test"))
    assert (await http.post("/sign-in", data=form())).status_code == 401
    await access.enable(house.db, "anna", by="test")
    assert await views.sessions(house.views, "anna") == []


async def test_a_former_password_does_not_replace_the_new_one(
    open_house: Any, user: Any, browser: Any, meanwhile: Any
) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    thief = await browser(http, "anna")
    given = {"csrf": await csrf(thief), "password": PASSWORD, "new": THIEFS}
    meanwhile(lambda: replace_password(house))
    got = await thief.post("/account/password", data=given)
    assert (got.status_code, "was changed by somebody else meanwhile" in got.text) == (409, True)
    assert (await http.post("/sign-in", data=form(password=THIEFS))).status_code == 401
    assert (await http.post("/sign-in", data=form(password=NEW))).status_code == 303


async def test_who_is_vouched_for_and_disabled_gets_no_session(open_house: Any, user: Any) -> None:
    house, _ = await open_house()
    async with house.db.transaction() as tx:
        await tx.execute(
            "insert into koken.user (name, folded, issuer, subject, created_by, disabled_at)"
            " values ('ida', 'ida', 'https://id.example', '7', 'x', koken.now())"
        )
    (ida,) = await views.users(house.views)
    made = await sessions.open_session(
        house.db, ida.id, password=None, seconds=60, address="", agent=""
    )
    assert (made, await views.sessions(house.views, "ida")) == (None, [])
