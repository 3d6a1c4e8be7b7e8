"""A graph built from tables: nodes, edges, and the days on which a node goes."""

from __future__ import annotations

from collections.abc import Callable

import koken
from koken.executors import Command
from tests.programs.tables import table

app = koken.App("pipeline")
BODIES: dict[str, Callable[[str], Command]] = {"shellNode": lambda params: Command(params)}
parents: dict[str, list[str]] = {}
for edge in table("adjacency_lists"):
    parents.setdefault(edge["nodeTo"], []).append(edge["nodeFrom"])
gates = {row["node_id"]: row["scheduled_days"] for row in table("nodes_execution_schedule")}
pipeline = app.workflow(
    "pipeline", schedule="0 20 * * *", timezone="America/New_York", owner="data"
)
for node in table("nodes"):
    pipeline.step(
        BODIES[node["type"]](node["params"]),
        name=node["id"],
        after=parents.get(node["id"], []),
        gate=gates.get(node["id"]),
    )
