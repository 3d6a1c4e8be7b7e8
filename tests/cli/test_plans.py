"""How a repair's plan is told, word for word."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from koken.cli.plans import lines
from koken.model.plan import Again, Input, Plan, Taken, Then
from koken.model.policy import Effect
from koken.model.states import State

NOW = datetime(2026, 12, 1, 1, 48, tzinfo=UTC)
CRUNCH = Again(
    step="crunch",
    effect=Effect.PURE,
    inputs=(Input("table", 209, datetime(2026, 11, 30, 22, 58, tzinfo=UTC)),),
)


def test_a_plan_in_words() -> None:
    plan = Plan(
        verb="retry",
        run=412,
        job="nightly",
        from_step="crunch",
        timezone="Europe/Berlin",
        again=(CRUNCH,),
        then=(
            Then(step="publish", not_before=datetime(2026, 12, 1, 3, 30, tzinfo=UTC)),
            Then(step="site", starts="publish_site"),
        ),
        keeps=("files", "table", "size"),
        stays={"add_up": State.SKIPPED},
        locks=(Taken("cluster"),),
        max_attempts=2,
    )
    assert [f"  {label:<8}{line}" for label, line in lines(plan, NOW, ZoneInfo(plan.timezone))] == [
        (
            "  again   crunch    pure           inputs as recorded at 23:58: table (209)       "
            "lock cluster: free"
        ),
        (
            "  then    publish   not declared   not begun yet; gate 04:30                      "
            "site: starts job publish_site"
        ),
        (
            "  keeps   files, table, size · add_up stays skipped · no outside effect may repeat · "
            "attempts count from 1 of 2 again"
        ),
    ]


def test_times_are_those_of_who_reads() -> None:
    plan = Plan(
        verb="retry",
        run=412,
        job="nightly",
        timezone="Europe/Berlin",
        again=(CRUNCH,),
        then=(Then(step="publish", not_before=datetime(2026, 12, 1, 3, 30, tzinfo=UTC)),),
        keeps=("table",),
        stays={},
    )
    far = [line for _, line in lines(plan, NOW, UTC)]
    assert "inputs as recorded at 22:58: table (209)" in far[0]
    assert "gate 03:30" in far[1]
    near = [line for _, line in lines(plan, NOW, ZoneInfo("Europe/Rome"))]
    assert "inputs as recorded at 23:58: table (209)" in near[0]


def test_what_may_repeat_and_what_was_undone() -> None:
    plan = Plan(
        verb="retry",
        run=7,
        job="pay",
        again=(
            Again(step="charge", effect=Effect.ONCE),
            Again(step="wire", effect=Effect.UNSAFE, items=3),
            Again(step="tell"),
        ),
        stays={},
        undone=("charge",),
        locks=(Taken("account:7", 6),),
    )
    assert lines(plan, NOW, ZoneInfo(plan.timezone)) == [
        (
            "again",
            "charge (undone)   once                                lock account:7: held by run 6",
        ),
        ("", "wire              unsafe         3 of its items"),
        ("", "tell              not declared"),
        (
            "",
            (
                "may repeat: charge (once, under its key), "
                "wire (unsafe: wants --force), tell (not declared)"
            ),
        ),
    ]


def test_a_plan_without_anything_that_has_begun() -> None:
    plan = Plan(verb="skip", run=7, job="pay", then=(Then(step="tell"), Then(step="end")), stays={})
    assert lines(plan, NOW, ZoneInfo(plan.timezone)) == [
        ("then", "tell   not declared   not begun yet       end"),
        ("", "no outside effect may repeat"),
    ]


def test_a_plan_of_many_steps_is_told_in_part() -> None:
    plan = Plan(
        verb="retry",
        run=7,
        job="wide",
        again=tuple(Again(step=f"s{n}", effect=Effect.PURE) for n in range(25)),
        then=tuple(Then(step=f"t{n}") for n in range(20)),
        keeps=tuple(f"k{n}" for n in range(1000)),
        stays={},
    )
    found = lines(plan, NOW, ZoneInfo(plan.timezone))
    assert len(found) == 23
    assert found[20] == ("", "and 5 more")
    assert found[21][1].endswith(" · t11 · t12 · and 7 more")
    assert found[22][1].startswith("k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, and 988 more")


def test_windows_are_told_and_those_that_have_closed() -> None:
    plan = Plan(
        verb="retry",
        run=7,
        job="copy",
        again=(Again(step="copy", closes=datetime(2026, 12, 1, 1, 0, tzinfo=UTC)),),
        then=(Then(step="check", closes=datetime(2026, 12, 1, 6, 0, tzinfo=UTC)),),
        stays={},
    )
    assert lines(plan, NOW, ZoneInfo(plan.timezone))[:2] == [
        ("again", "copy    not declared   its window closed 01:00; goes now"),
        ("then", "check   not declared   not begun yet; window until 06:00"),
    ]


def test_when_a_window_opens_is_told_as_a_window() -> None:
    opens, closes = datetime(2026, 12, 1, 4, 0, tzinfo=UTC), datetime(2026, 12, 1, 6, 0, tzinfo=UTC)
    later = (Then(step="check", not_before=opens, closes=closes),)
    plan = Plan(verb="retry", run=7, job="copy", then=later, stays={})
    assert lines(plan, NOW, ZoneInfo(plan.timezone))[0] == (
        "then",
        "check   not declared   not begun yet; window 04:00 to 06:00",
    )


def test_what_goes_only_after_a_failure_is_told_so() -> None:
    again = (Again(step="crunch"), Again(step="apologise", follows=True, for_failure=True))
    plan = Plan(verb="retry", run=7, job="copy", again=again, stays={}, keeps=("files",))
    assert lines(plan, NOW, ZoneInfo(plan.timezone))[1:] == [
        ("", "apologise   not declared   only if one before it fails"),
        ("keeps", "files · may repeat: crunch (not declared), apologise (not declared)"),
    ]
