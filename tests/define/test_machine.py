"""Machines and transitions: what they hold, and what is refused when the program is read."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import Any

import pytest

from koken import App, Job, Machine
from koken.define.machine import parts
from koken.errors import DeclarationError


class Status(StrEnum):
    DRAFT = "DRAFT"
    LIVE = "LIVE"
    OVER = "OVER"


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Numbered(Enum):
    DRAFT = 1


app = App("dne")


@app.job(subject="experiment:{experiment_id}")
def set_up(experiment_id: int, note: str = "") -> None: ...


@app.job(subject="experiment:{number}")
def end_all(number: int) -> None: ...


@app.job(subject="trial:{experiment_id}")
def elsewhere(experiment_id: int) -> None: ...


@app.job(subject="experiment:{experiment_id}:{day}")
def daily(experiment_id: int, day: str) -> None: ...


@app.job
def plain(experiment_id: int) -> None: ...


@app.job
def bare() -> None: ...


async def asks(row: Mapping[str, Any]) -> str | None: ...


def machine(states: Any = Status, **names: Any) -> Machine:
    """A machine of its own; the jobs stay the app's."""
    app.registry.machines.discard("experiment")
    given = {"table": "experiment", "column": "status", **names}
    return app.machine("experiment", states=states, **given)


def test_what_a_machine_holds() -> None:
    made = machine(table="sales.experiment", key="number")
    assert (made.name, made.table, made.column, made.key) == (
        "experiment",
        ("sales", "experiment"),
        "status",
        "number",
    )
    assert made.states == ("DRAFT", "LIVE", "OVER")
    assert repr(made) == "Machine('experiment')"
    assert machine(["on", "off"]).states == ("on", "off")
    assert machine(Colour).states == ("red", "blue")
    assert machine().key == "id"


def test_what_a_transition_holds() -> None:
    made = machine()
    one = made.transition(
        "go", Status.DRAFT, "LIVE", start=set_up, on_success=Status.OVER, on_failure="DRAFT"
    )
    assert (one.name, one.sources, one.target) == ("go", ("DRAFT",), "LIVE")
    assert (one.on_success, one.on_failure, one.argument) == ("OVER", "DRAFT", "experiment_id")
    assert (one.guard, one.who, one.supersedes, one.excludes) == (None, None, (), ())
    two = made.transition("stop", [Status.DRAFT, "LIVE"], Status.OVER, who="anna")
    assert (two.sources, two.who, two.start, two.argument) == (
        ("DRAFT", "LIVE"),
        ("anna",),
        None,
        None,
    )
    assert list(made.transitions) == ["go", "stop"]
    assert repr(two) == "Transition('experiment', 'stop')"


def test_jobs_that_are_set_against_others_share_their_subject_with_none() -> None:
    other = App()
    jobs = [other.job(job.fn, subject=job.spec.subject) for job in (set_up, end_all, elsewhere)]
    made = other.machine("experiment", table="experiment", column="status", states=Status)
    made.transition("go", "DRAFT", "LIVE", start=jobs[0])
    assert [spec.subject_exclusive for spec in other.registry.specs()] == [False, False, False]
    made.transition("stop", "LIVE", "OVER", start=jobs[1], supersedes=jobs[0])
    assert [spec.subject_exclusive for spec in other.registry.specs()] == [True, True, False]
    made.transition("look", "LIVE", "LIVE", excludes=[jobs[2]])
    assert [spec.subject_exclusive for spec in other.registry.specs()] == [True, True, True]
    later = jobs[0].using(delay=1)
    assert other.registry.spec(later).to_json()["subject_exclusive"] is True


def test_two_machines_have_two_names() -> None:
    machine()
    with pytest.raises(DeclarationError) as caught:
        app.machine("experiment", table="t", column="c", states=["a"])
    assert str(caught.value) == (
        "machine 'experiment' is declared twice. Give one of them another name."
    )


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"table": "a.b.c"}, "table is 'a.b.c'; write a name, or schema.name."),
        ({"table": "a."}, "table is 'a.'; write a name, or schema.name."),
        ({"table": ""}, "table is empty; write a name."),
        ({"column": 3}, "column is 3; write a text."),
        ({"states": []}, "there are no states; name them."),
        (
            {"states": Numbered},
            (
                "Numbered.DRAFT stands for 1; a state is a text, as the column has it. Use a "
                "StrEnum, or write states=[each.name for each in …]."
            ),
        ),
        ({"states": 3}, "states is 3; write a list."),
    ],
)
def test_what_no_machine_can_be(names: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        machine(**names)
    assert str(caught.value) == f"machine 'experiment': {message}"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("experiment", ("experiment",)),
        ("Sales.Orders", ("Sales", "Orders")),
        ('"my.schema"."a ""b"""', ("my.schema", 'a "b"')),
        ("a table", ("a table",)),
    ],
)
def test_names_of_tables(table: str, expected: tuple[str, ...]) -> None:
    assert parts(table) == expected


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (
            ("go", "DRAFFT", "LIVE"),
            {},
            "goes from 'DRAFFT'; the states are DRAFT, LIVE, OVER. Did you mean DRAFT?",
        ),
        (("go", [], "LIVE"), {}, "goes from no state; name one."),
        (("go", "DRAFT", Colour.RED), {}, "goes to 'red'; the states are DRAFT, LIVE, OVER."),
        (
            ("go", "DRAFT", "LIVE"),
            {"start": set_up, "on_success": "OWER"},
            "on_success is 'OWER'; the states are DRAFT, LIVE, OVER. Did you mean OVER?",
        ),
        (
            ("go", "DRAFT", "LIVE"),
            {"on_failure": "DRAFT"},
            "on_failure is about the job that it starts; add start=.",
        ),
        (
            ("go", "DRAFT", "LIVE"),
            {"supersedes": [set_up]},
            "supersedes is about the job that it starts; add start=.",
        ),
        (
            ("go", "DRAFT", "LIVE"),
            {"start": bare},
            "job 'bare' has no argument for the subject's id. Give it one, the first.",
        ),
        (
            ("go", "DRAFT", "LIVE"),
            {"start": set_up.fn},
            "the function set_up is no job; declare it with @app.job.",
        ),
        (
            ("go", "DRAFT", "LIVE"),
            {"start": Job("set_up")},
            "job 'set_up' is not of this app; a machine starts and stops its app's jobs.",
        ),
        (
            ("go", "DRAFT", "LIVE"),
            {"start": plain, "supersedes": set_up},
            (
                "job 'plain' has no subject, so nobody knows what it works on. "
                'Write subject="…:{experiment_id}".'
            ),
        ),
        (
            ("go", "DRAFT", "LIVE"),
            {"excludes": [daily]},
            (
                "job 'daily' is about 'experiment:{experiment_id}:{day}'; a machine knows the "
                'subject by its id alone. Write subject="…:{experiment_id}".'
            ),
        ),
        (
            ("go", "DRAFT", "LIVE"),
            {"start": end_all, "excludes": [set_up, elsewhere]},
            (
                "job 'elsewhere' is about 'trial:{experiment_id}', job 'end_all' about "
                "'experiment:{number}'; they meet only on the same subject. Write both alike."
            ),
        ),
        (("go", "DRAFT", "LIVE"), {"guard": "x"}, "guard is 'x'; write a function of (row)."),
        (
            ("go", "DRAFT", "LIVE"),
            {"guard": asks},
            "guard is async def, but it is asked while the row is held. Write def.",
        ),
        (("go", "DRAFT", "LIVE"), {"who": [3]}, "who is 3; write a text."),
        (("", "DRAFT", "LIVE"), {}, "name is empty; write a name."),
    ],
)
def test_what_no_transition_can_be(
    given: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        machine().transition(*given, **options)
    assert str(caught.value) == f"machine 'experiment': transition {given[0]!r}: {message}"


def test_rules_that_cannot_be_called_so() -> None:
    with pytest.raises(
        DeclarationError, match=r"guard is a function of \(row\), and a lambda cannot"
    ):
        machine().transition("go", "DRAFT", "LIVE", guard=lambda: None)  # type: ignore[arg-type,misc]
    with pytest.raises(
        DeclarationError, match=r"who is a function of \(by, row\), and a lambda cannot"
    ):
        machine().transition("go", "DRAFT", "LIVE", who=lambda by: None)  # type: ignore[arg-type,misc]


def test_two_transitions_have_two_names() -> None:
    made = machine()
    made.transition("go", "DRAFT", "LIVE")
    with pytest.raises(DeclarationError) as caught:
        made.transition("go", "LIVE", "OVER")
    assert str(caught.value) == (
        "machine 'experiment': transition 'go': there is one of that name already; give it another."
    )


def test_an_option_that_there_is_not() -> None:
    with pytest.raises(TypeError) as caught:
        machine().transition("go", "DRAFT", "LIVE", exclude=[set_up])  # type: ignore[call-arg]
    assert str(caught.value) == ('transition() has no option "exclude"; did you mean "excludes"?')


def test_a_transition_that_is_refused_leaves_no_trace() -> None:
    other = App()
    one = other.job(end_all.fn, subject="experiment:{number}")
    two = other.job(elsewhere.fn, subject="trial:{experiment_id}")
    made = other.machine("experiment", table="experiment", column="status", states=Status)
    with pytest.raises(DeclarationError):
        made.transition("stop", "LIVE", "OVER", start=one, supersedes=[two])
    assert made.transitions == {}
    assert other.registry.exclusive == set()
