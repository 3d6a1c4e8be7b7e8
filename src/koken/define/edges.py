"""What goes along the edges of a workflow: results that must be what a step wants."""

from __future__ import annotations

from typing import Any

from koken.define import edgetypes
from koken.define.body import Body
from koken.define.draft import Draft, Sketch
from koken.define.edgetypes import fits, short
from koken.define.function import Function
from koken.define.signature import EMPTY, Parameter
from koken.define.spelling import nearest
from koken.errors import DeclarationError


def result_of(body: Body) -> Any:
    """The type of a body's result, as far as it says."""
    return body.result.hint if isinstance(body, Function) else EMPTY


def item_given(draft: Draft) -> Any:
    """The type of what a step, or one run of a step with each, gives."""
    return result_of(draft.target.body if draft.target else draft.job.body)


def given(draft: Draft) -> Any:
    """The type of what a step gives to others."""
    item = item_given(draft)
    if draft.each is None:
        return item
    return list if item is EMPTY else list[item]  # type: ignore[valid-type]  # known at run time


def check(sketch: Sketch, draft: Draft, parameter: Parameter, source: str) -> None:
    """Refuse a parameter that cannot be what the step ``source`` gives."""
    other = sketch.drafts[source]
    if not isinstance(draft.job.body, Function) or fits(given(other), parameter.hint):
        return
    gives = short(item_given(other))
    each = f" for each {other.each[0]}" if other.each else ""
    raise mismatch(draft.job.name, parameter, f"step {source!r} gives {gives}{each}", given(other))


def check_each(sketch: Sketch, draft: Draft, parameter: Parameter, source: str) -> None:
    """Refuse to go over what is no list, or has other items."""
    if source in sketch.drafts:
        hint, what = given(sketch.drafts[source]), f"step {source!r} gives"
    else:
        hint, what = sketch.arguments[source].hint, f"argument {source!r} is"
    item = edgetypes.goes_over(hint)
    if item is None:
        raise DeclarationError(
            f"{draft.job.name} goes over each {parameter.name}, but {what} {short(hint)}, which is "
            "no list."
        )
    if isinstance(draft.job.body, Function) and not fits(item, parameter.hint):
        raise mismatch(draft.job.name, parameter, f"{what} {short(hint)}", item)


def check_undo(sketch: Sketch, draft: Draft, parameter: Parameter) -> None:
    """Refuse a parameter of the undo that cannot be what it gets."""
    undo, name = draft.undo, parameter.name
    if undo is None or not isinstance(undo.body, Function):
        return
    gives = item_given(draft) if name == draft.name else given(sketch.drafts[name])
    if not fits(gives, parameter.hint):
        raise mismatch(undo.name, parameter, f"step {name!r} gives {short(gives)}", gives)


def check_choice(sketch: Sketch, draft: Draft, name: str) -> None:
    """Refuse a condition that never holds, since the value is one of a few others."""
    if not isinstance(draft.condition, dict):
        return
    if name in sketch.drafts:
        hint, what = given(sketch.drafts[name]), f"step {name!r} gives"
    else:
        hint, what = sketch.arguments[name].hint, f"argument {name!r} is"
    choices = edgetypes.choices(hint)
    for value in draft.condition[name]:
        if choices is not None and value not in choices:
            found = (
                nearest(value, [c for c in choices if isinstance(c, str)])
                if isinstance(value, str)
                else None
            )
            raise DeclarationError(
                f"{draft.job.name} goes when {name} is {value!r}, but {what} "
                f"{' or '.join(repr(each) for each in choices)}."
                f"{f' Did you mean {found!r}?' if found else ''}"
            )


def mismatch(label: str, parameter: Parameter, gives: str, wanted: Any) -> DeclarationError:
    """The error for a parameter of another type than what it receives."""
    name = parameter.name
    better = short(wanted) if parameter.default is not None else f"{short(wanted)} | None"
    return DeclarationError(
        f"{label} wants {name}: {short(parameter.hint)}, but {gives}. Write {name}: {better}."
    )
