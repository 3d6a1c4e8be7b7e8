"""What requests that change something may say."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

DryRun = Annotated[bool, Query(description="1: only tell the plan, and do nothing.")]


Reason = Annotated[str, Query(max_length=10_000, description="Why, for the record.")]


class Asked(BaseModel):
    """What all have in common: unknown fields are refused, and so are texts for numbers."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Reasoned(Asked):
    """A change, and why it is made."""

    reason: str = Field("", max_length=10_000, description="Why, for the record.")
