"""What goes out about what waits for somebody, for the description of the API."""

from __future__ import annotations

from typing import Any

from pydantic import AwareDatetime, BaseModel, Field


class AskedShown(BaseModel):
    """A question that is open."""

    run: str
    root: str
    job: str
    step: str | None
    key: str
    text: str
    to: str | None = Field(description="Of whom it asks.")
    reason: str | None
    form: dict[str, Any] = Field(alias="schema", description="A JSON Schema of the answer.")
    asked_at: AwareDatetime
    until: AwareDatetime | None


class AwaitedShown(BaseModel):
    """A run that waits for a signal."""

    run: str
    root: str
    job: str
    step: str | None
    names: list[str]
    since: AwareDatetime | None
    until: AwareDatetime | None
