"""``Client``: the same verbs for a program that blocks.

It carries them out on a loop in a thread of its own, and speaks itself only where a caller's
blocking connection must.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, ParamSpec, Self

from typing_extensions import TypeVar

from koken.client.arguments import bound, texts
from koken.client.awaiting import AsyncClient
from koken.client.backfillsblocking import Backfills
from koken.client.portal import Portal
from koken.client.repairsblocking import Repairs
from koken.define.job import Job
from koken.define.machine import Transition
from koken.define.registry import Program
from koken.engine import move, start
from koken.engine.durable import Question
from koken.errors import Conflict
from koken.model.duration import Duration
from koken.model.run import Run
from koken.store.callers import Caller
from koken.views import runs
from koken.views.logs import LogLine
from koken.views.steprows import StepRow
from koken.views.why import Why

P = ParamSpec("P")
R = TypeVar("R", default=Any)


class Client(Repairs, Backfills):
    """As ``AsyncClient``, for programs that block. Safe to share between threads.

    It opens on first use; ``with`` closes it.
    """

    awaiting: AsyncClient

    def __init__(
        self, program: Program | str, /, *, by: str = "", workspace: str = "", token: str = ""
    ) -> None:
        self.awaiting = AsyncClient(program, by=by, workspace=workspace, token=token)
        self.portal = Portal(self.awaiting.begin_anew)
        self.caller: Caller | None = None

    def using(
        self, connection: Any = None, /, *, by: str | None = None, workspace: str | None = None
    ) -> Self:
        """A copy that acts inside ``connection``'s transaction, as somebody, or elsewhere.

        ``connection`` is one of psycopg 3, SQLAlchemy or Django. It serves ``start`` and ``move``;
        other verbs that change something refuse to act there.
        """
        other = copy.copy(self)
        other.awaiting = self.awaiting.using(by=by, workspace=workspace)
        if connection is not None:
            other.caller = Caller(connection, self.awaiting.schema)
            if other.caller.is_async:
                raise TypeError("this connection awaits; use AsyncClient, or a blocking connection")
            other.awaiting.inside = True
        return other

    def start(self, job: Job[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Run[R]:
        """As ``AsyncClient.start``."""
        plain = bound(job, args, kwargs)
        if self.caller is None:
            return self.portal.call("start", self.awaiting.start_bound(job, plain))
        mine = self.awaiting
        self.portal.call("start", mine.link.publish(job, mine.by))
        given = start.parameters(job.name, plain, mine.workspace, job.options, mine.by)
        (row,) = self.caller.fetch(start.START.text("koken"), *given)
        (found,) = self.caller.fetch(runs.ONE_RUN, row["run_id"])
        return runs.run_of(found)

    def start_many(self, job: Job[..., R], rows: Iterable[Mapping[str, Any]], /) -> list[Run[R]]:
        """As ``AsyncClient.start_many``."""
        if self.caller is not None:
            raise TypeError("start_many has a transaction of its own; start the rows one by one")
        return self.portal.call("start_many", self.awaiting.start_texts(job, texts(job, rows)))

    def move(
        self, transition: Transition, key: Any, /, *, reason: str = "", **args: Any
    ) -> Run[Any] | None:
        """As ``AsyncClient.move``."""
        if self.caller is None:
            moving = self.awaiting.move(transition, key, reason=reason, **args)
            return self.portal.call("move", moving)
        asked = self.awaiting.moving(transition, key, reason, args)
        wanted = self.portal.call("move", asked)
        try:
            moved = move.carry_blocking(wanted, self.caller.fetch)
        except Conflict as error:
            self.portal.call("move", move.record_refusal(self.awaiting.link.db, wanted, error))
            raise
        if moved.run_id is None:
            return None
        (found,) = self.caller.fetch(runs.ONE_RUN, moved.run_id)
        return runs.run_of(found)

    def get(self, run: Run[R] | int | str) -> Run[R]:
        """As ``AsyncClient.get``."""
        return self.portal.call("get", self.awaiting.get(run))

    def find(
        self, query: str = "", *, limit: int = 50, before: int | None = None
    ) -> list[Run[Any]]:
        """As ``AsyncClient.find``."""
        return self.portal.call("find", self.awaiting.find(query, limit=limit, before=before))

    def logs(self, run: Run[Any] | int | str, *, limit: int = 1000) -> list[LogLine]:
        """As ``AsyncClient.logs``."""
        return self.portal.call("logs", self.awaiting.logs(run, limit=limit))

    def steps(self, run: Run[Any] | int | str) -> list[StepRow]:
        """As ``AsyncClient.steps``."""
        return self.portal.call("steps", self.awaiting.steps(run))

    def why(self, run: Run[Any] | int | str) -> Why:
        """As ``AsyncClient.why``."""
        return self.portal.call("why", self.awaiting.why(run))

    def wait(self, run: Run[R] | int | str, timeout: Duration | None = None) -> Run[R]:
        """As ``AsyncClient.wait``."""
        return self.portal.call("wait", self.awaiting.wait(run, timeout))

    def result(self, run: Run[R], timeout: Duration | None = None) -> R:
        """As ``AsyncClient.result``."""
        return self.portal.call("result", self.awaiting.result(run, timeout))

    def cancel(self, run: Run[R] | int | str, *, reason: str = "") -> Run[R]:
        """As ``AsyncClient.cancel``."""
        return self.portal.call("cancel", self.awaiting.cancel(run, reason=reason))

    def signal(
        self, run: Run[R] | int | str, name: str, value: Any = None, /, *, reason: str = ""
    ) -> Run[R]:
        """As ``AsyncClient.signal``."""
        return self.portal.call("signal", self.awaiting.signal(run, name, value, reason=reason))

    def answer(
        self, run: Run[R] | int | str, question: str, value: Any, /, *, reason: str = ""
    ) -> Run[R]:
        """As ``AsyncClient.answer``."""
        return self.portal.call("answer", self.awaiting.answer(run, question, value, reason=reason))

    def questions(self, run: Run[Any] | int | str) -> list[Question]:
        """As ``AsyncClient.questions``."""
        return self.portal.call("questions", self.awaiting.questions(run))

    def close(self) -> None:
        """As ``AsyncClient.close``."""
        if self.portal.open:
            self.portal.call("close", self.awaiting.close())
            self.portal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
