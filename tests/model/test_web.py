from __future__ import annotations

from typing import Any

import pytest

from koken.model.web import Web, read_web

SAID: dict[str, Any] = {
    "host": "0.0.0.0",
    "port": "7071",
    "url": "https://koken.example/",
    "hosts": "koken.internal koken.local",
    "session": "2h",
    "proxy_header": "X-Remote-User",
    "proxy_trusted": ["10.0.0.0/8", "::1"],
    "roles": {"ops": "operator", "lead": {"acme": "admin", "*": "viewer"}, "*": {"acme": "viewer"}},
}


def test_settings_are_read() -> None:
    web = read_web(SAID, Web())
    assert (web.host, web.port, web.url) == ("0.0.0.0", 7071, "https://koken.example")
    assert (web.hosts, web.session) == (("koken.internal", "koken.local"), 7200.0)
    assert web.proxy_trusted == ("10.0.0.0/8", "::1")
    assert web.roles["ops"] == {"*": "operator"}
    assert web.vouched
    assert not read_web({"proxy_header": "X"}, Web()).vouched


def test_a_secret_is_in_no_message() -> None:
    web = read_web({"client_id": "koken", "client_secret": "tulips"}, Web())
    assert web.client_secret == "tulips"
    assert "tulips" not in repr(web)


@pytest.mark.parametrize(
    ("names", "roles"),
    [
        ([], {"acme": "viewer"}),
        (["ops"], {"acme": "viewer", "*": "operator"}),
        (["lead", "ops"], {"acme": "admin", "*": "operator"}),
        (["others"], {"acme": "viewer"}),
    ],
)
def test_the_highest_role_counts(names: list[str], roles: dict[str, str]) -> None:
    assert read_web(SAID, Web()).roles_for(names) == roles


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("prot", 1, "web has no 'prot'"),
        ("port", 70000, "ports count from 0 to 65535"),
        ("port", True, "ports count from 0 to 65535"),
        ("session", 0, "web: session is 0; it is a length of time, such as 12h"),
        ("host", 1, "is no text"),
        ("url", "koken.example", "it begins with https:// or http://"),
        ("hosts", [1], "write it as a list of texts"),
        ("proxy_trusted", ["10.0.0.1/8"], "has host bits set"),
        ("roles", "admin", "write it as"),
        ("roles", {"ops": "owner"}, "'owner' is no role"),
        ("roles", {"ops": {"acme": "boss"}}, "'boss' is no role"),
    ],
)
def test_settings_that_cannot_be_are_refused(key: str, value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_web({key: value}, Web())
