"""Graphs as pictures of their own, with their colours in them."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from koken.views.drawingsvg import svg
from koken.views.graph import Graph

SVG = "image/svg+xml"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""Its own style, and nothing from elsewhere: no page of ours can be scripted by a picture."""
DESCRIBED: dict[str, Any] = {
    "content": {SVG: {"schema": {"type": "string"}}},
    "description": "The picture.",
}


def picture(graph: Graph) -> Response:
    """A graph as a picture."""
    headers = {"Content-Security-Policy": POLICY, "Vary": "Accept"}
    return Response(svg(graph), media_type=SVG, headers=headers)
