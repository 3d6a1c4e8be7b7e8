"""What a route has not declared is refused, so that nobody takes a misspelt filter for one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from koken.errors import InvalidArguments


class Strict(APIRoute):
    """A route that knows its parameters from its own declaration, and refuses all others."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with the query looked at before."""
        carry = super().get_route_handler()
        extra = (self.openapi_extra or {}).get("parameters", ())
        described = {each["name"] for each in extra if each["in"] == "query"}
        known = sorted(declared(self.dependant) | described)

        async def strict(request: Request) -> Response:
            if request.scope["query_string"]:
                refuse_unknown(request.query_params.keys(), known)
            return await carry(request)

        return strict


def declared(dependant: Dependant) -> set[str]:
    """The query parameters of a function and of what it depends on."""
    found = {field.alias for field in dependant.query_params}
    return found.union(*map(declared, dependant.dependencies))


def refuse_unknown(given: Iterable[str], known: Sequence[str]) -> None:
    """Raise ``InvalidArguments`` where something is given that a route does not know."""
    problems = {name: "is no parameter of this request" for name in given if name not in known}
    if problems:
        told = "; ".join(f"{name} {why}" for name, why in problems.items())
        there = f"It has {', '.join(known)}" if known else "It has none"
        raise InvalidArguments(f"{told}. {there}", problems)
