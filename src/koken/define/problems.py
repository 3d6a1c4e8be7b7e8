"""What is wrong with arguments, in words: one line for each place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from koken.errors import InvalidArguments
from koken.model.fields import Schema
from koken.model.hiding import MASK, NOTHING, at_secret, masked, secret
from koken.model.web import MASKED

SHOWN = 60
"""Characters of a wrong value that a message repeats."""

KINDS = {
    "bool": "true or false",
    "bytes": "bytes",
    "date": "a date (YYYY-MM-DD)",
    "datetime": "an instant (YYYY-MM-DDTHH:MM:SS+00:00)",
    "decimal": "a decimal number",
    "dict": "an object with named fields",
    "float": "a number",
    "frozen_set": "a list",
    "int": "a whole number",
    "list": "a list",
    "set": "a list",
    "string": "text",
    "time": "a time of day (HH:MM:SS)",
    "time_delta": "a length of time (seconds, or ISO 8601 such as PT5M)",
    "tuple": "a list",
    "uuid": "a UUID",
}
"""By the first word of pydantic's error type: what the value is not."""
PARSE_ENDINGS = (
    "_from_date_parsing",
    "_from_datetime_inexact",
    "_from_datetime_parsing",
    "_from_float",
    "_parsing",
    "_type",
)


def invalid(job: str, problems: Mapping[str, str], *, end: str = "") -> InvalidArguments:
    """The error for ``problems`` by argument path; ``end`` is a last sentence."""
    places = [f"({path}): {text}" if path else text for path, text in problems.items()]
    message = f"{job}{'' if places[0].startswith('(') else ': '}{'; '.join(places)}"
    stop = "" if message.endswith(("?", ".")) else "."
    return InvalidArguments(f"{message}{stop} {end}".rstrip(), problems)


def by_path(
    error: ValidationError, schema: Schema = NOTHING, *, about: str = "", values: bool = True
) -> dict[str, str]:
    """Each place that pydantic complains of, and why; the first reason of a place counts.

    What is wrong with a secret is not told, for that may repeat it: a message may end where
    everybody reads it. ``schema`` and ``about``, what the whole is called, say which are secrets.
    Without ``values`` none is repeated.
    """
    problems: dict[str, str] = {}
    for detail in error.errors(include_url=False):
        hushed = detail["type"] != "missing" and at_secret(
            (about, *detail["loc"]),
            MASKED,
            {"properties": {about: schema}, "$defs": schema.get("$defs", {})},
        )
        told = "does not fit" if hushed else in_words(detail, values=values)
        problems.setdefault(path_of(detail["loc"]), told)
    return problems


def path_of(location: tuple[int | str, ...]) -> str:
    """``("files", 2, "name")`` as ``files[2].name``."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def in_words(detail: ErrorDetails, *, values: bool = True) -> str:
    """One complaint of pydantic's, as people say it; with the value, or without."""
    kind = detail["type"]
    if kind == "missing":
        return "is missing"
    value = f"{shown(detail['input'])} " if values else ""
    if kind in ("enum", "literal_error"):
        expected = str(detail.get("ctx", {}).get("expected", ""))
        return f"{value}is not one of {expected.replace(' or ', ', ')}"
    for ending in PARSE_ENDINGS:
        if kind.endswith(ending) and (noun := KINDS.get(kind.removesuffix(ending))):
            return f"{value}is not {noun}"
    return f"{value.rstrip()}: {detail['msg']}" if values else str(detail["msg"])


def shown(value: Any) -> str:
    """A wrong value, short enough for a message, and without secrets."""
    text = repr(value)
    if not isinstance(value, str) and secret(text, MASKED):
        text = repr(masked(value, MASKED)) if isinstance(value, dict | list) else MASK
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
