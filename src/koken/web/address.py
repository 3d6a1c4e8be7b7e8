"""Under which address others reach us."""

from __future__ import annotations

from starlette.requests import Request

from koken.web.house import House


def base_of(request: Request) -> str:
    """What stands before each of our paths: ``url`` of the settings, else how we were asked."""
    house: House = request.app.state.house
    return house.web.url or f"{request.url.scheme}://{request.url.netloc}"
