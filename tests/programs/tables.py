"""What the database of the pipeline holds: a diamond with a weekly, a monthly and a late node."""

from __future__ import annotations

Row = dict[str, str]
TABLES: dict[str, list[Row]] = {
    "nodes": [
        {"id": "100", "type": "shellNode", "params": "true"},
        {"id": "101", "type": "shellNode", "params": "echo weekly"},
        {"id": "102", "type": "shellNode", "params": "echo monthly"},
        {"id": "103", "type": "shellNode", "params": "echo late"},
        {"id": "154", "type": "shellNode", "params": "false"},
        {"id": "155", "type": "shellNode", "params": "echo the end"},
    ],
    "adjacency_lists": [
        {"nodeFrom": "100", "nodeTo": "101"},
        {"nodeFrom": "100", "nodeTo": "102"},
        {"nodeFrom": "100", "nodeTo": "103"},
        {"nodeFrom": "101", "nodeTo": "154"},
        {"nodeFrom": "102", "nodeTo": "154"},
        {"nodeFrom": "103", "nodeTo": "154"},
        {"nodeFrom": "154", "nodeTo": "155"},
    ],
    "nodes_execution_schedule": [
        {"node_id": "101", "scheduled_days": "* * * * 0,5,6"},
        {"node_id": "102", "scheduled_days": "* * 15 * *"},
        {"node_id": "103", "scheduled_days": "30 21 * * *"},
    ],
}


def table(name: str) -> list[Row]:
    """The rows of a table."""
    return TABLES[name]
