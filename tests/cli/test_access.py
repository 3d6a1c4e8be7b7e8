"""``koken user`` and ``koken token``."""

from __future__ import annotations

import io
from typing import Any

import pytest

from tests.cli.conftest import Koken, value

PASSWORD = "tulips in spring"


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts a text on standard input."""
    return lambda text: monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_users(koken: Koken, types: Any, database_url: str) -> None:
    assert koken("user", "list").lines == [
        "No users yet. The first: koken user add NAME --role admin"
    ]
    types(f"{PASSWORD}\n")
    said = koken("user", "add", "mira", "--role", "admin", "--password-stdin")
    assert (said.code, said.lines) == (0, ["mira may sign in, as admin everywhere."])
    assert value(database_url, "select password from koken.user").startswith("$argon2id$")
    types(PASSWORD)
    said = koken(
        *("user", "add", "ben", "--role", "operator", "--workspace", "acme"),
        *("--password-stdin", "--json"),
    )
    assert said.json == {"user": "ben", "role": "operator", "workspace": "acme"}
    said = koken("user", "role", "ben", "viewer", "--workspace", "globex", "--reason", "audit")
    assert said.lines == ["ben is viewer in globex."]
    said = koken("user", "role", "ben", "none", "--workspace", "acme")
    assert said.lines == ["ben has no role any more in acme."]
    ben, mira = koken("user", "list", "--json").json["items"]
    assert (ben["name"], ben["roles"], ben["created_by"]) == ("ben", {"globex": "viewer"}, "anna")
    assert (mira["name"], mira["roles"], mira["sessions"]) == ("mira", {"*": "admin"}, 0)
    assert koken("user", "disable", "ben").lines == [
        "ben is let in no more. Tokens that they made go on: koken token list"
    ]
    assert koken("user", "list").lines == [
        "NAME  ROLES             SIGNED IN  BROWSERS  BY",
        "ben   viewer in globex  disabled          0  password",
        "mira  admin everywhere  –                 0  password",
    ]
    assert koken("user", "enable", "ben").lines == ["ben may sign in again."]
    assert koken("user", "sign-out", "BEN").lines == ["ben is signed in nowhere now."]
    assert koken("user", "sign-out", "ben", "--json").json == {"user": "ben", "ended": 0}
    types(PASSWORD)
    assert koken("user", "add", "cora", "--password-stdin", "--json").json == {
        "user": "cora",
        "role": None,
        "workspace": None,
    }
    event = "select by || ' ' || verb from koken.event where reason = 'audit'"
    assert value(database_url, event) == "anna give role"


def test_the_terminal_may_take_the_last_administrator(koken: Koken, types: Any) -> None:
    types(PASSWORD)
    koken("user", "add", "mira", "--role", "admin", "--password-stdin")
    assert koken("user", "disable", "mira").code == 0


def test_passwords_are_no_arguments(koken: Koken, types: Any) -> None:
    types("")
    said = koken("user", "add", "mira")
    assert (said.code, said.err) == (
        2,
        "koken: there is no terminal to type a password at; use --password-stdin\n",
    )
    types("short")
    said = koken("user", "add", "mira", "--password-stdin")
    assert (said.code, said.err) == (2, "koken: a password has 10 to 1,000 characters\n")
    types("Miranda-of-Milan")
    said = koken("user", "add", "miranda-of-milan", "--password-stdin")
    assert (said.code, said.err) == (2, "koken: a password is not the name\n")
    assert koken("user", "list", "--json").json["items"] == []


def test_what_does_not_fit_is_told(koken: Koken, types: Any) -> None:
    types(PASSWORD)
    said = koken("user", "add", "mira", "--role", "owner", "--password-stdin")
    assert said.err == "koken: 'owner' is no role; there are viewer, operator, admin\n"
    types(f"{PASSWORD}\n{PASSWORD}")
    assert koken("user", "add", "mira", "--password-stdin").lines == [
        "mira may sign in; no role yet."
    ]
    said = koken("user", "add", "MIRA", "--password-stdin")
    assert (said.code, said.err) == (4, "koken: there is a user 'MIRA' already\n")
    for words in (("disable", "nobody"), ("role", "nobody", "viewer"), ("sign-out", "nobody")):
        said = koken("user", *words)
        assert (said.code, said.err) == (
            3,
            "koken: there is no user 'nobody'; `koken user list` lists them\n",
        )
    assert koken("user", "role", "mira", "none").err == "koken: mira has no role everywhere\n"


def test_tokens(koken: Koken) -> None:
    assert koken("token", "list").lines == [
        "No tokens yet. One is made by: koken token add NAME --may start"
    ]
    said = koken("token", "add", "ci", "--may", "read", "--may", "start", "--workspace", "acme")
    assert said.lines[0].startswith("koken_")
    assert len(said.lines[0]) == len("koken_") + 8 + 1 + 43
    assert said.err == ("koken: ci may read and start in acme. The token is shown this once.\n")
    said = koken("token", "add", "nightly", "--expires", "90d", "--json")
    assert said.json["expires_at"] is not None
    assert said.json | {"token": "koken_", "expires_at": ""} == {
        "name": "nightly",
        "token": "koken_",
        "expires_at": "",
        "rights": ["read"],
        "workspace": "*",
    }
    said = koken("token", "add", "x", "--may", "everything")
    assert said.err == ("koken: a token may do one or more of read, start, operate, administer\n")
    assert koken("token", "add", "x", "--expires", "soon").code == 2
    assert koken("token", "revoke", "1").lines == ["Token ci is revoked."]
    assert koken("token", "revoke", "ci").code == 3
    (nightly,) = koken("token", "list", "--json").json["items"]
    assert (nightly["name"], nightly["workspace"], nightly["standing"]) == ("nightly", "*", "good")
    assert "token" not in nightly
    assert "hash" not in nightly
    found = koken("token", "list", "--revoked", "--json").json["items"]
    assert [(each["name"], each["standing"]) for each in found] == [
        ("nightly", "good"),
        ("ci", "revoked"),
    ]
    assert koken("token", "list").lines[1].split()[:5] == [
        *("nightly", nightly["hint"], "read", "everywhere", "–"),
    ]


def test_the_words_below_a_word_are_told(koken: Koken) -> None:
    said = koken("user", "--help")
    assert said.code == 0
    for word in ("add", "password", "role", "disable", "enable", "sign-out", "list"):
        assert word in said.out
    assert koken("user", "ad").code == 2
