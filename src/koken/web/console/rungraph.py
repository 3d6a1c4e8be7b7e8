"""The graph of a run or a job as part of its page: steps lead to themselves, groups unfold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.datastructures import QueryParams

from koken.model.run import Run
from koken.model.steps import StepSpec
from koken.views.drawingfold import size
from koken.views.drawingsvg import Leads, part
from koken.views.graph import Graph, Node, graph_of_rows
from koken.views.steprows import StepRow

UNFOLDED = 20
"""Groups that are unfolded at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A graph as it is drawn."""

    svg: Markup
    steps: int
    folded: Sequence[int]
    """The groups that are folded: how many steps stand for each."""
    unfolded: Sequence[str]
    """The groups that somebody has unfolded."""
    fold: str
    """The address with all of them folded again."""


def picture(
    run: Run[Any],
    declared: Sequence[StepSpec],
    rows: Sequence[StepRow],
    params: QueryParams,
    zone: tzinfo,
) -> Picture | None:
    """The graph of a run; None where it has no more than one step."""
    if len(rows) < 2 or (not declared and not any(row.recorded for row in rows)):
        return None

    here = f"/runs/{run.id}"

    def leads(node: Node) -> str:
        return address(here, params, step=node.name, tab="log") if node.run_id is not None else ""

    return pictured(graph_of_rows(run, declared, rows), here, params, leads, zone)


def pictured(
    graph: Graph, here: str, params: QueryParams, leads: Leads, zone: tzinfo | None = None
) -> Picture:
    """A graph with groups that lead to the page where they are unfolded, ``here``."""
    unfolded = params.getlist("unfold")[:UNFOLDED]
    folded: list[int] = []

    def leading(node: Node) -> str:
        if not node.tally:
            return leads(node)
        folded.append(size(node))
        return address(here, params, unfold=[*unfolded, node.name]) + "#graph"

    shown = replace(graph, unfolded=frozenset(unfolded))
    return Picture(
        svg=Markup(part(shown, zone, leads=leading)),
        steps=len(graph.nodes),
        folded=folded,
        unfolded=unfolded,
        fold=address(here, params, unfold=[]) + "#graph",
    )


def address(here: str, params: QueryParams, **more: Any) -> str:
    """A page's address with something else in it, without a place in its log."""
    kept = {
        name: params.getlist(name)
        for name in ("tab", "step", "unfold")
        if name in params and name not in more
    }
    return f"{here}?{urlencode({**kept, **more}, doseq=True)}"
