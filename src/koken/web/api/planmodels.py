"""What goes out about plans, for the description of the API."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field

from koken.web.api.models import Shown, StateName


class InputShown(Shown):
    """A result that a step takes as it is on record."""

    step: str
    items: int | None
    at: AwareDatetime | None


class AgainShown(Shown):
    """A step that has begun before and goes again; of a plain run the run itself."""

    step: str
    effect: str | None
    inputs: list[InputShown]
    items: int | None = Field(description="So many of its items; null: it goes as a whole.")
    closes_at: AwareDatetime | None = Field(description="When its window closes, or has closed.")
    follows: bool = Field(description="Whether it comes after another that goes again.")
    for_failure: bool = Field(description="Whether it goes only when one before it fails again.")


class ThenShown(Shown):
    """A step that has not begun and follows."""

    step: str
    effect: str | None
    not_before_at: AwareDatetime | None
    closes_at: AwareDatetime | None
    starts: str | None = Field(description="The job that it starts.")


class TakenShown(Shown):
    """A lock that is needed, and the run that has it now."""

    key: str
    held_by: str | None


class PlanShown(Shown):
    """What a repair would do."""

    verb: Literal["retry", "rerun", "skip", "resolve", "fork"]
    run: str
    job: str
    from_step: str | None
    again: list[AgainShown]
    then: list[ThenShown]
    keeps: list[str] = Field(description="What has succeeded and stays.")
    stays: dict[str, StateName] = Field(description="What else has ended and stays so.")
    may_repeat: list[str]
    locks: list[TakenShown]
    needs_force: bool
    undone: list[str]
    max_attempts: int | None = Field(description="Attempts count from 1 of so many again.")
    timezone: str = Field(description="In which its gates and windows are.")
