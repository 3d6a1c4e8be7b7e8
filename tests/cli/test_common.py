"""The options that stand anywhere on the command line."""

from __future__ import annotations

import getpass

import pytest

from koken.cli.common import Common, hoist, os_user
from koken.errors import InvalidArguments


@pytest.mark.parametrize(
    "words",
    [
        ["--app", "shop:app", "--json", "runs", "state:failed"],
        ["runs", "--json", "state:failed", "--app=shop:app"],
        ["runs", "state:failed", "--app", "shop:app", "--json"],
    ],
)
def test_before_and_after(words: list[str]) -> None:
    assert hoist(words) == (Common(app="shop:app", json=True), ["runs", "state:failed"])


def test_who_and_where() -> None:
    common, rest = hoist(["cancel", "5", "--by", "anna", "--workspace=acme"])
    assert (common.by, common.workspace, common.who, rest) == (
        "anna",
        "acme",
        "anna",
        ["cancel", "5"],
    )


def test_what_follows_two_dashes_is_left_alone() -> None:
    assert hoist(["run", "--", "--json"]) == (Common(), ["run", "--", "--json"])


@pytest.mark.parametrize("words", [["runs", "--app"], ["--app", "--json", "runs"]])
def test_option_without_its_value(words: list[str]) -> None:
    with pytest.raises(InvalidArguments, match=r"^--app wants a value: --app NAME$"):
        hoist(words)


def test_nobody_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "root")
    assert Common().who == "root"

    def unknown() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", unknown)
    assert os_user().startswith("uid ")
