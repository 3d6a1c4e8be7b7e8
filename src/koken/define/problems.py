"""What is wrong with arguments, in words: one line for each place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from koken.errors import InvalidArguments

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


def by_path(error: ValidationError) -> dict[str, str]:
    """Each place that pydantic complains of, and why; the first reason of a place counts."""
    problems: dict[str, str] = {}
    for detail in error.errors(include_url=False):
        problems.setdefault(path_of(detail["loc"]), in_words(detail))
    return problems


def path_of(location: tuple[int | str, ...]) -> str:
    """``("files", 2, "name")`` as ``files[2].name``."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def in_words(detail: ErrorDetails) -> str:
    """One complaint of pydantic's, as people say it."""
    kind, value = detail["type"], shown(detail["input"])
    if kind == "missing":
        return "is missing"
    if kind in ("enum", "literal_error"):
        expected = str(detail.get("ctx", {}).get("expected", ""))
        return f"{value} is not one of {expected.replace(' or ', ', ')}"
    for ending in PARSE_ENDINGS:
        if kind.endswith(ending) and (noun := KINDS.get(kind.removesuffix(ending))):
            return f"{value} is not {noun}"
    return f"{value}: {detail['msg']}"


def shown(value: Any) -> str:
    """A wrong value, short enough for a message."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
