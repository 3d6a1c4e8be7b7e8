from __future__ import annotations

from typing import Any

import pytest

from koken.model.hiding import at_secret, hidden, holds_secret, masked
from koken.model.web import MASKED


@pytest.mark.parametrize(
    ("plain", "shown"),
    [
        ({"user": "anna", "password": "x"}, {"user": "anna", "password": "•••"}),
        ({"DB_PASSWORD": "x", "apiKey": "7"}, {"DB_PASSWORD": "•••", "apiKey": "•••"}),
        ({"API-Key": "x", "Authorization": "y"}, {"API-Key": "•••", "Authorization": "•••"}),
        ({"secrets": {"a": [1, "2"]}}, {"secrets": "•••"}),
        ([{"a": [{"token": "x"}]}, "token"], [{"a": [{"token": "•••"}]}, "token"]),
        (
            {"password": None, "secret": "", "token": []},
            {"password": None, "secret": "", "token": []},
        ),
        ({"token": 0, "secret": False}, {"token": 0, "secret": False}),
        ({"token_usage": {"in": 3, "out": 4}}, {"token_usage": {"in": 3, "out": 4}}),
        ({"max_tokens": "many", "tokens": ["a"]}, {"max_tokens": "many", "tokens": ["a"]}),
        ({"secretary": "x", "detokenize": "x"}, {"secretary": "x", "detokenize": "x"}),
        ({"dbpassword": "x", "APIKey2": "y"}, {"dbpassword": "•••", "APIKey2": "•••"}),
        ({"next-page-token": "x", "PassWord": "y"}, {"next-page-token": "•••", "PassWord": "•••"}),
        ("password", "password"),
        (None, None),
        ({"passenger": "anna"}, {"passenger": "anna"}),
    ],
)
def test_secrets_are_told_by_their_names(plain: Any, shown: Any) -> None:
    assert masked(plain, MASKED) == shown


def test_what_is_masked_is_a_setting() -> None:
    plain = {"iban": "DE02", "password": "x"}
    assert masked(plain, ("IBAN",)) == {"iban": "•••", "password": "x"}
    assert masked(plain, ()) == plain
    assert plain == {"iban": "DE02", "password": "x"}


SECRET = {"type": "string", "writeOnly": True}
CARD = {"type": "object", "properties": {"pin": SECRET, "label": {"type": "string"}}}
PLAIN = {"type": "object", "properties": {"pin": {"type": "string"}, "label": {"type": "string"}}}
FORM = {
    "$defs": {"Card": CARD, "Plain": PLAIN, "Tree": {"properties": {
        "leaf": {"type": "string", "format": "password"},
        "inner": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]},
    }}},
    "properties": {
        "pin": {"type": "integer", "writeOnly": True},
        "card": {"$ref": "#/$defs/Card"},
        "maybe": {"anyOf": [{"$ref": "#/$defs/Plain"}, {"$ref": "#/$defs/Card"}]},
        "cards": {"type": "array", "items": {"$ref": "#/$defs/Card"}},
        "by_name": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Card"}},
        "tree": {"$ref": "#/$defs/Tree"},
        "whole": {"$ref": "#/$defs/Plain", "writeOnly": True},
        "n": {"type": "integer"},
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("plain", "shown", "places"),
    [
        ({"pin": 0, "n": 1}, {"pin": "•••", "n": 1}, ["pin"]),
        ({"pin": None}, {"pin": None}, []),
        ({"card": {"pin": "1", "label": "a"}}, {"card": {"pin": "•••", "label": "a"}},
         ["card.pin"]),
        ({"maybe": {"pin": "1"}}, {"maybe": {"pin": "•••"}}, ["maybe.pin"]),
        ({"cards": [{"pin": "1"}, {"pin": ""}]}, {"cards": [{"pin": "•••"}, {"pin": ""}]},
         ["cards[0].pin"]),
        ({"by_name": {"x": {"pin": "1"}}}, {"by_name": {"x": {"pin": "•••"}}}, ["by_name.x.pin"]),
        ({"tree": {"inner": {"leaf": "1"}}}, {"tree": {"inner": {"leaf": "•••"}}},
         ["tree.inner.leaf"]),
        ({"whole": {"pin": "1"}}, {"whole": "•••"}, ["whole"]),
    ],
)  # fmt: skip
def test_secrets_are_told_by_the_schema(plain: Any, shown: Any, places: list[str]) -> None:
    assert masked(plain, (), FORM) == shown
    assert list(hidden(plain, (), FORM)) == places


def test_which_arguments_have_secrets_in_them() -> None:
    parts = FORM["properties"]
    assert isinstance(parts, dict)
    assert [name for name in parts if not holds_secret(parts[name], FORM)] == ["n"]
    assert at_secret(("cards", 0, "pin"), (), FORM)
    assert at_secret(("maybe", "Card", "pin"), (), FORM)
    assert not at_secret(("cards", 0, "label"), (), FORM)
