"""Bodies of requests as plain values, read once and without a detour."""

from __future__ import annotations

from typing import Any

from fastapi import HTTPException
from pydantic_core import from_json
from starlette.requests import Request

from koken.errors import InvalidArguments

JSON = ("application/json", "")


async def fields(request: Request, known: tuple[str, ...]) -> dict[str, Any]:
    """The fields of a JSON object, none of which is unknown.

    Raises ``InvalidArguments``, and an ``HTTPException`` for what is no JSON.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in JSON and not kind.endswith("+json"):
        raise HTTPException(415, f"the body is {kind}; it is to be application/json")
    try:
        found = from_json(await request.body(), allow_inf_nan=False)
    except ValueError:
        raise HTTPException(400) from None
    if not isinstance(found, dict):
        raise InvalidArguments("the body is no object", {"body": "is no object with named fields"})
    problems = {name: "is no field of this request" for name in found if name not in known}
    if problems:
        told = "; ".join(f"{name} {why}" for name, why in problems.items())
        raise InvalidArguments(f"{told}. It has {', '.join(known)}", problems)
    return found


def described(properties: dict[str, Any], *, required: tuple[str, ...] = ()) -> dict[str, Any]:
    """What ``fields`` reads, for the description of a route."""
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
