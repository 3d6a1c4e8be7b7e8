"""What a program looks at over HTTP: runs, their steps and lines."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypeVar, override

from koken.client.arguments import counted
from koken.client.looking import AsyncLooks, page
from koken.client.remoteasking import RemoteAsking, run_of, way
from koken.errors import NotFound
from koken.model.run import Run
from koken.model.states import State
from koken.views.cause import Cause
from koken.views.logs import LogLine
from koken.views.steprows import StepRow
from koken.views.why import Why

R = TypeVar("R", default=Any)
LINES = 10_000
"""Log lines of one page."""


class RemoteLooks(RemoteAsking, AsyncLooks):
    """The verbs of ``AsyncLooks`` over HTTP."""

    @override
    async def get(self, run: Run[R] | int | str) -> Run[R]:
        return run_of(await self.read(way(run)))

    @override
    async def find(
        self, query: str = "", *, limit: int = 50, before: int | None = None
    ) -> list[Run[Any]]:
        asked, most, end = page(query, limit, before)
        found = await self.read("runs", q=asked or None, limit=most, before=end)
        return [run_of(plain) for plain in found["items"]]

    @override
    async def logs(self, run: Run[Any] | int | str, *, limit: int = 1000) -> list[LogLine]:
        left = counted("limit", limit)
        place = f"{way(await self.get(run))}/logs"
        found = await self.read(place, tail=min(left, LINES))
        lines: list[Any] = found["items"]
        while found["next"] is not None and len(lines) < left:
            most = min(left - len(lines), LINES)
            found = await self.read(place, before=found["next"], limit=most)
            lines = found["items"] + lines
        return [LogLine.from_json(plain) for plain in lines]

    @override
    async def steps(self, run: Run[Any] | int | str) -> list[StepRow]:
        found = await self.whole(f"{way(await self.get(run))}/steps")
        return [StepRow.from_json(plain) for plain in found]

    @override
    async def why(self, run: Run[Any] | int | str) -> Why:
        found = await self.get(run)
        plain = await self.read(f"{way(found)}/why")
        return Why(run=found, causes=tuple(map(Cause.from_json, plain["causes"])))

    @override
    async def state_of(self, run_id: int) -> State | None:
        try:
            return (await self.get(run_id)).state
        except NotFound:
            return None
