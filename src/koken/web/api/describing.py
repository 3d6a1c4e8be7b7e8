"""The description of the API: what all routes have in common is written here, once."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from koken.web.api.answered import WRITES
from koken.web.api.models import ProblemShown
from koken.web.api.problems import MEDIA

ABOUT = """What the terminal can do, but for migrate, prune, dev and worker. Ids are texts; instants
are ISO 8601 with offset; lists are pages with an opaque cursor; what is refused is a problem
(RFC 9457) with a `code` that stays the same."""
PROBLEMS = {
    "400": "The request cannot be read.",
    "401": "Nobody knows who asks.",
    "403": "Who asks may not do that.",
    "404": "There is no such thing here.",
    "405": "That cannot be done here; the header `Allow` says what can.",
    "409": "Something stands in the way: what, who holds it, since when.",
    "413": "The body is too large.",
    "415": "The body is of a kind that is not read here.",
    "421": "Koken does not answer under this name.",
    "422": "Something given does not fit; `problems` tells what, by its place.",
    "429": "Asked too often; `after` is how many seconds to wait.",
    "500": "Koken failed; its log has more under `id`.",
    "503": "PostgreSQL does not answer.",
}
OF_WRITES = ("409", "413", "415")
WORKSPACE = {
    "name": "Koken-Workspace",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "Where, for who may enter several workspaces; a run's number says it by itself.",
}


def describe(app: FastAPI) -> None:
    """Have ``app`` publish the description with all that its routes have in common."""

    def whole() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(
                title=app.title, version=app.version, routes=app.routes, description=ABOUT
            )
            complete(found)
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = whole  # type: ignore[method-assign]  # how FastAPI wants it done


def complete(found: dict[str, Any]) -> None:
    """Add what every route has: its problems, its headers, how to prove who asks."""
    parts = found.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    shape = ProblemShown.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= shape.pop("$defs")
    schemas["Problem"] = shape
    parts["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "session": {"type": "apiKey", "in": "cookie", "name": "koken_session"},
    }
    found["security"] = [{"token": []}, {"session": []}]
    for path in found["paths"].values():
        for method, operation in path.items():
            writes = method.upper() in WRITES
            if operation.get("security") != []:  # a signed call is of its hook's workspace
                operation.setdefault("parameters", []).append(WORKSPACE)
            for status, about in PROBLEMS.items():
                if status not in OF_WRITES or writes:
                    operation["responses"][status] = problem(about)


def problem(about: str) -> dict[str, Any]:
    """A problem among the answers of a route."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": about, "content": {MEDIA: {"schema": schema}}}


def named(route: APIRoute) -> str:
    """The name of a route in the description: that of its function."""
    return route.name
