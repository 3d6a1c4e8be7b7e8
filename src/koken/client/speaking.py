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


def check_signal(name: str, text: str, forms: Sequence[str]) -> None:
    """Refuse a value that fits none of the forms, if there are any.

    Raises ``InvalidArguments``.
    """
    for number, form in enumerate(forms, 1):
        try:
            check_form(f"signal {name!r}", text, form)
            return
        except InvalidArguments:
            if number == len(forms):
                raise


def chosen(questions: Sequence[Question], named: object, run: Run[Any]) -> Question:
    """The question that is meant: by its key or its text.

    Raises ``NotFound``, and ``InvalidArguments`` for a name that is no text.
    """
    if not isinstance(named, str):
        problem = f"is {shown(named)}; name the question by its text, or '' for the only one"
        raise invalid("answer", {"question": problem}, end=REFUSED)
    found = [each for each in questions if each.key == named]
    found = found or [each for each in questions if not named or each.text == named]
    if len(found) == 1:
        return found[0]
    about = f"run {run.id} of {run.job}"
    if not questions:
        raise NotFound(f"{about} asks nothing")
    texts = [each.text for each in questions]
    if not found:
        meant = did_you_mean(named, texts)
        asked = ", ".join(dict.fromkeys(repr(text) for text in texts))
        raise NotFound(f"{about} does not ask {named!r}.{meant} It asks {asked}")
    alike = {text for text in texts if texts.count(text) > 1}
    told = (
        f"{each.text!r} (key {each.key!r})" if each.text in alike else repr(each.text)
        for each in found
    )
    raise NotFound(
        f"{about} asks more than one question: {', '.join(told)}. "
        f"Say which: koken answer {run.id} VALUE --question {'KEY' if alike else 'TEXT'}"
    )


def answer_text(question: Question, value: Any) -> str:
    """An answer as JSON text, if it fits its question. Raises ``InvalidArguments``."""
    about = f"answer to {question.text!r}"
    text = text_of(about, value)
    check_form(about, text, question.schema)
    return text


def check_form(what: str, text: str, form: str) -> None:
    """Refuse what does not fit a JSON Schema. Raises ``InvalidArguments``."""
    try:
        fastjsonschema.validate(codec.decode(form), codec.decode(text))
    except JsonSchemaValueException as error:
        below = str(error.name).removeprefix("data")
        problem = str(error.message).removeprefix(str(error.name)).strip()
        raise refused(what, below, f"the value {problem}") from None


def text_of(what: str, value: Any) -> str:
    """A value as JSON text. Raises ``InvalidArguments``."""
    try:
        return codec.encode(value, name="the value")
    except codec.Unstorable as error:
        raise refused(what, "", str(error)) from None


def refused(what: str, below: str, problem: str) -> InvalidArguments:
    """The error for a value of what is sent, or for what stands ``below`` it."""
    told = invalid(what, {below.removeprefix("."): problem}, end=REFUSED)
    return InvalidArguments(str(told), {f"value{below}": problem})
