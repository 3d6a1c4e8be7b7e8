"""What people do to runs that did not go well: the verbs of repair, for a program that awaits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

from koken.client.arguments import said
from koken.client.asked import Named, args_text, check_planned, named, verb_of
from koken.client.bulks import AsyncBulks
from koken.client.results import NO_RESULT, result_text, step_of
from koken.engine import control, paths, repair
from koken.engine.repair import Order, Verb
from koken.model.plan import Plan
from koken.model.run import Run
from koken.views.steps import step_id

R = TypeVar("R")


class AsyncRepairs(AsyncBulks):
    """The verbs of repair. Each takes ``reason``, for the record, beside who acts.

    ``force``, with a reason, is for repairs that repeat a step whose effect is unsafe; without it
    they raise ``Refused``, as everything does that is not legal as things stand.
    """

    @abstractmethod
    async def get(self, run: Run[R] | int | str) -> Run[R]:
        """A fresh snapshot."""

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
        """What a repair would do now, without doing it; the arguments are those of the verb.

        ``verb`` is retry, rerun, skip, resolve or fork. Raises what the verb itself would raise,
        but for what wants force: that is told in the plan.
        """
        self.alone("plan")
        known = check_planned(verb, step=step, from_step=from_step, args=args, result=result)
        found = await self.get(run)
        found, name = await self.located(found, from_step if step is None else step)
        wanted = self.order(known, found, name, args=args, result=result)
        return await repair.plan(self.link.db, wanted)

    async def retry(
        self,
        run: Run[R] | int | str,
        *,
        from_step: Named = None,
        args: Mapping[str, Any] | None = None,
        reason: str = "",
        force: bool = False,
    ) -> Run[R]:
        """Give an ended run another chance: attempts count from 1 again, what succeeded stays.

        Of a workflow all goes again that failed, was cancelled or was undone. With ``from_step``
        that step and all that comes after it; of a durable function what it has recorded from
        there on is forgotten. ``run`` may be the run of a step or an item. ``args`` replaces
        arguments. Raises ``Overlapping`` when another run holds its key.
        """
        return await self.repaired("retry", run, from_step, reason, force, args=args)

    async def rerun(
        self, run: Run[R] | int | str, *, reason: str = "", force: bool = False
    ) -> Run[R]:
        """A new run of the job as it is now, with the same arguments; it says where it is from."""
        self.alone("rerun")
        found = await self.get(run)
        await self.make_current(found)
        return await self.repaired("rerun", found, None, reason, force)

    async def make_current(self, run: Run[Any]) -> None:
        """Make sure that a run's job is known as this program has it."""
        if run.job in self.link.registry:
            await self.link.publish(self.link.registry.get(run.job), self.who)

    async def skip(
        self,
        run: Run[R] | int | str,
        step: Named = None,
        *,
        reason: str = "",
        force: bool = False,
    ) -> Run[R]:
        """Have a step that failed, or has not begun, count as skipped; the others go on."""
        return await self.repaired("skip", run, step, reason, force)

    async def resolve(
        self,
        run: Run[R] | int | str,
        step: Named = None,
        *,
        result: Any = NO_RESULT,
        reason: str = "",
        force: bool = False,
    ) -> Run[R]:
        """Have a step count as done, with ``result``, after a fix outside; the others go on.

        Raises ``InvalidArguments`` for a result that does not fit the step, or none where another
        step cannot go without.
        """
        return await self.repaired("resolve", run, step, reason, force, result=result)

    async def fork(
        self,
        run: Run[R] | int | str,
        from_step: Named,
        *,
        reason: str = "",
        force: bool = False,
    ) -> Run[R]:
        """A new run of the same version, in which only ``from_step`` and what follows goes.

        What succeeded or was skipped before is taken over with its results.
        """
        return await self.repaired("fork", run, from_step, reason, force)

    async def mark(
        self,
        run: Run[R] | int | str,
        step: Named,
        code: int,
        *,
        reason: str = "",
        force: bool = False,
    ) -> Run[R]:
        """Set a step by its number: 4 done, 3 skipped, 0 or 1 to run again."""
        self.alone("mark")
        verb, part, name = await self.marking(run, step, code)
        await self.repaired(verb, part, name, reason, force)
        return await self.get(run)

    async def marking(
        self, run: Run[R] | int | str, step: Named, code: int
    ) -> tuple[Verb, Run[R], str | None]:
        """The repair that a number stands for. Raises ``InvalidArguments`` where none does."""
        verb = verb_of(code)
        found, name = await self.located(await self.get(run), step)
        if verb != "retry" or name is None:
            return verb, found, name
        return verb, await self.get(await step_id(self.link.views, found, name)), None

    async def located(self, run: Run[R], step: Named) -> tuple[Run[R], str | None]:
        """The run that a step named by its way (``sub/b``) is of, and its name there."""
        name = named(step)
        if name is None or "/" not in name:
            return run, name
        run_id, name = await paths.find(self.link.db, run.id, name)
        return run if run_id == run.id else await self.get(run_id), name

    async def acknowledge(self, run: Run[R] | int | str, *, reason: str = "") -> Run[R]:
        """Close a failure: somebody has seen it, and skip_if_failed opens again.

        Raises ``Refused`` when there is nothing to acknowledge.
        """
        self.alone("acknowledge")
        why = said("reason", reason) or None
        found = await self.get(run)
        await control.acknowledge(self.link.db, found.id, by=self.who, reason=why)
        return await self.get(found.id)

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
        """Carry out a repair; the run as it stands then, or the new one."""
        self.alone(verb)
        given = await self.get(run)
        found, name = await self.located(given, step)
        wanted = self.order(verb, found, name, args=args, result=result, reason=reason, force=force)
        made, _ = await self.carry(wanted)
        return made if verb == "fork" or found is given else await self.get(given.id)

    async def carry(self, wanted: Order) -> tuple[Run[Any], Plan]:
        """Carry out a repair; the run as it stands then, or the new one, and what was done."""
        done = await repair.repair(self.link.db, wanted)
        return await self.get(done.run_id), done.plan

    def order(
        self,
        verb: Verb,
        run: Run[Any],
        name: str | None = None,
        *,
        args: Mapping[str, Any] | None = None,
        result: Any = NO_RESULT,
        reason: str = "",
        force: bool = False,
    ) -> Order:
        """What is wanted, its values checked where the program declares the job.

        Raises ``InvalidArguments``.
        """
        given = None
        if args is not None:
            given = args_text(self.link.registry, run, args)
        text = None
        if verb == "resolve":
            whole, item = step_of(name) if name else (run.step or "", run.is_item)
            text = result_text(self.link.registry, run.job, whole, result, item=item)
        return Order(
            verb=verb,
            run_id=run.id,
            step=name,
            args=given,
            result=text,
            by=self.who,
            reason=said("reason", reason) or None,
            force=bool(force),
        )
