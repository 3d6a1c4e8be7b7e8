"""What goes out about the state of an installation, for the description of the API."""

from __future__ import annotations

from pydantic import BaseModel, Field


class FindingShown(BaseModel):
    """One line of the doctor."""

    name: str
    good: bool
    text: str
    remedy: str | None


class PrunableShown(BaseModel):
    """What a prune would take."""

    runs: int
    more: bool = Field(description="Whether there are more runs than were looked at.")
    ticks: int
    log_days: int
