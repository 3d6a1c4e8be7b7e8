"""Koken runs an application's background work on time, once, and where it can be seen.

A name is imported when it is first asked for: ``koken next`` needs no driver, and a command is to
hear a signal from its first moment on.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from koken import errors

if TYPE_CHECKING:
    from koken.app import App
    from koken.client.awaiting import AsyncClient
    from koken.client.blocking import Client
    from koken.define.asynccontext import AsyncContext
    from koken.define.context import Context
    from koken.define.job import Job
    from koken.define.machine import Machine
    from koken.define.operation import Operation, Stall
    from koken.define.steps import Step
    from koken.define.workflow import Workflow
    from koken.model.accept import Accept
    from koken.model.outcome import Cancel, Fail, Retry, Skip, Snooze
    from koken.model.policy import Backoff, Lock
    from koken.model.run import Run
    from koken.model.schedule import Schedule

HOMES = {
    "app": ("App",),
    "client.awaiting": ("AsyncClient",),
    "client.blocking": ("Client",),
    "define.asynccontext": ("AsyncContext",),
    "define.context": ("Context",),
    "define.job": ("Job",),
    "define.machine": ("Machine",),
    "define.operation": ("Operation", "Stall"),
    "define.steps": ("Step",),
    "define.workflow": ("Workflow",),
    "model.accept": ("Accept",),
    "model.outcome": ("Cancel", "Fail", "Retry", "Skip", "Snooze"),
    "model.policy": ("Backoff", "Lock"),
    "model.run": ("Run",),
    "model.schedule": ("Schedule",),
}
__all__ = [
    "Accept", "App", "AsyncClient", "AsyncContext", "Backoff", "Cancel", "Client", "Context",
    "Fail", "Job", "Lock", "Machine", "Operation", "Retry", "Run", "Schedule", "Skip", "Snooze",
    "Stall", "Step", "Workflow", "errors",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    for home, names in HOMES.items():
        if name in names:
            found = globals()[name] = getattr(importlib.import_module(f"koken.{home}"), name)
            return found
    raise AttributeError(f"module 'koken' has no attribute {name!r}")
