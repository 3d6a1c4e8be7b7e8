"""What people do over HTTP to runs that did not go well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from typing_extensions import override

from koken.client.arguments import said
from koken.client.asked import Named, check_args, check_planned, named, verb_of
from koken.client.remoteasking import jsonable, way
from koken.client.remotebulks import RemoteBulks
from koken.client.repairs import AsyncRepairs
from koken.client.results import NO_RESULT
from koken.engine.repair import Verb
from koken.model.plan import Plan
from koken.model.run import Run

R = TypeVar("R")
PLURALS: Mapping[Verb, str] = {
    "retry": "retries",
    "rerun": "reruns",
    "fork": "forks",
    "skip": "skips",
    "resolve": "resolutions",
}
"""Where a repair is asked for."""


class RemoteRepairs(RemoteBulks, AsyncRepairs):
    """The verbs of ``AsyncRepairs`` over HTTP."""

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
        verb_of(code)
        given = {"step": named(step), "code": int(code), "force": bool(force)}
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
        known = check_planned(verb, step=step, from_step=from_step, args=args, result=result)
        given = wanted(known, from_step if step is None else step, args, result)
        return Plan.from_json(await self.foresee(f"{way(run)}/{PLURALS[known]}", given))

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
    async def rerun(
        self, run: Run[R] | int | str, *, reason: str = "", force: bool = False
    ) -> Run[R]:
        return await self.repaired("rerun", run, None, reason, force)


def wanted(verb: Verb, step: Named, args: Mapping[str, Any] | None, result: Any) -> dict[str, Any]:
    """What a repair is asked to do. Raises ``InvalidArguments``."""
    given: dict[str, Any] = {}
    if step is not None:
        given["from_step" if verb in ("retry", "fork") else "step"] = named(step)
    if args is not None:
        given["args"] = jsonable("args", dict(check_args(args)))
    if result is not NO_RESULT:
        given["result"] = jsonable("result", result)
    return given
