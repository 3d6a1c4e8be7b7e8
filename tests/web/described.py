"""Whether an answer has only what the description of the API says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import httpx

from koken.web.api.application import api
from koken.web.house import House

API = "/api/v1"
SLOT = re.compile(r"\\\{\w+\\\}")
KEPT: list[Mapping[str, Any]] = []
"""The description, which is the same for every house; made once."""


def describe(house: House) -> None:
    """Keep the description that answers are compared with."""
    if not KEPT:
        KEPT.append(api(house).openapi())


async def as_described(answer: httpx.Response) -> None:
    """Raise ``AssertionError`` where an answer of the API has what nobody has described."""
    path = answer.request.url.path
    kind = answer.headers.get("content-type", "")
    if not path.startswith(API) or not kind.endswith("json") or path.endswith("/openapi.json"):
        return
    operations = operations_at(path.removeprefix(API))
    operation = operations.get(answer.request.method.lower())
    if operation is None:
        return
    said = operation["responses"].get(str(answer.status_code))
    assert said is not None, f"{answer.request.method} {path}: {answer.status_code} is undescribed"
    await answer.aread()
    schema = said["content"][kind]["schema"]
    found = sorted(undescribed(answer.json(), schema))
    assert not found, f"{answer.request.method} {path}: undescribed: {', '.join(found)}"


@lru_cache(maxsize=4096)
def operations_at(path: str) -> Mapping[str, Any]:
    """What can be done at a path; one without a slot in it goes before one that has it."""
    (described,) = KEPT
    paths = sorted(described["paths"], key=lambda each: (each.count("{"), -len(each)))
    for slot in ("[^/]+", ".+"):
        for each in paths:
            if re.fullmatch(SLOT.sub(lambda _, slot=slot: slot, re.escape(each)), path):
                return dict(described["paths"][each])
    return {}


def undescribed(value: Any, schema: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """The places of what a value has and its schema does not tell."""
    schema = resolved(schema)
    if branches := schema.get("anyOf"):
        told = [list(undescribed(value, each, at)) for each in branches if fits(value, each)]
        yield from min(told, key=len, default=[at])
    elif isinstance(value, list):
        for each in value:
            yield from undescribed(each, schema.get("items", {}), f"{at}[]")
    elif isinstance(value, dict) and "properties" in schema:
        for name, each in value.items():
            if name in schema["properties"]:
                yield from undescribed(each, schema["properties"][name], f"{at}.{name}")
            else:
                yield f"{at}.{name}"
    elif isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
        for each in value.values():
            yield from undescribed(each, schema["additionalProperties"], f"{at}.*")


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference leads to."""
    while "$ref" in schema:
        schema = KEPT[0]["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value is of the kind that a schema says."""
    kinds = {dict: "object", list: "array", type(None): "null"}
    kind = resolved(schema).get("type")
    return kind is None or kinds.get(type(value), kind) == kind
