"""Days of the log: each has a partition of its own, made before it begins."""

from __future__ import annotations

from datetime import date

DAYS_AHEAD = 3
"""So many days have their partition before they begin."""


def partition(day: date) -> str:
    """The partition of a day."""
    return f"log_line_{day:%Y%m%d}"
