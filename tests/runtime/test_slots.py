"""Slots: how many bodies at once, and how far ahead runs are fetched."""

from __future__ import annotations

import pytest

from koken.runtime.slots import Slots


def after(*took: float, total: int = 10) -> Slots:
    """Slots in which bodies took so long, all done."""
    slots = Slots(total)
    for each in took:
        slots.begin()
        slots.end(each)
    return slots


def test_nothing_is_fetched_ahead_before_the_pace_is_known() -> None:
    assert after().room == 10


@pytest.mark.parametrize(
    ("took", "ahead"),
    [(0.0, 500), (0.001, 500), (0.01, 50), (0.02, 25), (0.021, 0), (3600.0, 0)],
)
def test_short_bodies_are_fetched_ahead_long_ones_never(took: float, ahead: int) -> None:
    assert after(took).ahead() == ahead


def test_one_long_body_ends_it_at_once_and_short_ones_bring_it_back_slowly() -> None:
    slots = after(0.001, 10.0)
    assert slots.ahead() == 0
    for _ in range(20):
        slots.begin()
        slots.end(0.001)
    assert slots.pace is not None
    assert slots.ahead() == 0
    for _ in range(20):
        slots.begin()
        slots.end(0.001)
    assert slots.ahead() > 0


def test_what_waits_counts_against_the_room() -> None:
    slots = after(0.01)
    slots.begin()
    assert (slots.free, slots.room) == (9, 59)


def test_a_queue_is_full_from_its_last_slot_until_one_is_free() -> None:
    slots = Slots(2)
    slots.begin()
    assert slots.full_since is None
    slots.begin()
    assert slots.full_since is not None
    slots.end(1.0)
    assert slots.full_since is None
