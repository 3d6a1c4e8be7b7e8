"""Types for annotations around jobs; what they mean stands with ``App.job`` and ``Context``."""

from __future__ import annotations

from koken.define.machine import Transition
from koken.define.options import JobOptions
from koken.define.stepoptions import StepOptions
from koken.model.bulk import Bulk
from koken.model.duration import Duration
from koken.model.plan import Plan
from koken.model.policy import Effect, Overlap
from koken.model.runparts import Trigger
from koken.model.states import State
from koken.views.why import Why

__all__ = [
    "Bulk", "Duration", "Effect", "JobOptions", "Overlap", "Plan", "State", "StepOptions",
    "Transition", "Trigger", "Why",
]  # fmt: skip
