"""The jobs of a program, by name."""

from __future__ import annotations

import pytest

from koken.app import App
from koken.define.registry import Program, Registry
from koken.errors import DeclarationError, NotFound


def first() -> None: ...
def second() -> None: ...


def test_jobs_by_name_in_order() -> None:
    app = App("flights")
    one, two = app.job(second), app.job(first)
    assert list(app.registry) == [one, two]
    assert (len(app.registry), "first" in app.registry, "third" in app.registry) == (2, True, False)
    assert app.registry.get("first") is two


def test_unknown_name() -> None:
    app = App()
    app.job(second)
    with pytest.raises(NotFound) as caught:
        app.registry.get("secnod")
    assert str(caught.value) == "there is no job 'secnod'. Did you mean second?"
    with pytest.raises(NotFound) as empty:
        Registry().get("x")
    assert str(empty.value) == (
        "there is no job 'x': the program declares none. Are its modules imported?"
    )


def test_name_twice_names_both_places() -> None:
    app = App()
    app.job(first, name="report")
    with pytest.raises(DeclarationError) as caught:
        app.job(second, name="report")
    line = first.__code__.co_firstlineno
    assert str(caught.value) == (
        f"job 'report' is declared twice: {__file__}:{line} and {__file__}:{line + 1}. "
        "Give one of them another name."
    )


def test_workflows_that_start_each_other() -> None:
    app = App()
    day, week, month = (app.workflow(name) for name in ("day", "week", "month"))
    day.step(first)
    week.step(day)
    month.step(week, name="weeks")
    app.load()
    day.step(month, name="again")
    with pytest.raises(DeclarationError) as caught:
        app.load()
    assert str(caught.value) == (
        "workflows nest without end: day.again starts month, month.weeks starts week, "
        "week.day starts day. Take one of these steps out, or start its job from a function."
    )


def test_a_workflow_in_two_others_is_no_circle() -> None:
    app = App()
    day, week, month = (app.workflow(name) for name in ("day", "week", "month"))
    day.step(first)
    week.step(day)
    month.step(day)
    month.step(week)
    app.load()
    assert list(month.steps) == ["day", "week"]


def test_app_is_a_program() -> None:
    app = App("flights", modules=["flights.jobs"], queues={"google": {"limit": 4}})
    program: Program = app
    assert (program.name, program.modules) == ("flights", ("flights.jobs",))
    assert (program.settings, program.lifespan) == ({"queues": {"google": {"limit": 4}}}, None)
