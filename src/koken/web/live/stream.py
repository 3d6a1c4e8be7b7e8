"""Answers that go on: server-sent events for as long as somebody listens and may."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Protocol

from fastapi import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from koken.errors import DatabaseUnreachable, KokenError
from koken.model.rights import Right
from koken.web.access import door
from koken.web.house import House
from koken.web.live.hub import Changes
from koken.web.live.topics import Topic
from koken.web.visit import Visit

log = logging.getLogger("koken.web")
TICK = 15.0
"""Seconds of silence after which a comment is sent, so that no proxy takes the line for dead."""
LONGEST = 900.0
"""Seconds after which an answer ends; whoever still listens comes back and is let in anew."""
RETRY = 2000
"""Milliseconds after which a browser comes back by itself."""
COMMENT = ":\n\n"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Ticks(Protocol):
    """Makes the text of an answer from what the hub tells; None is a tick without news."""

    def __call__(self, versions: AsyncIterator[str | None], /) -> AsyncIterator[str]:
        """The frames, as ``frame`` writes them."""


def frame(name: str, data: str, mark: str | None = None) -> str:
    """A server-sent event; ``mark``, without line ends, is what a listener comes back with."""
    lines = "".join(f"data: {line}\n" for line in data.split("\n"))
    return f"event: {name}\n{lines}" + ("" if mark is None else f"id: {mark}\n") + "\n"


def last_seen(request: Request) -> str | None:
    """What a listener says that it has seen last: by the header of browsers, or ``seen``."""
    return request.headers.get("last-event-id") or request.query_params.get("seen") or None


def nothing_more() -> Response:
    """All was told before: a browser that gets this does not come back."""
    return Response(status_code=204, headers=HEADERS)


class Live(StreamingResponse):
    """Follows a topic and tells of it, until the listener goes, or may not read any more.

    Raises ``TooMany`` before it begins.
    """

    media_type = "text/event-stream"

    def __init__(
        self, request: Request, topic: Topic, tell: Ticks, *, may: Callable[[Visit], bool]
    ) -> None:
        super().__init__((), headers=HEADERS)
        self.asked = request
        self.house: House = request.app.state.house
        self.topic = topic
        self.tell = tell
        self.may = may

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        self.principal = (await door.visit(self.asked)).principal
        async with self.house.hub.follow(self.topic, self.principal.same) as changes:
            self.body_iterator = self.text(changes)
            await super().__call__(scope, receive, send)

    async def text(self, changes: Changes) -> AsyncIterator[str]:
        """All that is sent."""
        yield f"retry: {RETRY}\n\n"
        async with aclosing(self.versions(changes)) as versions:
            try:
                async for part in self.tell(versions):
                    yield part
            except DatabaseUnreachable as error:
                log.info("%s: %s", self.asked.url.path, error)  # the listener comes back

    async def versions(self, changes: Changes) -> AsyncGenerator[str | None]:
        """Each version of the topic, and None in silence, as long as the listener may read.

        Rights are looked up anew as soon as some have changed, or the time of the token or the
        session is over, before anything more is told.
        """
        hub = self.house.hub
        ends = time.monotonic() + LONGEST
        check = time.monotonic() + TICK
        known: str | None = None
        while not changes.over and time.monotonic() < ends:
            version = await changes.within(max(check - time.monotonic(), 0.0))
            if time.monotonic() >= check:
                check = time.monotonic() + TICK
            if hub.rights != known or self.principal.over:
                known = hub.rights
                self.house.credentials.known_as_of(known)
                if not await self.still():
                    return
            yield version

    async def still(self) -> bool:
        """Whether who asks may still read this; not while nobody can tell: they come back."""
        scope = {key: value for key, value in self.asked.scope.items() if key != door.KEPT}
        try:
            visit = await door.visit(Request(scope))
        except KokenError:
            return False
        self.principal = visit.principal
        return self.may(visit)


def reading(workspace: str) -> Callable[[Visit], bool]:
    """Whether somebody may read in a workspace."""
    return lambda visit: visit.principal.may(Right.READ, workspace)
