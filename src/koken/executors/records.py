"""What records tell of a run: what is to be undone of it, and what people call them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from koken.executors.base import Undoing
from koken.model.durable import MAP, OPERATION, STEP, Kept, in_flight


def undone(kept: Mapping[str, Kept]) -> Undoing:
    """What is to be undone, in the order in which it was completed; last what is in flight."""
    done = [key for key, each in kept.items() if each.undo]
    done.sort(key=lambda key: completed(kept, key))
    names = [key.removeprefix(STEP) for key in done]
    for key in sorted((key for key in kept if key.startswith(OPERATION)), key=numbered):
        name = key.removeprefix(OPERATION)
        if STEP + name not in kept and in_flight(kept[key].value):
            names.append(name)
    return Undoing(tuple(names))


def completed(kept: Mapping[str, Kept], key: str) -> tuple[Any, ...]:
    """When a step was completed: of two in one commit the earlier of the body."""
    name, number = numbered(key)
    each = kept[key]
    whole = kept.get(MAP + name.removeprefix(STEP))
    place = each.ordinal or (whole.ordinal if whole else None) or 0
    return -each.age, place, number, key


def numbered(key: str) -> tuple[str, int]:
    """The key of a map and the number of its item; of another step its key."""
    name, _, rest = key.partition("[")
    return name, int(rest[:-1]) if rest[:-1].isdigit() else 0


def called(key: str) -> str:
    """What people call what a key stands for."""
    kind, _, name = key.partition(":")
    return f"wait {name}" if kind == "wait" else f"{kind} {name!r}"
