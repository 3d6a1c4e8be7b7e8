"""What a worker knows of workflows: their steps as the versions have them, and inputs of steps.

Structure comes from the version that a run began with, code from the program: a step is found in
it by its name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from koken.engine import parts
from koken.engine.claim import Claimed
from koken.engine.parts import Held
from koken.model import codec, gate, graph, window
from koken.model.inputs import NOTHING, Inputs
from koken.model.states import State
from koken.model.steps import StepSpec
from koken.store.database import Database
from koken.store.statements import Statement

VERSION_SPEC = Statement("version_spec")
MOST_VERSIONS = 200
"""Versions that are remembered."""


class Plan:
    """The steps of a version, each read when it is first asked for."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.plain: Sequence[Mapping[str, Any]] = spec.get("steps", ())
        self.timezone: str = spec.get("timezone", "UTC")
        self.fail_fast: bool = spec.get("fail_fast", False)
        self.known: dict[int, StepSpec] = {}
        self.matched: set[int] = set()
        """Steps of which the program is known to have the same shape."""

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Name → number."""
        return {step["name"]: step["no"] for step in self.plain}

    @cached_property
    def places(self) -> dict[str, int]:
        """Name → place in an order in which each step comes after those that it needs."""
        needs = {
            step["name"]: [*(need[0] for need in step["needs"]), *step["after"]]
            for step in self.plain
        }
        return {name: place for place, name in enumerate(graph.order(needs))}

    @cached_property
    def held(self) -> Sequence[StepSpec]:
        """The steps that have a gate or a window."""
        return [self.step(step["no"]) for step in self.plain if step["gate"] or step["window"]]

    @cached_property
    def last(self) -> Sequence[StepSpec]:
        """The steps that no other needs."""
        needed = {need[0] for step in self.plain for need in step["needs"]}
        needed.update(name for step in self.plain for name in step["after"])
        return [self.step(step["no"]) for step in self.plain if step["name"] not in needed]

    def step(self, no: int) -> StepSpec:
        """The step of that number, from 1; without needs that are order alone."""
        found = self.known.get(no)
        if found is None:
            plain = self.plain[no - 1]
            after = [name for name in plain["asks"] if name in plain["after"]]
            found = self.known[no] = StepSpec.from_json({**plain, "after": after})
        return found

    def calendar(self, run: Claimed) -> list[Held]:
        """What gates and windows say to a run that stands for its logical time."""
        found = []
        for step in self.held:
            says = gate.decide(step.gate, run.logical_at, self.timezone) if step.gate else None
            if says is not None and says.verdict == "skip":
                found.append(Held(no=step.no, skip=says.text))
                continue
            starts = [says.until] if says is not None and says.until is not None else []
            closes = None
            if step.window:
                opens, closes = window.window(step.window, run.logical_at, self.timezone)
                starts += [opens] if opens is not None else []
            found.append(
                Held(
                    no=step.no,
                    not_before=max(starts) if starts else None,
                    closes=closes,
                    late_skips=None if closes is None else step.window_missed == "skip",
                )
            )
        return found


class Plans:
    """The plans of the versions whose runs a worker carries."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.plans: dict[int, Plan] = {}

    async def plan(self, version_id: int) -> Plan:
        """The plan of a version."""
        found = self.plans.get(version_id)
        if found is None:
            if len(self.plans) >= MOST_VERSIONS:
                self.plans.clear()
            (row,) = await self.db.fetch(VERSION_SPEC, version_id)
            found = self.plans[version_id] = Plan(json.loads(row["spec"]))
        return found

    async def learn(self, runs: Iterable[Claimed]) -> None:
        """Ask for the inputs of all steps among these runs at once."""
        wanted: set[tuple[int, int, bool]] = set()
        flows: set[int] = set()
        steps: list[tuple[Claimed, int, StepSpec, Plan]] = []
        for run in runs:
            if run.inputs is not NOTHING or run.undoes_id is not None:
                continue
            if not (run.is_step or run.is_item):
                continue
            plan = await self.plan(run.version_id)
            step, flow_id = self.spec(run, plan), flow_of(run)
            steps.append((run, flow_id, step, plan))
            for name in step.takes:
                taken = plan.step(plan.numbers[name])
                wanted.add((flow_id, taken.no, taken.each is not None))
            if step.arguments or any(name not in plan.numbers for name in step.asks):
                flows.add(flow_id)
        if not wanted and not flows:
            return
        values: dict[tuple[int, int], Any] = {}
        for row in await parts.inputs(self.db, sorted(wanted), sorted(flows)):
            if row["value"] is not None and (row["no"] == 0 or row["state"] == State.SUCCEEDED):
                values[row["flow_id"], row["no"]] = codec.decode(row["value"])
        for run, flow_id, step, plan in steps:
            results = {
                name: values[flow_id, plan.numbers[name]]
                for name in step.takes
                if (flow_id, plan.numbers[name]) in values
            }
            run.inputs = Inputs(values.get((flow_id, 0), {}), results)

    def spec(self, run: Claimed, plan: Plan) -> StepSpec:
        """The step that a run carries out, or one of whose items it is."""
        if run.is_step:
            return plan.step(run.step_no or 0)
        return plan.step(plan.numbers[run.step or ""])


def flow_of(run: Claimed) -> int:
    """The run of the workflow to which a step, or a step's item, belongs."""
    found = run.grandparent_id if run.is_item else run.parent_id
    assert found is not None
    return found
