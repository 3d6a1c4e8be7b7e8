"""``koken cancel retry rerun skip resolve mark fork acknowledge``: what people do to runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from koken.cli import output, plans, telling
from koken.cli.bulk import Rate, RunOrNone, WhereText, Yes, many
from koken.cli.common import Common
from koken.cli.place import with_client
from koken.cli.show import Named, known_number
from koken.cli.start import json_object
from koken.client.awaiting import AsyncClient
from koken.client.results import NO_RESULT
from koken.engine import repair
from koken.engine.repair import Order, Verb
from koken.errors import InvalidArguments
from koken.model.plan import Plan
from koken.model.run import Run
from koken.views import runwords

Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why, for the record.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]
Force = Annotated[
    bool, typer.Option("--force", help="Repeat what is unsafe as well; wants a --reason.")
]
From = Annotated[str | None, typer.Option("--from", metavar="STEP", help="From this step on.")]
StepName = Annotated[
    str | None, typer.Argument(metavar="[STEP]", help="A step, or an item: table[3].")
]


def cancel(
    ctx: typer.Context,
    run: RunOrNone = None,
    where: WhereText = "",
    rate: Rate = "5/s",
    yes: Yes = False,
    dry_run: DryRun = False,
    reason: Reason = "",
) -> None:
    """End a run for good; one that runs is asked to stop."""
    common: Common = ctx.obj
    if many(common, "cancel", run, where, rate=rate, reason=reason, sure=yes, dry_run=dry_run):
        return
    if dry_run:
        raise InvalidArguments("--dry-run is for --where here: a cancel has no plan")
    number = one(run)
    change(common, lambda client: cancelled(client, number, reason))


def one(run: str | None) -> str:
    """What names a run. Raises ``InvalidArguments`` where nothing does."""
    if run is None:
        raise InvalidArguments("say which run, or --where QUERY")
    return known_number(run)


async def cancelled(client: AsyncClient, named: str, reason: str) -> tuple[Run[Any], str]:
    """Cancel, and say what that came to. Raises ``Refused`` for a run that has ended."""
    after: Run[Any] = await client.cancel(named, reason=reason)
    if not after.state.ended:
        return after, f"{telling.asked(after)}; follow it: koken watch {after.id}"
    return after, telling.ending(after)


def retry(
    ctx: typer.Context,
    run: RunOrNone = None,
    from_step: From = None,
    args: Annotated[
        str, typer.Option(metavar="JSON", help="Arguments to replace, as a JSON object.")
    ] = "",
    where: WhereText = "",
    rate: Rate = "5/s",
    yes: Yes = False,
    dry_run: DryRun = False,
    force: Force = False,
    reason: Reason = "",
) -> None:
    """Give an ended run another chance: attempts count from 1, what succeeded stays."""
    common: Common = ctx.obj
    if where and (run is not None or from_step or args):
        raise InvalidArguments("--where says which runs; leave out RUN, --from and --args")
    if where and force:
        raise InvalidArguments(
            "--force is for one run at a time: with --where, what is unsafe is refused; "
            "retry RUN --force --reason TEXT does each"
        )
    if many(common, "retry", run, where, rate=rate, reason=reason, sure=yes, dry_run=dry_run):
        return
    given = json_object(args) if args else None
    wanted = Wanted("retry", one(run), from_step, args=given, reason=reason, force=force)
    mend(common, wanted, dry_run)


def rerun(
    ctx: typer.Context,
    run: Named,
    dry_run: DryRun = False,
    force: Force = False,
    reason: Reason = "",
) -> None:
    """Start a new run of the job as it is now, with the same arguments."""
    mend(ctx.obj, Wanted("rerun", run, reason=reason, force=force), dry_run)


def skip(
    ctx: typer.Context,
    run: RunOrNone = None,
    step: StepName = None,
    where: WhereText = "",
    rate: Rate = "5/s",
    yes: Yes = False,
    dry_run: DryRun = False,
    force: Force = False,
    reason: Reason = "",
) -> None:
    """Have a step that failed, or has not begun, count as skipped; of many runs all that failed."""
    common: Common = ctx.obj
    if where and force:
        raise InvalidArguments("--force is for one run at a time; leave out --where")
    if many(common, "skip", run, where, rate=rate, reason=reason, sure=yes, dry_run=dry_run):
        return
    mend(common, Wanted("skip", one(run), step, reason=reason, force=force), dry_run)


def resolve(
    ctx: typer.Context,
    run: Named,
    step: StepName = None,
    result: Annotated[str, typer.Option(metavar="JSON", help="What it would have returned.")] = "",
    dry_run: DryRun = False,
    force: Force = False,
    reason: Reason = "",
) -> None:
    """Have a step count as done, after a fix outside."""
    value = json_value(result) if result else NO_RESULT
    mend(ctx.obj, Wanted("resolve", run, step, result=value, reason=reason, force=force), dry_run)


def fork(
    ctx: typer.Context,
    run: Named,
    from_step: From = None,
    dry_run: DryRun = False,
    force: Force = False,
    reason: Reason = "",
) -> None:
    """Make a new run of the same version; what is before --from STEP is taken over."""
    mend(ctx.obj, Wanted("fork", run, from_step, reason=reason, force=force), dry_run)


def mark(
    ctx: typer.Context,
    run: Named,
    step: Annotated[str, typer.Argument(metavar="STEP")],
    code: Annotated[int, typer.Argument(metavar="CODE", help="4 done, 3 skipped, 0 or 1 again.")],
    dry_run: DryRun = False,
    force: Force = False,
    reason: Reason = "",
) -> None:
    """Set a step by its number, as `koken steps --codes` shows it."""
    mend(ctx.obj, Wanted("retry", run, step, code=code, reason=reason, force=force), dry_run)


def json_value(text: str) -> Any:
    """A value from JSON text. Raises ``InvalidArguments``."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArguments(f"--result is no JSON: {error}") from None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A repair as it was written."""

    verb: Verb
    run: str
    step: str | None = None
    args: Mapping[str, Any] | None = None
    result: Any = NO_RESULT
    code: int | None = None
    """The number that a step is marked with, which says the verb."""
    reason: str = ""
    force: bool = False

    async def order(self, client: AsyncClient) -> tuple[Run[Any], Order]:
        """The run as it stands, and the repair of it."""
        verb = self.verb
        run: Run[Any] = await client.get(self.run)
        if self.code is not None:
            verb, run, step = await client.marking(run, self.step, self.code)
        else:
            run, step = await client.located(run, self.step)
        return run, client.order(
            verb,
            run,
            step,
            args=self.args,
            result=self.result,
            reason=self.reason,
            force=self.force,
        )


@dataclass(frozen=True, slots=True)
class Mended:
    """A run before a repair, how it stands after, and what was planned."""

    before: Run[Any]
    plan: Plan
    after: Run[Any] | None = field(default=None)
    """None: nothing was done."""


def mend(common: Common, wanted: Wanted, dry_run: bool) -> None:
    """Carry out a repair, or only tell its plan."""

    async def work(client: AsyncClient) -> Mended:
        before, order = await wanted.order(client)
        if dry_run:
            return Mended(before, await repair.plan(client.link.db, order))
        if order.verb == "rerun":
            await client.make_current(before)
        after, plan = await client.carry(order)
        return Mended(before, plan, after)

    done = with_client(common, work)
    if done.after is None:
        if common.json:
            output.as_json(done.plan.to_json())
        else:
            plans.draw(done.plan, datetime.now(UTC))
        return
    if common.json:
        output.as_json(done.after.to_json())
        return
    output.say(*plans.done(done.before, done.plan, done.after, common.who))


def acknowledge(
    ctx: typer.Context,
    run: RunOrNone = None,
    where: WhereText = "",
    rate: Rate = "5/s",
    yes: Yes = False,
    dry_run: DryRun = False,
    reason: Reason = "",
) -> None:
    """Close a failure that somebody has seen; of many runs all that are open."""
    common: Common = ctx.obj
    how = {"rate": rate, "reason": reason, "sure": yes, "dry_run": dry_run}
    if many(common, "acknowledge", run, where, **how):
        return
    if dry_run:
        raise InvalidArguments("--dry-run is for --where here: an acknowledgement has no plan")
    named = one(run)

    async def work(client: AsyncClient) -> tuple[Run[Any], str]:
        after: Run[Any] = await client.acknowledge(named, reason=reason)
        return after, runwords.standing(after, datetime.now(UTC))

    change(common, work)


def change(
    common: Common, work: Callable[[AsyncClient], Coroutine[Any, Any, tuple[Run[Any], str]]]
) -> None:
    """Carry out a change of a run and say in a line what it came to."""
    run, told = with_client(common, work)
    if common.json:
        output.as_json(run.to_json())
        return
    output.say(output.titled(run), (told, output.style_of(run)))


COMMANDS = {
    "cancel": cancel,
    "retry": retry,
    "skip": skip,
    "resolve": resolve,
    "mark": mark,
    "rerun": rerun,
    "fork": fork,
    "acknowledge": acknowledge,
}
