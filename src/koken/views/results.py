"""What came of a step, in brief."""

from __future__ import annotations

import json

from koken.model.steps import StepSpec
from koken.store.database import Row

COUNTS = {"items", "succeeded", "skipped"}


def result_of(row: Row, spec: StepSpec | None) -> str:
    """``"big"``; of a list how long it is, in the words of the step: ``214 files``."""
    missed = row["bad_children"] or 0
    if spec is not None and spec.accept is not None and missed and row["state"] == "succeeded":
        return (
            f"{missed:,} skipped: accepted at {spec.accept.share * 100:g} % of {spec.accept.of:,}"
        )
    if row["length"] is not None:
        return listed(row["length"], row["step"])
    text: str = row["result"] or ""
    return items(text) if spec is not None and spec.each else text


def listed(length: int, step: str) -> str:
    """``214 files``."""
    return f"{length:,} {step if step.endswith('s') else 'items'}"


def items(text: str) -> str:
    """The counts of a step with items in words: ``3 items``, ``2 of 3, 1 skipped``."""
    try:
        counts = json.loads(text)
    except ValueError:  # it was cut
        return text
    if not isinstance(counts, dict) or not counts.keys() >= COUNTS:
        return text
    if counts["succeeded"] == counts["items"]:
        return f"{counts['items']:,} {'item' if counts['items'] == 1 else 'items'}"
    told = [f"{counts['succeeded']:,} of {counts['items']:,}"]
    told += [f"{counts[how]:,} {how}" for how in ("skipped", "cancelled") if counts.get(how)]
    return ", ".join(told)
