"""Types for annotations around jobs; what they mean stands with ``App.job`` and ``Context``."""

from __future__ import annotations

from koken.define.options import JobOptions
from koken.model.duration import Duration
from koken.model.policy import Effect, Overlap
from koken.model.run import Trigger
from koken.model.states import State

__all__ = ["Duration", "Effect", "JobOptions", "Overlap", "State", "Trigger"]
