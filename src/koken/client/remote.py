"""``AsyncClient`` over HTTP: the same verbs, for programs that reach a console and no database."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

from typing_extensions import TypeVar, override

from koken.client.arguments import check_many, placed, said
from koken.client.asker import Asker
from koken.client.awaiting import AsyncClient
from koken.client.remoteasking import run_of
from koken.client.remotebackfills import RemoteBackfills
from koken.client.remotelooks import RemoteLooks
from koken.client.remoterepairs import RemoteRepairs
from koken.client.remotesteering import RemoteSteering
from koken.define.job import Job
from koken.define.machine import Transition
from koken.define.registry import Registry
from koken.errors import DeclarationError, Forbidden
from koken.model import codec
from koken.model.plain import stamp
from koken.model.run import Run

R = TypeVar("R", default=Any)
NO_TRANSACTION = "over HTTP there is no transaction of yours to act in"


class RemoteClient(RemoteLooks, RemoteSteering, RemoteRepairs, RemoteBackfills, AsyncClient):
    """The verbs of ``AsyncClient`` over HTTP.

    ``address`` is that of a console, ``token`` says who acts. Results are typed for the jobs that
    were started or named through it. What needs a connection to the database is refused by a
    ``TypeError``: ``using(connection)`` and ``move``.
    """

    def __init__(
        self, address: str, /, *, by: str = "", workspace: str = "", token: str = ""
    ) -> None:
        if by:
            raise DeclarationError("over HTTP the token says who acts; leave `by` out")
        self.asker = Asker(address, token=said("token", token))
        self.by = ""
        self.workspace = placed(workspace)
        self.caller = None
        self.inside = False
        self.known = Registry()

    @property
    @override
    def registry(self) -> Registry:
        return self.known

    @property
    @override
    def schema(self) -> str:
        raise TypeError(NO_TRANSACTION)

    @override
    def begin_anew(self) -> None:
        self.asker.begin_anew()

    @override
    async def close(self) -> None:
        await self.asker.close()

    @override
    def using(
        self, connection: Any = None, /, *, by: str | None = None, workspace: str | None = None
    ) -> Self:
        if connection is not None:
            raise TypeError(NO_TRANSACTION)
        if by is not None:
            raise DeclarationError("over HTTP the token says who acts; leave `by` out")
        other = copy.copy(self)
        other.workspace = self.workspace if workspace is None else placed(workspace)
        return other

    def know(self, job: Job[..., Any]) -> None:
        """Remember a job, whose results are typed from now on."""
        if not job.foreign:
            self.known.jobs[job.name] = job

    @override
    async def start_bound(self, job: Job[..., R], plain: Mapping[str, Any]) -> Run[R]:
        self.know(job)
        made = await self.asker.start(
            self.workspace, {"job": job.name, "args": plain, **options_of(job)}
        )
        if "args" not in made:
            raise Forbidden(
                f"run {made['id']} of {job.name} was started before under this idempotency key, "
                "and this token may not read it"
            )
        return Run.from_json(made)

    @override
    async def start_texts(self, job: Job[..., R], rows: list[str]) -> list[Run[R]]:
        check_many(job)
        if not rows:
            return []
        self.know(job)
        given = {"job": job.name, "rows": [codec.decode(row) for row in rows], **options_of(job)}
        made = await self.write("runs/batch", given)
        return [run_of(plain) for plain in made["items"]]

    @override
    async def move(
        self, transition: Transition, key: Any, /, *, reason: str = "", **args: Any
    ) -> Run[Any] | None:
        raise TypeError("a move changes a row of the database; use a client with its address")


def options_of(job: Job[..., Any]) -> dict[str, Any]:
    """How starts differ from what the job says, as plain values."""
    options = job.options
    plain = {
        "run_at": stamp(options.run_at),
        "delay": options.delay,
        "priority": options.priority,
        "queue": options.queue,
        "idempotency_key": options.idempotency_key,
        "overlap": options.overlap,
        "logical_time": stamp(options.logical_time),
    }
    return {name: value for name, value in plain.items() if value is not None}
