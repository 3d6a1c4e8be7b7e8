"""What may be stored, and how: values as JSON that PostgreSQL takes, texts with odd parts escaped.

Arguments and results are refused when they cannot be kept whole; errors and log lines are never
refused, their odd characters are shown in an escaped form and long ones are cut.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json, to_json

from koken.model.secretvalues import ASTERISKS, secret_within

VALUE_LIMIT = 4 * 1024 * 1024
"""Bytes; the largest arguments or result, as JSON."""
MESSAGE_LIMIT = 10_000
"""Characters of an error's message that are kept."""
TRACEBACK_LIMIT = 40_000
"""Characters of a traceback that are kept: its end, where the cause stands."""
LINE_LIMIT = 8_000
"""Characters of a log line; longer ones go on in the next."""

SURROGATE = "{name} holds a lone surrogate, which is no character"
DIGITS = re.compile(r"\d{4000}")
ODD = re.compile("[\x00\ud800-\udfff]")


class Unstorable(ValueError):
    """A value that cannot be kept whole; the message names the place and what is wrong there."""


def encode(value: Any, *, name: str) -> str:
    """``value`` as JSON text; ``name`` is what it is, for the message ("the result").

    Raises ``Unstorable`` for NUL characters, lone surrogates, NaN, infinity, values that JSON
    has no form for, and more than ``VALUE_LIMIT`` bytes.
    """
    if value is None:
        return "null"
    try:
        text = to_json(value, inf_nan_mode="constants").decode()
    except UnicodeEncodeError:
        raise Unstorable(SURROGATE.format(name=name)) from None
    except (
        Exception
    ) as error:  # pydantic-core raises several kinds, and a user's own serializer any
        raise Unstorable(surrogate_or(error, name)) from None
    if ASTERISKS in text and (place := secret_within(value, name)):
        raise Unstorable(
            f"{place} is a secret of pydantic, of which only asterisks would be kept; say its type "
            "where it is declared, or give its get_secret_value()"
        )
    if len(text) > VALUE_LIMIT:
        raise Unstorable(
            f"{name} is {len(text):,} bytes as JSON; the limit is {VALUE_LIMIT:,}. "
            "Store it elsewhere and keep its address"
        )
    if "\\u0000" in text or "NaN" in text or "Infinity" in text:
        check(from_json(text), name)
    if DIGITS.search(text):
        refuse_unreadable(text, name)
    return text


def refuse_unreadable(text: str, name: str) -> None:
    """Raise ``Unstorable`` for numbers so long that Python does not read them back."""
    try:
        json.loads(text)
    except ValueError:
        raise Unstorable(
            f"{name} holds a number of more than 4300 digits, which cannot be read back"
        ) from None


def decode_whatever(text: str) -> Any:
    """The value of a JSON text, or the text where Python cannot read it: lists must not break."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def surrogate_or(error: Exception, name: str) -> str:
    """The message for a failed encoding."""
    if "surrogate" in str(error):
        return SURROGATE.format(name=name)
    return f"{name} cannot be stored as JSON: {error}"


def check(value: Any, path: str) -> None:
    """Raise ``Unstorable`` with the path of the first place that PostgreSQL would refuse."""
    if isinstance(value, str):
        if "\x00" in value:
            raise Unstorable(
                f"{path} holds a NUL character (U+0000), which PostgreSQL cannot store"
            )
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise Unstorable(f"{path} is {value}, which JSON has no form for")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            check(key, f"a key of {path}")
            check(item, f"{path}.{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            check(item, f"{path}[{number}]")


def decode(text: str | None) -> Any:
    """The value of a JSON text; None for none."""
    return None if text is None else from_json(text)


def clean(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """``text`` with NUL and lone surrogates shown as escapes, cut to ``limit`` characters."""
    if len(text) > limit:
        text = f"{text[:limit]}… (cut: {len(text):,} characters)"
    return escaped(text)


def clean_end(text: str, limit: int = TRACEBACK_LIMIT) -> str:
    """As ``clean``, but keeps the end."""
    if len(text) > limit:
        text = f"… (cut: {len(text):,} characters)\n{text[-limit:]}"
    return escaped(text)


def escaped(text: str) -> str:
    """``text`` with what PostgreSQL cannot store shown as escapes."""
    return ODD.sub(
        lambda odd: f"\\x{ord(odd[0]):02x}" if odd[0] == "\x00" else f"\\u{ord(odd[0]):04x}", text
    )
