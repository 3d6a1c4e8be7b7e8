"""``AsyncClient``: the verbs of a program that awaits. They are written here, once."""

from __future__ import annotations

import copy
import getpass
import importlib
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, ParamSpec, Self, cast

from typing_extensions import TypeVar, override

from koken.client.arguments import bound, bound_for, check_many, placed, said, texts
from koken.client.backfills import AsyncBackfills
from koken.client.link import Link
from koken.client.looking import AsyncLooks
from koken.client.repairs import AsyncRepairs
from koken.client.steering import AsyncSteering
from koken.define.job import Job
from koken.define.machine import Transition
from koken.define.registry import Program, Registry
from koken.engine import move, start
from koken.engine.move import Move, Moved
from koken.errors import (
    Conflict,
    DeclarationError,
)
from koken.model import codec
from koken.model.run import Run
from koken.model.states import State
from koken.store.callers import Caller
from koken.views import runs

P = ParamSpec("P")
R = TypeVar("R", default=Any)
WEB = ("https://", "http://")
"""What the address of a console begins with."""


def over_http() -> type[AsyncClient]:
    """The client that speaks HTTP, an optional extra. Raises ``DeclarationError`` without it."""
    try:
        found: type[AsyncClient] = importlib.import_module("koken.client.remote").RemoteClient
    except ModuleNotFoundError as error:
        if error.name != "httpx":
            raise
        raise DeclarationError(
            "a client over HTTP needs httpx: pip install 'koken[http]'"
        ) from None
    return found


class AsyncClient(AsyncLooks, AsyncSteering, AsyncRepairs, AsyncBackfills):
    """Starts and steers the jobs of ``program``, an ``App`` or the address of a database.

    ``by`` is who acts, for the record; ``workspace`` where. It opens on first use; ``async with``
    closes it. With the address of a console (``https://…``) the same verbs go over HTTP, and
    ``token`` says who acts.
    """

    def __new__(cls, program: Program | str = "", /, **_: Any) -> Self:
        """An address of the web makes a client that speaks HTTP."""
        if cls is AsyncClient and isinstance(program, str) and program.startswith(WEB):
            return cast(Self, object.__new__(over_http()))
        return super().__new__(cls)

    def __init__(
        self, program: Program | str, /, *, by: str = "", workspace: str = "", token: str = ""
    ) -> None:
        if token:
            raise DeclarationError("a token is for the address of a console, which begins https://")
        self.link = Link(program)
        self.by = said("by", by)
        self.workspace = placed(workspace) or self.link.config.workspace
        self.caller: Caller | None = None
        self.inside = False
        """Whether it acts in a caller's transaction."""

    @property
    def registry(self) -> Registry:
        """The jobs whose types are known."""
        return self.link.registry

    @property
    def schema(self) -> str:
        """Where the tables are that a caller's connection leads to."""
        return self.link.config.schema

    def begin_anew(self) -> None:
        """Forget all connections, in a process that was forked: they are its parent's."""
        self.link.begin_anew()

    def using(
        self, connection: Any = None, /, *, by: str | None = None, workspace: str | None = None
    ) -> Self:
        """A copy that acts inside ``connection``'s transaction, as somebody, or elsewhere.

        ``connection`` is one of asyncpg, psycopg 3 (async) or SQLAlchemy (async). It serves
        ``start`` and ``move``; other verbs that change something refuse to act there.
        """
        other = copy.copy(self)
        if connection is not None:
            other.caller = Caller(connection, self.schema)
            if not other.caller.is_async:
                raise TypeError("this connection blocks; use Client, or an async connection")
            other.inside = True
        other.by = self.by if by is None else said("by", by)
        other.workspace = self.workspace if workspace is None else placed(workspace)
        return other

    @override
    def alone(self, verb: str) -> None:
        if self.inside:
            raise TypeError(
                f"{verb} has a transaction of its own; use the client without a connection"
            )

    async def start(self, job: Job[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Run[R]:
        """Start a run of ``job`` with these arguments; options go into ``job.using(…)``.

        Returns its snapshot: the existing run's where the idempotency key names one, one in state
        skipped where the overlap rule skips it. Raises ``InvalidArguments``, ``NotFound``,
        ``KeyConflict``, ``Overlapping``, ``Locked`` or ``DatabaseUnreachable``; then nothing was
        started.
        """
        return await self.start_bound(job, bound(job, args, kwargs))

    async def start_bound(self, job: Job[..., R], plain: Mapping[str, Any]) -> Run[R]:
        """As ``start``, with arguments that are plain values already."""
        await self.link.publish(job, self.by)
        if self.caller is not None:
            given = start.parameters(job.name, plain, self.workspace, job.options, self.by)
            (row,) = await self.caller.fetch_async(start.START.text("koken"), *given)
            (found,) = await self.caller.fetch_async(runs.ONE_RUN, row["run_id"])
            return runs.run_of(found)
        started = await start.start(
            self.link.db, job.name, plain, workspace=self.workspace, options=job.options, by=self.by
        )
        return (await runs.get_many(self.link.views, [started.run_id]))[started.run_id]

    async def start_many(
        self, job: Job[..., R], rows: Iterable[Mapping[str, Any]], /
    ) -> list[Run[R]]:
        """Start a run for each of ``rows``, which hold arguments by name: all of them or none."""
        return await self.start_texts(job, texts(job, rows))

    async def start_texts(self, job: Job[..., R], rows: list[str]) -> list[Run[R]]:
        """As ``start_many``, with arguments that are JSON texts already."""
        if self.caller is not None:
            raise TypeError("start_many has a transaction of its own; start the rows one by one")
        check_many(job)
        if not rows:
            return []
        await self.link.publish(job, self.by)
        ids = await start.start_many(
            self.link.db, job.name, rows, workspace=self.workspace, options=job.options, by=self.by
        )
        return await self.snapshots(job, ids, rows)

    async def snapshots(self, job: Job[..., R], ids: list[int], rows: list[str]) -> list[Run[R]]:
        """Snapshots of runs that were just started; those of plain starts differ in little."""
        spec = job.spec
        if spec.overlap or spec.lock or spec.schedules or spec.subject or job.options.overlap:
            found = await runs.get_many(self.link.views, ids)
            return [found[run_id] for run_id in ids]
        (first,) = (await runs.get_many(self.link.views, ids[:1])).values()
        like = dict(first.__dict__)
        like |= {"state": State.WAITING if first.wait else State.READY, "attempt": 0}
        like |= {
            "worker": None,
            "started_at": None,
            "claimed_at": None,
            "ended_at": None,
            "result": None,
            "reason": "",
            "error": None,
        }
        made: list[Run[R]] = []
        for run_id, text in zip(ids, rows, strict=True):
            run: Run[R] = object.__new__(Run)
            run.__dict__.update(like, id=run_id, root_id=run_id)
            if text != "{}":
                run.__dict__["args"] = {**spec.defaults, **codec.decode(text)}
            made.append(run)
        return made

    async def move(
        self, transition: Transition, key: Any, /, *, reason: str = "", **args: Any
    ) -> Run[Any] | None:
        """Move the row whose key is ``key``, and start the job that hangs on it: both or neither.

        ``args`` are the job's arguments beside the first, which gets ``key``. ``reason`` is for
        the record; a job that has an argument of that name gets it as well. Returns the run, or
        None when the transition starts none.
        Raises ``NotFound``, ``Refused`` (which is recorded), or what ``start`` raises; then
        nothing has changed.
        """
        wanted = await self.moving(transition, key, reason, args)
        if self.caller is None:
            moved = await move.move(self.link.db, wanted)
        else:
            moved = await self.move_inside(self.caller, wanted)
        if moved.run_id is None:
            return None
        if self.caller is not None:
            (found,) = await self.caller.fetch_async(runs.ONE_RUN, moved.run_id)
            return runs.run_of(found)
        return (await runs.get_many(self.link.views, [moved.run_id]))[moved.run_id]

    async def moving(
        self, transition: Transition, key: Any, reason: str, args: Mapping[str, Any]
    ) -> Move:
        """A move with its arguments checked; the jobs that it is about are known then."""
        why = said("reason", reason)
        plain = bound_for(transition, key, reason, args)
        for job in transition.jobs:
            await self.link.publish(job, self.by, transition.machine.registry)
        return Move(
            transition=transition,
            key=key,
            args=plain,
            workspace=self.workspace,
            by=self.by,
            who=self.who,
            reason=why or None,
        )

    async def move_inside(self, caller: Caller, wanted: Move) -> Moved:
        """Move in the caller's transaction; a refusal is kept whatever becomes of that."""
        try:
            return await move.carry(wanted, caller.fetch_async)
        except Conflict as error:
            await move.record_refusal(self.link.db, wanted, error)
            raise

    @property
    @override
    def who(self) -> str:
        """Who acts: as told, else the user of this process."""
        return self.by or getpass.getuser()

    async def close(self) -> None:
        """Let go of the connections; a later use opens new ones."""
        await self.link.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
