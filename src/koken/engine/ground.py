"""What a repair looks at: runs and their parts as they stand, read in its own transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from koken.errors import NotFound
from koken.model import gate, window
from koken.model.graph import downstream
from koken.model.policy import Effect
from koken.model.states import State, WaitCause
from koken.model.steps import ITEM, StepSpec
from koken.store.database import Row, Transaction
from koken.store.statements import Statement

REPAIR_RUN = Statement("repair_run")
REPAIR_ITEM = Statement("repair_item")
REPAIR_PARTS = Statement("repair_parts")
REPAIR_UNDONE = Statement("repair_undone")
REPAIR_CHILDREN = Statement("repair_children")
REPAIR_AWAITED = Statement("repair_awaited")
VERSION_SPECS = Statement("version_specs")
RECORDED = Statement("recorded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A run as a repair looks at it: a workflow's, a step's, an item's, or any other."""

    id: int
    parent_id: int | None
    workspace_id: int
    job_id: int
    job: str
    version_id: int
    step_no: int | None
    step: str | None
    state: State
    lease: int
    attempt: int
    max_attempts: int
    made: int | None
    settle: str | None
    is_step: bool
    undoes_id: int | None
    held: bool
    """Whether it may not go yet: it counts needs, or its turn has not come."""
    wait_cause: str | None
    wait_for: str | None
    cancelling: bool
    started_at: datetime | None
    finished_at: datetime | None
    has_locks: bool
    open_children: int
    unwind: bool
    not_before_at: datetime | None
    logical_at: datetime
    good_items: int
    """How many of its items have succeeded."""
    length: int | None
    """How long its result is, where that is a list."""

    @property
    def is_item(self) -> bool:
        """Whether it is one of a step's items."""
        return self.step_no is not None and not self.is_step and self.undoes_id is None

    @property
    def begun(self) -> bool:
        """Whether a body of it has ever begun."""
        return self.started_at is not None or self.attempt > 0

    @property
    def waits_for_parts(self) -> bool:
        """Whether it goes, and waits for what it is made of."""
        return self.state is State.WAITING and self.wait_cause == WaitCause.CHILDREN

    @property
    def standing(self) -> str:
        """Its state in a word: ``not begun`` for a step whose turn has not come."""
        return "not begun" if self.state is State.BLOCKED and self.held else self.state.value

    @property
    def named(self) -> str:
        """How it is called within its workflow: ``crunch``, ``table[3]``."""
        return (self.step or "") + (f"[{(self.step_no or 0) - 1}]" if self.is_item else "")

    @property
    def recorded(self) -> tuple[str, int | None, datetime | None]:
        """Its result as another's input: its name, how many it holds, and since when."""
        count = self.good_items if self.made is not None and self.good_items else self.length
        return self.step or "", count, self.finished_at

    @property
    def called(self) -> str:
        """``step crunch of run 412``, ``run 412``."""
        if self.is_step:
            return f"step {self.step} of run {self.parent_id}"
        if self.is_item:
            return f"{self.named}, run {self.id}"
        return f"run {self.id}"


@dataclass
class Flow:
    """A workflow's run with its steps."""

    run: Part
    specs: dict[str, StepSpec]
    timezone: str
    steps: dict[str, Part] = field(default_factory=dict)
    """By name; empty for one that was never opened."""
    undone: list[Row] = field(default_factory=list)

    @cached_property
    def needs(self) -> dict[str, list[str]]:
        """Each step with those that it needs."""
        return {name: list(spec.edges) for name, spec in self.specs.items()}

    def after(self, names: Collection[str]) -> set[str]:
        """All that comes after these, near or far."""
        return downstream(self.needs, names) - set(names)

    def step(self, name: str) -> Part:
        """A step by its name. Raises ``NotFound``."""
        found = self.steps.get(name)
        if found is None:
            known = ", ".join(list(self.specs)[:20])
            why = (
                f"; it has {known}" if name not in self.specs else " that has a run: it never began"
            )
            raise NotFound(f"run {self.run.id} has no step {name!r}{why}")
        return found

    def passed_over(self, name: str) -> bool:
        """Whether the calendar says that a step does not go on the day of its run."""
        spec = self.specs[name]
        if not spec.gate:
            return False
        return gate.decide(spec.gate, self.run.logical_at, self.timezone).verdict == "skip"

    def may_go(self, name: str) -> bool:
        """Whether a step that comes after others goes anew with them: if it has come to an end."""
        part = self.steps.get(name)
        return (
            part is not None
            and part.state.ended
            and not (part.state is State.SKIPPED and not part.begun and self.passed_over(name))
        )

    def closes(self, spec: StepSpec) -> datetime | None:
        """When a step's window closes, as it was decided when the run was opened."""
        if not spec.window:
            return None
        return window.window(spec.window, self.run.logical_at, self.timezone)[1]


class Ground:
    """Reads what a repair needs to know, each run once."""

    def __init__(self, tx: Transaction) -> None:
        self.tx = tx
        self.parts: dict[int, Part] = {}
        self.flows: dict[int, Flow] = {}
        self.versions: dict[int, dict[str, Any]] = {}
        self.children: dict[int, int | None] = {}
        """The last run that each has started."""

    async def read(self, ids: Sequence[int]) -> list[Part]:
        """These runs."""
        missing = [run_id for run_id in ids if run_id not in self.parts]
        if missing:
            for row in await self.tx.fetch(REPAIR_RUN, missing):
                values = dict(row)
                self.parts[row["id"]] = Part(**{**values, "state": State(values["state"])})
        return [self.parts[run_id] for run_id in ids if run_id in self.parts]

    async def part(self, run_id: int) -> Part:
        """A run. Raises ``NotFound``."""
        found = await self.read([run_id])
        if not found:
            raise NotFound(f"there is no run {run_id}")
        return found[0]

    async def parts_of(self, parents: Sequence[int], which: str) -> list[Part]:
        """The parts of these runs: ``steps``, or ``bad`` items."""
        if not parents:
            return []
        rows = await self.tx.fetch(REPAIR_PARTS, list(parents), which)
        return sorted(
            await self.read([row["id"] for row in rows]), key=lambda part: part.step_no or 0
        )

    async def last_children(self, starters: Sequence[int]) -> list[Part]:
        """The last run that each of these has started, of those that have started one."""
        missing = [run_id for run_id in starters if run_id not in self.children]
        if missing:
            found = {
                row["parent_id"]: row["id"] for row in await self.tx.fetch(REPAIR_CHILDREN, missing)
            }
            self.children.update((run_id, found.get(run_id)) for run_id in missing)
        ids = [child for run_id in starters if (child := self.children[run_id]) is not None]
        children = await self.read(ids)
        await self.learn([child.version_id for child in children])
        return children

    async def awaited(self, child: Part) -> bool:
        """Whether the body that has started a run goes by what becomes of it."""
        if child.step is None:
            return False
        (row,) = await self.tx.fetch(REPAIR_AWAITED, child.parent_id, child.id)
        return bool(row["awaited"])

    async def version(self, version_id: int) -> dict[str, Any]:
        """The job of a version, as it is stored."""
        await self.learn([version_id])
        return self.versions[version_id]

    async def learn(self, version_ids: Sequence[int]) -> None:
        """Read the jobs of these versions."""
        missing = list({each for each in version_ids if each not in self.versions})
        if missing:
            for row in await self.tx.fetch(VERSION_SPECS, missing):
                self.versions[row["id"]] = json.loads(row["spec"])

    async def is_flow(self, part: Part) -> bool:
        """Whether a run is a workflow's."""
        if part.step_no is not None:
            return False
        return bool((await self.version(part.version_id)).get("steps"))

    async def effect(self, part: Part) -> Effect | None:
        """What the job of a plain run says of its effect."""
        plain = (await self.version(part.version_id)).get("effect")
        return Effect(plain) if plain else None

    async def flow(self, run_id: int) -> Flow:
        """A workflow's run with its steps."""
        if run_id not in self.flows:
            run = await self.part(run_id)
            spec = await self.version(run.version_id)
            specs = [StepSpec.from_json(step) for step in spec.get("steps", ())]
            found = Flow(run, {each.name: each for each in specs}, spec.get("timezone", "UTC"))
            for step in await self.parts_of([run_id], "steps"):
                found.steps[step.step or ""] = step
            starters = [step.id for step in found.steps.values() if starts(specs, step)]
            await self.last_children(starters)
            found.undone = list(await self.tx.fetch(REPAIR_UNDONE, run_id))
            self.flows[run_id] = found
        return self.flows[run_id]

    async def flow_of(self, part: Part) -> Flow:
        """The workflow's run to which a step or an item belongs."""
        assert part.parent_id is not None
        if part.is_item:
            return await self.flow_of(await self.part(part.parent_id))
        return await self.flow(part.parent_id)

    async def named(self, flow: Flow, name: str) -> Part:
        """A step, or one of its items: ``crunch``, ``table[3]``. Raises ``NotFound``."""
        item = ITEM.fullmatch(name)
        if name in flow.specs or item is None or item["step"] not in flow.specs:
            return flow.step(name)
        step = flow.step(item["step"])
        rows = await self.tx.fetch(REPAIR_ITEM, step.id, int(item["no"]) + 1)
        if not rows:
            raise NotFound(f"step {step.step} of run {flow.run.id} has no item {item['no']}")
        return await self.part(rows[0]["id"])


def starts(specs: Sequence[StepSpec], step: Part) -> bool:
    """Whether a step has itself started runs of another job."""
    spec = specs[(step.step_no or 0) - 1]
    return spec.kind == "job" and spec.each is None and bool(step.made)
