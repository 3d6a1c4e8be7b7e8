"""What people and programs say to a run that waits: values of signals, answers to questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import fastjsonschema
from fastjsonschema import JsonSchemaValueException

from koken.define.problems import invalid
from koken.define.spelling import did_you_mean
from koken.engine.durable import Question
from koken.errors import InvalidArguments, NotFound
from koken.model import codec
from koken.model.durable import wrong_name
from koken.model.run import Run
from koken.model.shown import shown

REFUSED = "Nothing was sent."


def signal_text(name: str, value: Any) -> str:
    """The value of a signal as JSON text. Raises ``InvalidArguments``."""
    wrong = wrong_name(name)
    if wrong:
        raise InvalidArguments(f"a signal {wrong}. {REFUSED}", {"name": wrong})
    return text_of(f"signal {name!r}", value)


def chosen(questions: Sequence[Question], named: object, run: Run[Any]) -> Question:
    """The question that is meant: by its text or its key.

    Raises ``NotFound``, and ``InvalidArguments`` for a name that is no text.
    """
    if not isinstance(named, str):
        problem = f"is {shown(named)}; name the question by its text, or '' for the only one"
        raise invalid("answer", {"question": problem}, end=REFUSED)
    found = [each for each in questions if not named or named in (each.text, each.key)]
    if len(found) == 1:
        return found[0]
    about = f"run {run.id} of {run.job}"
    if not questions:
        raise NotFound(f"{about} asks nothing")
    texts = ", ".join(f"{each.text!r} ({each.key})" for each in questions)
    if found:
        raise NotFound(f"{about} asks more than one question; say which: {texts}")
    meant = did_you_mean(named, [each.text for each in questions])
    raise NotFound(f"{about} does not ask {named!r}.{meant} It asks {texts}")


def answer_text(question: Question, value: Any) -> str:
    """An answer as JSON text, if it fits its question. Raises ``InvalidArguments``."""
    text = text_of(f"answer to {question.text!r}", value)
    try:
        fastjsonschema.validate(codec.decode(question.schema), codec.decode(text))
    except JsonSchemaValueException as error:
        path = ".".join(str(part) for part in error.path[1:])
        problem = str(error.message).removeprefix(str(error.name)).strip()
        about = f"answer to {question.text!r}"
        raise invalid(about, {path: f"the value {problem}"}, end=REFUSED) from None
    return text


def text_of(what: str, value: Any) -> str:
    """A value as JSON text. Raises ``InvalidArguments``."""
    try:
        return codec.encode(value, name="the value")
    except codec.Unstorable as error:
        raise invalid(what, {"": str(error)}, end=REFUSED) from None
