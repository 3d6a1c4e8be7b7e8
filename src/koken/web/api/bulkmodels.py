"""What goes out about bulks, for the description of the API."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, BaseModel, Field

from koken.model.bulk import BulkVerb
from koken.web.api.models import RunShown, Shown


class BulkShown(Shown):
    """Something that is done to many runs, at a rate."""

    id: str
    verb: BulkVerb
    query: str
    rate: float
    by: str
    reason: str
    state: Literal["running", "paused", "stopped", "done"]
    total: int
    done: int
    going: int = Field(description="Of those that had their turn, so many have not ended since.")
    recovered: int = Field(description="Retried, and succeeded.")
    failed_again: int
    refused: int
    stopped_reason: str | None
    created_at: AwareDatetime
    finished_at: AwareDatetime | None


class RefusalShown(BaseModel):
    """Why runs were left as they are."""

    reason: str
    runs: int


class PreviewShown(Shown):
    """What a bulk would be about."""

    runs: int
    jobs: dict[str, int]
    first: list[RunShown]
    foreseen: int = Field(description="Of so many of them, the first, refusals were looked up.")
    refusals: dict[str, int] = Field(description="Why some would be refused, and how many.")
