"""What a repair changes, gathered before anything is: what goes again, and what the plan says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from koken.engine.ground import Flow, Ground, Part
from koken.engine.legal import check_going, refused
from koken.engine.rows import Back, Declared
from koken.model.plan import Again, Input, Then
from koken.model.states import BAD, State
from koken.model.steps import Join, StepSpec


@dataclass
class Change:
    """What a repair changes."""

    ground: Ground
    back: dict[int, Back] = field(default_factory=dict)
    tops: list[Part] = field(default_factory=list)
    """Ended runs that go again by themselves; one that another goes by comes before it."""
    live: dict[int, Part] = field(default_factory=dict)
    """Runs that go, and that have to look again."""
    declared: Declared | None = None
    forgets: str | None = None
    """From which step on what a body has recorded is forgotten."""
    undo: Part | None = None
    keep: list[int] = field(default_factory=list)
    """Numbers of the steps that a fork takes over."""
    closes: dict[int, datetime] = field(default_factory=dict)
    """By number, when the windows of the other steps close."""
    again: list[Again] = field(default_factory=list)
    then: list[Then] = field(default_factory=list)
    keeps: list[str] = field(default_factory=list)
    stays: dict[str, State] = field(default_factory=dict)
    undone: list[str] = field(default_factory=list)
    locks: dict[int, set[int]] = field(default_factory=dict)
    """By workflow's run, the steps that take a lock; 0 is the run itself."""
    of_items: dict[int, set[int]] = field(default_factory=dict)
    """Those of them whose lock is one item's."""
    max_attempts: int | None = None
    behind: dict[int, set[str]] = field(default_factory=dict)
    """By workflow's run, the steps that move and all that comes after them."""

    @property
    def watched(self) -> dict[int, Part]:
        """Rows that must stand as they were seen."""
        parts = [each.part for each in self.back.values()]
        others = (self.declared.part if self.declared else None, self.undo)
        parts += [part for part in (*others, *self.tops, *self.live.values()) if part is not None]
        return {part.id: part for part in parts}

    def set_back(self, part: Part, *, anew: bool, flow: Flow | None = None) -> None:
        """Have a part go again: from nothing, or from where it stands. ``flow`` it belongs to."""
        spec = None if flow is None else flow.specs[part.step or ""]
        most = part.max_attempts if spec is None else spec.max_attempts
        closes = None if flow is None or spec is None or part.is_item else flow.closes(spec)
        spent = 0
        if spec is not None and spec.kind == "job" and (part.is_item or spec.each is None):
            spent = part.made or 0
            spent = spent if anew else max(spent - 1, 0)
        self.back[part.id] = Back(part, anew, spent, most + spent, closes)

    async def steps(
        self,
        flow: Flow,
        again: Collection[str],
        anew: Collection[str],
        *,
        items: Mapping[str, Iterable[Part]] | None = None,
        but: str = "",
        path: str = "",
        beside: bool = True,
    ) -> None:
        """Have steps go again, from where they stand or from nothing, and those that were undone
        with what follows them; the plan tells of all.

        ``items``: of these steps only those. ``but`` is a step whose end is stated. ``beside``:
        the plan tells also of what stays.
        """
        chosen = {name: list(parts) for name, parts in (items or {}).items()}
        fresh = set(anew)
        if flow.run.state.ended:
            fresh |= self.of_undone(flow, chosen, path)
        fresh = {name for name in fresh - {but} if name in anew or flow.may_go(name)}
        chosen = {name: parts for name, parts in chosen.items() if name not in fresh}
        going = {*again, *chosen} - fresh
        moved = {name for name, part in flow.steps.items() if part.id in self.back}
        moved |= {*fresh, *going, *([but] if but else [])}
        self.behind[flow.run.id] = moved | flow.after(moved)
        for name, spec in flow.specs.items():
            part = flow.steps.get(name)
            if part is None or part.id in self.back:
                continue
            if name in fresh:
                self.set_back(part, anew=True, flow=flow)
                await self.tell(flow, spec, part, fresh | going, path)
            elif name in going:
                await self.from_where_it_stands(
                    flow, spec, part, chosen.get(name), fresh | going, path
                )
            elif beside and part.state is State.SUCCEEDED:
                self.keeps.append(path + name)
            elif beside and part.state.ended and name != but:
                self.stays[path + name] = part.state
        self.follow(flow, {*fresh, *going, *([but] if but else [])}, path)

    def of_undone(self, flow: Flow, chosen: dict[str, list[Part]], path: str) -> set[str]:
        """Steps that were undone, and what comes after them; items go to ``chosen``."""
        whole = {row["step"] for row in flow.undone if not row["is_item"]}
        some = {row["step"] for row in flow.undone if row["is_item"]} - whole
        self.undone += [path + name for name in flow.specs if name in whole | some]
        for name in some:
            ids = [row["id"] for row in flow.undone if row["step"] == name]
            chosen.setdefault(name, []).extend(self.ground.parts[run_id] for run_id in ids)
        return whole | (flow.after(whole | some) if whole or some else set())

    async def from_where_it_stands(
        self,
        flow: Flow,
        spec: StepSpec,
        part: Part,
        items: list[Part] | None,
        going: set[str],
        path: str,
    ) -> None:
        """A step that keeps what it has: only those of its items go again that did not go well."""
        self.set_back(part, anew=False, flow=flow)
        told = False
        if spec.each is not None and part.made is not None:
            bad = await self.ground.parts_of([part.id], "bad") if items is None else items
            for item in bad:
                self.set_back(item, anew=item.state not in BAD, flow=flow)
            if spec.kind == "job":
                await self.children(bad, path)
            if any(item.begun for item in bad):
                await self.tell(flow, spec, part, going, path, items=len(bad))
            told = True
        elif spec.kind == "job" and part.made:
            told = await self.children([part], path)
        if not told:
            await self.tell(flow, spec, part, going, path)

    async def children(self, starters: list[Part], path: str) -> bool:
        """The runs that steps have started, set back; whether their own steps are told of."""
        told = False
        for child in await self.ground.last_children([part.id for part in starters]):
            if child.state not in BAD:
                continue
            self.set_back(child, anew=False)
            if await self.ground.is_flow(child) and child.made is not None:
                inner = await self.ground.flow(child.id)
                starter = next(part for part in starters if part.id == child.parent_id)
                bad = [name for name, part in inner.steps.items() if part.state in BAD]
                await self.steps(inner, bad, (), path=f"{path}{starter.named}/")
                told = True
        return told

    async def tell(
        self,
        flow: Flow,
        spec: StepSpec,
        part: Part,
        going: set[str],
        path: str,
        items: int | None = None,
    ) -> None:
        """Put a step into the plan, if it has begun; else it follows."""
        if spec.lock is not None:
            self.locks.setdefault(flow.run.id, set()).add(spec.no)
            if spec.each is not None:
                self.of_items.setdefault(flow.run.id, set()).add(spec.no)
        if not part.begun:
            return
        names = dict.fromkeys(spec.inputs.values())
        if spec.each is not None and spec.each.of_step:
            names[spec.each.source] = None
        effect = spec.effect
        if effect is None and spec.kind == "job":
            for child in await self.ground.last_children([part.id]):
                effect = await self.ground.effect(child)
        kept = [flow.steps[name] for name in names if name in flow.steps and name not in going]
        closes = flow.closes(spec)
        behind = self.behind.get(flow.run.id, set())
        follows = not behind.isdisjoint(spec.edges)
        told = Again(
            step=path + spec.name,
            effect=effect,
            inputs=tuple(Input(*each.recorded) for each in kept),
            items=items,
            closes=closes,
            follows=follows or path == f"{flow.run.id}/",
            for_failure=follows and spec.join is Join.ANY_FAILED,
        )
        self.again.append(told)
        if self.max_attempts is None:
            self.max_attempts = spec.max_attempts

    def follow(self, flow: Flow, changed: set[str], path: str) -> None:
        """Steps that have not begun and come after what changes, or are a part of it."""
        after = flow.after(changed) | changed
        for name, spec in flow.specs.items():
            part = flow.steps.get(name)
            if part is None or name not in after or part.begun or spec.join is Join.ANY_FAILED:
                continue
            waits = part.state is State.BLOCKED and part.held
            if waits or part.id in self.back:
                self.then.append(
                    Then(
                        step=path + name,
                        effect=spec.effect,
                        not_before=part.not_before_at,
                        closes=flow.closes(spec),
                        starts=spec.job,
                    )
                )

    async def up(self, flow: Flow) -> None:
        """Everything above a workflow's run that has changed below goes on as well."""
        run = flow.run
        if not run.state.ended:
            self.look(run)
            return
        await self.above(run)

    async def above(self, run: Part) -> None:
        """A run that has ended goes again, by itself or by the step that has started it.

        With it goes what has failed above it, for its sake.
        """
        parent = None if run.parent_id is None else await self.ground.part(run.parent_id)
        of_step = parent is not None and (parent.is_step or parent.is_item)
        if parent is not None and of_step and await self.starts_jobs(parent):
            await self.by_step(run, parent)
            return
        self.tops.append(run)
        self.locks.setdefault(run.id, set()).add(0)
        if parent is None or parent.state not in BAD or not await self.ground.awaited(run):
            return
        if of_step:
            flow = await self.ground.flow_of(parent)
            await self.tell(flow, flow.specs[parent.step or ""], parent, set(), f"{flow.run.id}/")
            await self.restart(parent)
            return
        effect = await self.ground.effect(parent)
        above = Again(step=f"{parent.id}/{parent.job}", effect=effect, follows=True)
        self.again.append(above)
        await self.above(parent)

    async def starts_jobs(self, part: Part) -> bool:
        """Whether a step is nothing but a run of another job."""
        flow = await self.ground.flow_of(part)
        return flow.specs[part.step or ""].kind == "job"

    async def by_step(self, run: Part, parent: Part) -> None:
        """The run that a step has started goes again, and the step with it."""
        last = await self.ground.last_children([parent.id])
        if [each.id for each in last] != [run.id]:
            raise refused(
                run, f"{parent.called} has started run {last[0].id} since; repair that one"
            )
        if not parent.state.ended:
            raise refused(
                run, f"{parent.called} still goes ({parent.standing}), and tries again by itself"
            )
        self.set_back(run, anew=False)
        await self.restart(parent)

    async def restart(self, part: Part) -> None:
        """A step or an item goes again from where it stands, since something below it does."""
        flow = await self.ground.flow_of(part)
        spec = flow.specs[part.step or ""]
        step = part
        self.set_back(part, anew=False, flow=flow)
        if part.is_item:
            assert part.parent_id is not None
            step = await self.ground.part(part.parent_id)
            if not step.state.ended:
                self.look(step)
                return
            self.set_back(step, anew=False, flow=flow)
        followers = flow.after({spec.name}) if step.state not in BAD else set()
        fresh = {name for name in followers if flow.may_go(name)}
        await self.steps(flow, (), fresh, path=f"{flow.run.id}/", beside=False)
        await self.up(flow)

    def look(self, run: Part) -> None:
        """A run that goes counts its parts again. Raises ``Refused`` when it is about to end."""
        check_going(run)
        self.live[run.id] = run
