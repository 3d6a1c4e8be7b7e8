"""Which systems there are, and which of them are installed."""

from __future__ import annotations

import importlib

from bench.systems.base import System

NAMES = ("koken", "raw", "pgqueuer", "procrastinate", "dbos", "oban")


def load(name: str) -> System:
    """The system of that name. Raises ``ImportError`` when it is not installed."""
    module = importlib.import_module(f"bench.systems.{name}")
    system = module.SYSTEM
    assert isinstance(system, System)
    return system


def installed(names: tuple[str, ...]) -> tuple[list[System], list[str]]:
    """The systems that can be measured here, and the names of those that cannot."""
    found: list[System] = []
    missing: list[str] = []
    for name in names:
        try:
            found.append(load(name))
        except ImportError:
            missing.append(name)
    return found, missing
