"""How many of many must succeed: the rule by which a fan-out counts as done."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from koken.errors import DeclarationError
from koken.model.shown import shown


@dataclass(frozen=True, slots=True, init=False)
class Accept:
    """At least the share ``share`` of the items succeed, once there are ``of`` items.

    Of fewer items ``at_least`` succeed, and never less than that. ``Accept(0.95, of=20)``: 19 of
    20 items, 190 of 200, and of 19 items a single one.
    """

    share: float
    of: int
    at_least: int

    def __init__(self, share: float, *, of: int = 1, at_least: int = 1) -> None:
        if type(share) not in (int, float) or not 0 <= share <= 1:
            raise DeclarationError(
                f"accept is {shown(share)}; it is a share from 0 to 1, such as 0.95"
            )
        for name, number, least in (("of", of, 1), ("at_least", at_least, 0)):
            if type(number) is not int or number < least:
                raise DeclarationError(f"accept: {name} is {shown(number)}; it counts from {least}")
        object.__setattr__(self, "share", float(share))
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "at_least", at_least)

    def required(self, total: int) -> int:
        """How many of ``total`` items must succeed; of no items none."""
        share = Fraction(repr(self.share)) if total >= self.of else Fraction(0)
        return min(total, max(math.ceil(share * total), self.at_least))

    def tolerated(self, total: int) -> int:
        """How many of ``total`` items may fail."""
        return total - self.required(total)

    def to_json(self) -> dict[str, Any]:
        """As plain values, for storage."""
        return {"share": self.share, "of": self.of, "at_least": self.at_least}
