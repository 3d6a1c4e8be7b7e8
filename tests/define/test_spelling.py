"""Near misses."""

from __future__ import annotations

import pytest

from koken.define.spelling import did_you_mean, meant, nearest


@pytest.mark.parametrize(
    ("name", "found"),
    [("dealy", "delay"), ("DELAY", "delay"), ("run", None), ("exp_id", "experiment_id")],
)
def test_nearest_name(name: str, found: str | None) -> None:
    assert nearest(name, ["delay", "experiment_id"]) == found


def test_sentence() -> None:
    assert did_you_mean("dya", ["day"]) == " Did you mean day?"
    assert did_you_mean("x", ["day"]) == ""


def test_the_right_name_is_looked_for_of_the_first_few_only() -> None:
    found = meant([f"da{number}" for number in range(7)], ["day"])
    assert [*found.values()] == [" Did you mean day?"] * 5 + ["", ""]
