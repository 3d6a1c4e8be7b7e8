"""Values in messages: what a person can look up, and the same in each process."""

from __future__ import annotations

import pytest

from koken.model.shown import shown


def publish() -> None: ...


class Thing:
    def publish(self) -> None: ...


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (publish, "the function publish"),
        (Thing().publish, "the function publish"),
        (lambda: None, "a lambda"),
        ([publish], "[<function publish>]"),
        (Thing(), "<tests.model.test_shown.Thing object>"),
        (Thing, "<class 'tests.model.test_shown.Thing'>"),
        ("moves at 0x10", "'moves at 0x10'"),
        (5, "5"),
        (None, "None"),
    ],
)
def test_a_value_without_its_place(value: object, text: str) -> None:
    assert shown(value) == text
