"""The root of the API: where its description is, and its lists."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from koken.web.access.door import Someone
from koken.web.api.lists import reply
from koken.web.api.strict import Strict

router = APIRouter(tags=["root"], route_class=Strict)


class RootShown(BaseModel):
    """Where to go on."""

    version: str = Field(description="The release of Koken.")
    description: str = Field(description="The address of the OpenAPI description of all routes.")
    links: dict[str, str] = Field(description="The addresses of what is read without a name.")


@router.get("/", summary="Where to go on", responses={200: {"model": RootShown}})
async def get_root(request: Request, visit: Someone) -> Response:
    """The description of all routes, and the address of each list."""
    root = f"{visit.base}{request.scope['root_path']}"
    paths = request.app.openapi()["paths"]
    names = sorted(path[1:] for path in paths if "get" in paths[path] and "{" not in path)
    return reply(
        {
            "version": request.app.version,
            "description": f"{root}{request.app.openapi_url}",
            "links": {name: f"{root}/{name}" for name in names if name},
        }
    )
