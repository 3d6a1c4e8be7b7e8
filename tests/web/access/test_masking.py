from __future__ import annotations

from typing import Any

import pytest

from koken.model.web import MASKED
from koken.web.masking import masked


@pytest.mark.parametrize(
    ("plain", "shown"),
    [
        ({"user": "anna", "password": "x"}, {"user": "anna", "password": "•••"}),
        ({"DB_PASSWORD": "x", "apiKey": 7}, {"DB_PASSWORD": "•••", "apiKey": "•••"}),
        ({"API-Key": "x", "Authorization": "y"}, {"API-Key": "•••", "Authorization": "•••"}),
        ({"secrets": {"a": [1, 2]}}, {"secrets": "•••"}),
        ([{"a": [{"token": "x"}]}, "token"], [{"a": [{"token": "•••"}]}, "token"]),
        (
            {"password": None, "secret": "", "token": []},
            {"password": None, "secret": "", "token": []},
        ),
        ({"token": 0, "secret": False}, {"token": "•••", "secret": "•••"}),
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
