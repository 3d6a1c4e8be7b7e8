"""From when on a schedule counts as late, wherever that is told."""

from __future__ import annotations

LATE = 60.0
"""Seconds after its time."""
