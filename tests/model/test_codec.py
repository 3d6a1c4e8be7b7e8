"""What may be stored, and how odd parts are shown: literal values."""

from __future__ import annotations

from typing import Any

import pytest

from koken.model.codec import (
    VALUE_LIMIT,
    Unstorable,
    clean,
    clean_end,
    decode,
    decode_whatever,
    encode,
)


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        2**70,
        899999999999999990,
        -9223372036854775808,
        1.5,
        "ä\n",
        [1, [2]],
        {"a": {"b": 1}},
    ],
)
def test_values_come_back_exactly(value: Any) -> None:
    """bug-006."""
    assert decode(encode(value, name="the result")) == value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1, "x\x00y"]}, "the result.a[1] holds a NUL character"),
        ({"a\x00": 1}, "a key of the result holds a NUL character"),
        ("\ud800", "the result holds a lone surrogate"),
        ([float("nan")], "the result[0] is nan"),
        (float("-inf"), "the result is -inf"),
        (object(), "the result cannot be stored as JSON"),
        pytest.param(
            10**5000, "the result holds a number of more than 4300 digits", id="long number"
        ),
        pytest.param("x" * VALUE_LIMIT, f"the limit is {VALUE_LIMIT:,}", id="large"),
    ],
)
def test_what_cannot_be_kept_whole_is_refused_with_its_place(value: Any, message: str) -> None:
    """bug-001."""
    with pytest.raises(Unstorable) as caught:
        encode(value, name="the result")
    assert message in str(caught.value)


def test_texts_are_shown_with_their_odd_parts_escaped_and_cut() -> None:
    """bug-004."""
    assert clean("a\x00b\ud800c") == "a\\x00b\\ud800c"
    assert clean("x" * 20, 10) == "xxxxxxxxxx… (cut: 20 characters)"
    assert clean_end("first\n" + "x" * 20, 5) == "… (cut: 26 characters)\nxxxxx"


def test_what_python_cannot_read_is_left_as_text() -> None:
    long = "1" + "0" * 5000
    assert decode_whatever('{"a": 1}') == {"a": 1}
    assert decode_whatever(long) == long
    assert decode_whatever("[" * 100_000) == "[" * 100_000
