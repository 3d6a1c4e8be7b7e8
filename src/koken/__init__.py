"""Koken runs an application's background work on time, once, and where it can be seen."""

from __future__ import annotations

from koken import errors
from koken.app import App
from koken.client.awaiting import AsyncClient
from koken.client.blocking import Client
from koken.define.context import AsyncContext, Context
from koken.define.job import Job
from koken.model.outcome import Cancel, Fail, Retry, Skip, Snooze
from koken.model.policy import Backoff, Lock
from koken.model.run import Run
from koken.model.schedule import Schedule

__all__ = [
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
    "Retry",
    "Run",
    "Schedule",
    "Skip",
    "Snooze",
    "errors",
]
