"""``AsyncClient`` over HTTP: the same verbs, for programs that reach a console and no database."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import quote

from typing_extensions import TypeVar, override

from koken.client.arguments import said
from koken.client.asked import Named, named
from koken.client.asker import TRIES, Asker
from koken.client.awaiting import AsyncClient
from koken.client.looking import number
from koken.client.remotebackfills import RemoteBackfills
from koken.client.remotebulks import RemoteBulks
from koken.client.results import NO_RESULT
from koken.define.job import Job
from koken.define.machine import Transition
from koken.define.registry import Registry
from koken.engine.durable import Question
from koken.engine.repair import Verb
from koken.errors import DeclarationError, Forbidden, InvalidArguments, Refused
from koken.model import codec
from koken.model.plain import stamp
from koken.model.plan import Plan
from koken.model.run import Run
from koken.model.states import State
from koken.views.cause import Cause
from koken.views.logs import LogLine
from koken.views.steps import StepRow
from koken.views.why import Why

R = TypeVar("R", default=Any)
PLURALS: Mapping[str, str] = {
    "retry": "retries",
    "rerun": "reruns",
    "fork": "forks",
    "skip": "skips",
    "resolve": "resolutions",
}
"""Where a repair is asked for."""
NO_TRANSACTION = "over HTTP there is no transaction of yours to act in"
PAGE = 1000
"""Items or log lines in one answer."""


class RemoteClient(RemoteBackfills, RemoteBulks, AsyncClient):
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
        self.workspace = said("workspace", workspace)
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
        other.workspace = self.workspace if workspace is None else said("workspace", workspace)
        return other

    async def read(self, path: str, **parameters: Any) -> Any:
        """What stands at a path."""
        return await self.asker.read(path, self.workspace, **parameters)

    async def whole(self, path: str) -> list[Any]:
        """All items of a list, page by page."""
        found = await self.read(path, limit=PAGE)
        items: list[Any] = found["items"]
        while found["next"] is not None:
            found = await self.read(path, limit=PAGE, cursor=found["next"])
            items += found["items"]
        return items

    async def write(self, path: str, plain: Mapping[str, Any], **how: Any) -> Any:
        """The answer to a change."""
        return await self.asker.write(path, self.workspace, plain, **how)

    def know(self, job: Job[..., Any]) -> None:
        """Remember a job, whose results are typed from now on."""
        if not job.foreign:
            self.known.jobs[job.name] = job

    @override
    async def start_bound(self, job: Job[..., R], plain: Mapping[str, Any]) -> Run[R]:
        self.know(job)
        options = options_of(job)
        once = job.options.idempotency_key is not None
        body = {"job": job.name, "args": plain, **options}
        tries = TRIES if once else 1
        made = await self.asker.ask("POST", "runs", self.workspace, tries=tries, json=body)
        if "args" not in made:
            raise Forbidden(
                f"run {made['id']} of {job.name} was started before under this idempotency key, "
                "and this token may not read it"
            )
        return Run.from_json(made)

    @override
    async def start_texts(self, job: Job[..., R], rows: list[str]) -> list[Run[R]]:
        if job.options.idempotency_key is not None or job.options.logical_time is not None:
            raise TypeError("idempotency_key and logical_time name one run; start_many makes many")
        if not rows:
            return []
        self.know(job)
        given = {"job": job.name, "rows": [codec.decode(row) for row in rows], **options_of(job)}
        made = await self.write("runs/batch", given)
        return [Run.from_json(plain) for plain in made["items"]]

    @override
    async def move(
        self, transition: Transition, key: Any, /, *, reason: str = "", **args: Any
    ) -> Run[Any] | None:
        raise TypeError("a move changes a row of the database; use a client with its address")

    @override
    async def get(self, run: Run[R] | int | str) -> Run[R]:
        return Run.from_json(await self.read(way(run)))

    @override
    async def find(
        self, query: str = "", *, limit: int = 50, before: int | None = None
    ) -> list[Run[Any]]:
        found = await self.read("runs", q=query or None, limit=limit, before=before)
        return [Run.from_json(plain) for plain in found["items"]]

    @override
    async def logs(self, run: Run[Any] | int | str, *, limit: int = PAGE) -> list[LogLine]:
        found = await self.read(f"{way(run)}/logs", tail=limit)
        return [LogLine.from_json(plain) for plain in found["items"]]

    @override
    async def steps(self, run: Run[Any] | int | str) -> list[StepRow]:
        return [StepRow.from_json(plain) for plain in await self.whole(f"{way(run)}/steps")]

    @override
    async def why(self, run: Run[Any] | int | str) -> Why:
        found = await self.get(run)
        plain = await self.read(f"{way(found)}/why")
        return Why(run=found, causes=tuple(map(Cause.from_json, plain["causes"])))

    @override
    async def state_of(self, run_id: int) -> State | None:
        return (await self.get(run_id)).state

    @override
    async def cancel(self, run: Run[R] | int | str, *, reason: str = "") -> Run[R]:
        try:
            return await self.changed(run, "cancellations", reason=said("reason", reason))
        except Refused:
            return await self.get(run)  # it has ended already

    @override
    async def signal(self, run: Run[R] | int | str, name: str, value: Any = None, /) -> Run[R]:
        return await self.changed(run, "signals", name=said("name", name), value=jsonable(value))

    @override
    async def answer(self, run: Run[R] | int | str, question: str, value: Any, /) -> Run[R]:
        given = {"question": said("question", question), "value": jsonable(value)}
        return await self.changed(run, "answers", **given)

    @override
    async def questions(self, run: Run[Any] | int | str) -> list[Question]:
        found = await self.read(f"{way(run)}/questions")
        return [Question.from_json(plain) for plain in found["items"]]

    @override
    async def acknowledge(self, run: Run[R] | int | str, *, reason: str = "") -> Run[R]:
        return await self.changed(run, "acknowledgements", reason=said("reason", reason))

    @override
    async def mark(
        self,
        run: Run[R] | int | str,
        step: Named,
        code: int,
        *,
        reason: str = "",
        force: bool = False,
    ) -> Run[R]:
        given = {"step": named(step), "code": code, "force": bool(force)}
        return await self.changed(run, "marks", reason=said("reason", reason), **given)

    @override
    async def plan(
        self,
        verb: str,
        run: Run[Any] | int | str,
        step: Named = None,
        *,
        from_step: Named = None,
        args: Mapping[str, Any] | None = None,
        result: Any = NO_RESULT,
    ) -> Plan:
        if verb not in PLURALS:
            raise InvalidArguments(
                f"{verb!r} has no plan; those that have are {', '.join(PLURALS)}"
            )
        given = wanted(verb, step if step is not None else from_step, args, result)
        path = f"{way(run)}/{PLURALS[verb]}?dry_run=1"
        return Plan.from_json(await self.write(path, given, once=False))

    @override
    async def repaired(
        self,
        verb: Verb,
        run: Run[R] | int | str,
        step: Named,
        reason: str,
        force: bool,
        *,
        args: Mapping[str, Any] | None = None,
        result: Any = NO_RESULT,
    ) -> Run[R]:
        given = wanted(verb, step, args, result) | {"force": bool(force)}
        return await self.changed(run, PLURALS[verb], reason=said("reason", reason), **given)

    @override
    async def make_current(self, run: Run[Any]) -> None:
        return None  # the console knows the jobs of its own program

    async def changed(self, run: Run[R] | int | str, what: str, **given: Any) -> Run[R]:
        """A run as it stands after a change, or the new one."""
        return Run.from_json(await self.write(f"{way(run)}/{what}", given))


def way(run: Run[Any] | int | str) -> str:
    """Where a run stands."""
    return f"runs/{quote(str(number(run)), safe='')}"


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


def wanted(verb: str, step: Named, args: Mapping[str, Any] | None, result: Any) -> dict[str, Any]:
    """What a repair is asked to do."""
    given: dict[str, Any] = {}
    if step is not None:
        given["from_step" if verb in ("retry", "fork") else "step"] = named(step)
    if args is not None:
        given["args"] = jsonable(dict(args))
    if result is not NO_RESULT:
        given["result"] = jsonable(result)
    return given


def jsonable(value: Any) -> Any:
    """A value in JSON's types. Raises ``InvalidArguments`` where it has no such form."""
    try:
        return codec.decode(codec.encode(value, name="the value"))
    except codec.Unstorable as error:
        raise InvalidArguments(f"{error}. Nothing was sent.") from None
