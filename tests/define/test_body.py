"""Bodies whose arguments are free."""

from __future__ import annotations

import pytest

from koken.define.body import Body, json_or_text
from koken.errors import InvalidArguments

BODY = Body().named("elsewhere")


def test_free_arguments_by_name() -> None:
    assert BODY.argument_names is None
    assert BODY.bind((), {"day": "2013-01-31", "n": [1, None]}) == {
        "day": "2013-01-31",
        "n": [1, None],
    }
    assert BODY.bind_plain({"n": 1}) == {"n": 1}
    assert BODY.bind_text({"n": "1", "word": "one", "text": '"1"'}) == {
        "n": 1,
        "word": "one",
        "text": "1",
    }


def test_what_cannot_be_kept() -> None:
    with pytest.raises(InvalidArguments) as caught:
        BODY.bind((), {"x": float("inf")})
    assert str(caught.value) == (
        "elsewhere: the whole.x is inf, which JSON has no form for. Nothing was started."
    )


def test_results_are_plain() -> None:
    assert BODY.dump({"a": 1}) == '{"a":1}'
    assert BODY.load({"a": 1}) == {"a": 1}


def test_named_is_a_copy() -> None:
    assert (BODY.label, BODY.named("other").label, Body().label) == ("elsewhere", "other", "job")


@pytest.mark.parametrize(
    ("text", "value"), [("5", 5), ("five", "five"), ("null", None), ("", ""), ("[1", "[1")]
)
def test_json_or_text(text: str, value: object) -> None:
    assert json_or_text(text) == value
