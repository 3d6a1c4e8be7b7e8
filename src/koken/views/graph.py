"""The graph of a job as it is declared, and of a run as it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from koken.errors import NotFound
from koken.model.plain import stamp
from koken.model.run import Run
from koken.model.runparts import Children
from koken.model.states import State
from koken.model.steps import Join, StepSpec
from koken.store.database import Database
from koken.views import marks
from koken.views.reading import reading
from koken.views.reading import rows as fetched
from koken.views.steprows import NOT_STARTED, WAITING, StepRow, gate_of
from koken.views.steps import declared_in, rows_in, specs

CURRENT = """
select v.number as version, (v.spec -> 'steps')::text as steps, v.max_attempts
  from koken.job j join koken.job_version v on v.id = j.version_id
 where j.name = $1
"""
PLANNED = marks.Mark("○", "", "planned")
"""A step of a job, of which nothing has happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A step; ``state`` is None where it has no run."""

    name: str
    run_id: int | None = None
    state: State | None = None
    mark: marks.Mark = PLANNED
    items: Children | None = None
    attempt: int = 0
    max_attempts: int = 1
    reason: str = ""
    gate: str = ""
    """What holds it back, as it is declared: ``gate 30 4 * * *``."""
    until: datetime | None = None
    """Until when it is held."""
    lock: str = ""
    """The lock that it wants or has, as it is declared."""
    starts: str = ""
    """The job that it starts."""
    spreads: str = ""
    """What it has an item for each of."""
    when: str = ""
    """Its condition, where no edge tells it."""
    join: str = ""
    """Which ends of the steps before it let it go, where that is not that all succeeded."""
    child: str = ""
    """The run that it stands for: ``inner 7``."""
    detail: str = ""
    """Of an operation: its handle, and how often it was submitted."""
    tried_again: bool = False
    """Whether an attempt at it has failed."""
    tally: tuple[tuple[marks.Mark, int], ...] = ()
    """Of the steps that it stands for in a picture, how many are marked how; empty: itself."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "name": self.name,
            "run": None if self.run_id is None else str(self.run_id),
            "state": self.state.value if self.state else None,
            "glyph": self.mark.glyph,
            "word": self.mark.word,
            "items": {"done": self.items.done, "total": self.items.made} if self.items else None,
            "attempt": self.attempt,
            "max_attempts": self.max_attempts,
            "reason": self.reason or None,
            "gate": self.gate or None,
            "until": stamp(self.until),
            "starts": self.starts or None,
            "each": self.spreads or None,
            "when": self.when or None,
            "join": self.join or None,
            "child": self.child or None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """``target`` needs ``source``; ``hard``: it wants its result, and is skipped with it."""

    source: str
    target: str
    label: str = ""
    hard: bool = True

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "from": self.source,
            "to": self.target,
            "label": self.label or None,
            "hard": self.hard,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Steps in the order of declaration, and what they need; ``title`` says of what."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    unfolded: frozenset[str] = frozenset()
    """Groups of a large picture that somebody wants to see step by step."""
    kept: frozenset[str] = frozenset()
    """Their steps."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "title": self.title,
            "nodes": [node.to_json() for node in self.nodes],
            "edges": [edge.to_json() for edge in self.edges],
        }


async def graph_of_job(db: Database, job: str) -> Graph:
    """The steps of a job's current version; a job without steps is one node.

    Raises ``NotFound``.
    """
    found = await fetched(db, CURRENT, job)
    if not found:
        raise NotFound(f"there is no job {job!r}; `koken jobs` lists them")
    (row,) = found
    title = f"{job}, version {row['version']}"
    return graph_of_steps(title, job, specs(row["steps"]), row["max_attempts"])


def graph_of_steps(title: str, job: str, declared: Sequence[StepSpec], max_attempts: int) -> Graph:
    """The steps of a job as they are declared; a job without steps is one node."""
    nodes = tuple(planned(spec) for spec in declared)
    if not nodes:
        nodes = (Node(name=job, max_attempts=max_attempts),)
    return Graph(title=title, nodes=nodes, edges=edges_of(declared))


async def graph_of_run(db: Database, run: Run[Any]) -> Graph:
    """The steps of a run as they stand; a run without steps is one node.

    What a body has recorded stands in the order in which it was recorded.
    """
    async with reading(db) as session:
        declared = await declared_in(session, run)
        rows = await rows_in(session, run, declared)
    return graph_of_rows(run, declared, rows)


def graph_of_rows(run: Run[Any], declared: Sequence[StepSpec], rows: Sequence[StepRow]) -> Graph:
    """The graph of a run whose steps have been read."""
    found = {row.no: row for row in rows}
    title = f"{run.job} {run.id}"
    if not declared and not any(row.recorded for row in rows):
        return Graph(title=title, nodes=(alone(run),), edges=())
    if not declared:
        nodes = tuple(at_hand(row, name=name) for name, row in unlike(rows).items())
        pairs = pairwise(nodes)
        edges = tuple(Edge(source=one.name, target=other.name) for one, other in pairs)
        return Graph(title=title, nodes=nodes, edges=edges)
    nodes = tuple(standing(spec, found[spec.no]) for spec in declared)
    return Graph(title=title, nodes=nodes, edges=edges_of(declared))


def alone(run: Run[Any]) -> Node:
    """A run that has no steps."""
    return Node(
        name=run.step or run.job,
        run_id=run.id,
        state=run.state,
        mark=marks.of_run(run),
        items=run.children,
        attempt=run.attempt,
        max_attempts=run.max_attempts,
        reason=run.reason,
        until=run.wait.until if run.wait else None,
        tried_again=run.attempt > 1 or (run.state is State.FAILED and run.attempt > 0),
    )


def planned(spec: StepSpec) -> Node:
    """A step as it is declared."""
    return Node(
        name=spec.name,
        max_attempts=spec.max_attempts,
        gate=gate_of(spec),
        lock=spec.lock.key if spec.lock else "",
        starts=spec.job or "",
        spreads=spec.each.source if spec.each else "",
        when="" if asked(spec) else spec.when,
        join="" if spec.join is Join.ALL_SUCCEEDED else spec.join.value,
    )


def standing(spec: StepSpec, row: StepRow) -> Node:
    """A step of a run."""
    ended = row.state is not None and row.state.ended
    return at_hand(
        row,
        name=row.name,
        gate=row.gate if row.code in (NOT_STARTED, WAITING) else "",
        lock=spec.lock.key if spec.lock and not ended else "",
        starts=spec.job or "",
        spreads=spec.each.source if spec.each else "",
        when="" if asked(spec) else spec.when,
        join="" if spec.join is Join.ALL_SUCCEEDED else spec.join.value,
    )


def at_hand(row: StepRow, **declared: Any) -> Node:
    """A step by its name, by what else is declared of it, and by what is known of it."""
    return Node(
        run_id=row.run_id,
        state=row.state,
        mark=row.mark,
        items=row.items,
        attempt=row.attempt,
        max_attempts=row.max_attempts,
        reason=row.reason,
        until=row.held_until,
        child=row.child.called if row.child else "",
        detail=row.detail if row.kept_from is None else "kept, not run again",
        tried_again=row.tried_again,
        **declared,
    )


def unlike(rows: Sequence[StepRow]) -> dict[str, StepRow]:
    """Rows by names of which each is another's: a body may start several runs of one job."""
    found: dict[str, StepRow] = {}
    for row in rows:
        name = row.name if row.name not in found else f"{row.name} {row.run_id or row.no}"
        found[name] = row
    return found


def asked(spec: StepSpec) -> str:
    """The step at whose result a condition looks first, where it is one of the needs."""
    return next((name for name in spec.asks if name in spec.edges), "")


def edges_of(declared: Sequence[StepSpec]) -> tuple[Edge, ...]:
    """All needs, each once; a condition stands at the edge whose value it looks at."""
    return tuple(
        Edge(
            source=source,
            target=spec.name,
            label=spec.when if source == asked(spec) else "",
            hard=hard,
        )
        for spec in declared
        for source, hard in spec.edges.items()
    )
