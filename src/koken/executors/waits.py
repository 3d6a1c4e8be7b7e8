"""Waits of a body: for an instant, a signal, the answer of a person. They hold no worker."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from koken.define.form import Form, Formless
from koken.define.problems import by_path, invalid
from koken.define.result import FREE, name_of
from koken.errors import InvalidArguments
from koken.executors.base import Parked
from koken.executors.way import Way
from koken.model import codec
from koken.model.durable import PAST_AN_ERROR, Met, Waiting, wrong_name
from koken.model.duration import Duration, in_words, seconds
from koken.model.shown import shown


async def sleep(way: Way, length: float) -> None:
    """Wait so many seconds."""
    told = f"sleep {length:g}"
    await met(way, told, Waiting(key="", ordinal=None, kind="sleep", seconds=length))


async def sleep_until(way: Way, instant: datetime) -> None:
    """Wait until an instant. Raises ``ValueError`` for one that is not aware."""
    if instant.tzinfo is None:
        raise ValueError(f"sleep_until({instant}): say in which time zone that is")
    told = f"sleep until {instant.isoformat()}"
    await met(way, told, Waiting(key="", ordinal=None, kind="sleep", until=instant))


async def signal(way: Way, name: str, kind: Any, timeout: Duration | None) -> Any:
    """The value of the next signal of that name; one of another type is passed by.

    Raises ``TimeoutError``.
    """
    wrong = wrong_name(name)
    if wrong:
        raise ValueError(f"a signal {wrong}")
    waiting = Waiting(
        key="",
        ordinal=None,
        kind="signal",
        name=name,
        seconds=limit(timeout),
        schema=schema_of(f"wait_signal({name!r})", kind),
    )
    late = f"no signal {name!r} came within {in_words(waiting.seconds or 0)}"
    return await fitting(way, f"signal {name!r}", kind, late, f"signal {name}", waiting)


async def ask(way: Way, question: str, kind: Any, to: str, timeout: Duration | None) -> Any:
    """A person's answer; asked again while it is none of that type. Raises ``TimeoutError``."""
    if not question or not isinstance(question, str):
        raise ValueError(f"a question needs a text; this one has {shown(question)}")
    waiting = Waiting(
        key="",
        ordinal=None,
        kind="question",
        name=codec.clean(question),
        seconds=limit(timeout),
        schema=schema_of(f"ask({question!r})", kind),
        to=to,
    )
    late = f"nobody answered {question!r} within {in_words(waiting.seconds or 0)}"
    told = f"question {question}"
    return await fitting(way, f"answer to {question!r}", kind, late, told, waiting)


async def fitting(way: Way, what: str, kind: Any, late: str, told: str, waiting: Waiting) -> Any:
    """What comes and is of that type; what is not stays on record, and the body waits again.

    Raises ``TimeoutError``.
    """
    if not way.loaded:
        await way.load()
    key, ordinal = way.enter_wait(told)
    waiting = replace(waiting, key=key, ordinal=ordinal)
    times = 1
    while True:
        found = await outcome(way, told, waiting)
        if found.value is None:
            raise TimeoutError(late)
        try:
            return typed(what, kind, found.value)
        except InvalidArguments as error:
            times += 1
            waiting = replace(
                waiting,
                key=f"{key} again {times}",
                ordinal=PAST_AN_ERROR,
                reason=codec.clean(str(error)),
                before=waiting.key,
            )
            tell(way, waiting)


def tell(way: Way, waiting: Waiting) -> None:
    """Say once in the run's log that a signal is passed by."""
    if waiting.kind == "signal" and waiting.key not in way.kept and way.undo is None:
        line = f"{waiting.reason} It is passed by, and the body goes on waiting"
        way.host.log("warning", "log", line)


async def met(way: Way, told: str, waiting: Waiting) -> Met:
    """What came of a wait; leaves the body when it is not over."""
    if not way.loaded:
        await way.load()
    key, ordinal = way.enter_wait(told)
    return await outcome(way, told, replace(waiting, key=key, ordinal=ordinal))


async def outcome(way: Way, told: str, waiting: Waiting) -> Met:
    """What came of a wait that has its key; leaves the body when it is not over."""
    key = waiting.key
    way.used.add(key)
    known = way.kept.get(key)
    if known is not None:
        check_same(way, codec.decode(known.value), waiting)
    found = over(codec.decode(known.value), known.left) if known is not None else None
    if found is None and way.undo is not None:
        await way.leave(way.undone())
    if found is None:
        found = await asked(way, waiting)
    if found.value is None and not found.late:
        wait_for = {"signal": waiting.name, "question": key}.get(waiting.kind, "")
        await way.leave(Parked(waiting.kind, found.left, wait_for, None, f"waits for {told}"))
    return found


async def asked(way: Way, waiting: Waiting) -> Met:
    """What the host knows of a wait."""
    way.asking += 1
    try:
        return await way.ask(way.host.wait(waiting))
    finally:
        way.asking -= 1
        way.notify()


def over(stands: dict[str, Any], left: float | None) -> Met | None:
    """What came of a wait by its record; None when that is not known yet."""
    if stands.get("late"):
        return Met(late=True)
    if "value" in stands:
        return Met(value=codec.encode(stands["value"], name="what came"))
    return Met(late=True) if stands["kind"] == "sleep" and left is not None and left <= 0 else None


def check_same(way: Way, stands: dict[str, Any], waiting: Waiting) -> None:
    """Raise ``WorkflowChanged`` when the record is of another wait."""
    if (stands["kind"], stands["name"]) != (waiting.kind, waiting.name):
        was, now = (f"{kind} {name!r}" if name else f"a {kind}" for kind, name in (
            (stands["kind"], stands["name"]), (waiting.kind, waiting.name)))  # fmt: skip
        raise way.drift(f"the wait on record is for {was}, and the body waits for {now} there")


def limit(timeout: Duration | None) -> float | None:
    """Seconds of a timeout."""
    return None if timeout is None else seconds(timeout, name="timeout")


def schema_of(what: str, kind: Any) -> str:
    """The form of what may come, as JSON text. Raises ``TypeError`` for a type that has none."""
    form = {} if kind in FREE else form_of(what, kind).json_schema()
    return codec.encode(form, name="the form of what may come")


def form_of(what: str, kind: Any) -> Form:
    """The form of a type. Raises ``TypeError`` for one that has none."""
    try:
        form = Form(kind)
        form.json_schema()
    except Formless as error:
        raise TypeError(f"{what}: {name_of(kind)} {error}") from None
    return form


def typed(what: str, kind: Any, text: str) -> Any:
    """The value of what came. Raises ``InvalidArguments`` when it is of another type."""
    if kind in FREE:
        return codec.decode(text)
    form = form_of(what, kind)
    try:
        return form.read(text)
    except ValidationError as error:
        raise invalid(what, by_path(error, form.json_schema(), about=what)) from None
