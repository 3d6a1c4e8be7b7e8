"""The public face: these names and no others, until somebody decides so."""

from __future__ import annotations

import koken
import koken.types

NAMES = {
    "Accept",
    "App",
    "AsyncClient",
    "AsyncContext",
    "Backoff",
    "Cancel",
    "Client",
    "Context",
    "Fail",
    "Job",
    "Lock",
    "Machine",
    "Operation",
    "Retry",
    "Run",
    "Schedule",
    "Skip",
    "Snooze",
    "Stall",
    "Step",
    "Workflow",
    "errors",
}


def test_names_of_koken() -> None:
    assert set(koken.__all__) == NAMES
    assert len(koken.__all__) == len(NAMES)
    assert [name for name in koken.__all__ if not hasattr(koken, name)] == []


def test_names_of_koken_types() -> None:
    assert koken.types.__all__ == [
        "Bulk",
        "Duration",
        "Effect",
        "JobOptions",
        "Overlap",
        "Plan",
        "State",
        "StepOptions",
        "Transition",
        "Trigger",
        "Why",
    ]
    assert [name for name in koken.types.__all__ if not hasattr(koken.types, name)] == []
