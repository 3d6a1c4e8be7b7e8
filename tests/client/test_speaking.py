from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from koken.client.speaking import answer_text, check_signal, chosen, signal_text
from koken.engine.durable import Question
from koken.errors import InvalidArguments, NotFound
from koken.model.states import State
from tests.executors.runs import child_run

RUN = child_run(7, State.WAITING)


NOON = datetime(2026, 3, 6, tzinfo=UTC)
NUMBER = '{"type":"integer"}'


def question(text: str = "How many?", schema: str = NUMBER, key: str = "wait:1") -> Question:
    return Question(key=key, text=text, to="", schema=schema, asked_at=NOON, until=None)


def test_a_signal_is_json() -> None:
    assert signal_text("go", {"n": [1, None]}) == '{"n":[1,null]}'
    with pytest.raises(InvalidArguments, match="signal 'go': the value holds a NUL character"):
        signal_text("go", "\x00")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("a\nb", r"a signal has a name in one line; this one has 'a\\nb'. Nothing was sent."),
        ("", "a signal has a name in one line; this one has ''"),
        ("a\x00", "a signal has a name in one line"),
        ("\ud800", "a signal has a name in one line"),
        (5, "a signal has a text for its name; this one has 5. Nothing was sent."),
        (None, "a signal has a text for its name; this one has None"),
        ("n" * 201, "a signal has a name of at most 200 characters; this one has 201"),
    ],
)
def test_the_name_of_a_signal(name: Any, told: str) -> None:
    with pytest.raises(InvalidArguments, match=told):
        signal_text(name, 1)


def test_an_answer_fits_its_question() -> None:
    assert answer_text(question(), 7) == "7"
    with pytest.raises(InvalidArguments) as caught:
        answer_text(question(), "seven")
    assert str(caught.value) == (
        "answer to 'How many?': the value must be integer. Nothing was sent."
    )


def test_the_place_in_a_larger_answer_is_named() -> None:
    schema = '{"type":"object","properties":{"day":{"type":"string","format":"date"}}}'
    with pytest.raises(InvalidArguments) as caught:
        answer_text(question(schema=schema), {"day": "tomorrow"})
    assert caught.value.problems == {"value.day": "the value must be date"}
    assert answer_text(question(schema=schema), {"day": "2026-03-06"}) == '{"day":"2026-03-06"}'


def test_any_value_fits_a_question_without_a_type() -> None:
    assert answer_text(question(schema="{}"), ["a", 1]) == '["a",1]'


def test_which_question() -> None:
    first, second = question(), question("Ship it?", key="wait:2")
    assert chosen([first], "", RUN) is first
    assert chosen([first, second], "Ship it?", RUN) is second
    assert chosen([first, second], "wait:1", RUN) is first
    with pytest.raises(NotFound) as caught:
        chosen([first, second], "", RUN)
    assert str(caught.value) == (
        "run 7 of kid asks more than one question: 'How many?', 'Ship it?'. "
        "Say which: koken answer 7 VALUE --question TEXT"
    )
    with pytest.raises(NotFound, match=r"does not ask 'How mny\?'. Did you mean How many\?"):
        chosen([first], "How mny?", RUN)
    with pytest.raises(InvalidArguments) as refused:
        chosen([first], 5, RUN)
    assert str(refused.value) == (
        "answer(question): is 5; name the question by its text, or '' for the only one. "
        "Nothing was sent."
    )
    with pytest.raises(NotFound, match="run 7 of kid asks nothing"):
        chosen([], "", RUN)


def test_questions_of_one_text_are_told_by_their_keys() -> None:
    first, second = question(key="wait:question How many?"), question(key="wait:2")
    third = question("Ship it?", key="wait:3")
    for named in ("", "How many?"):
        with pytest.raises(NotFound) as caught:
            chosen([first, second, third], named, RUN)
        assert str(caught.value).startswith("run 7 of kid asks more than one question: ")
        assert str(caught.value).endswith(
            "'How many?' (key 'wait:question How many?'), 'How many?' (key 'wait:2')"
            f"{', ' if named == '' else ''}{repr(third.text) if named == '' else ''}. "
            "Say which: koken answer 7 VALUE --question KEY"
        )
    assert chosen([first, second, third], "wait:2", RUN) is second
    assert chosen([first, second], "wait:question How many?", RUN) is first


def test_a_signal_fits_one_of_its_waits() -> None:
    check_signal("go", '"x"', [])
    check_signal("go", "7", [NUMBER])
    check_signal("go", "7", ['{"type":"string"}', NUMBER])
    with pytest.raises(InvalidArguments) as caught:
        check_signal("go", '"x"', [NUMBER])
    assert str(caught.value) == "signal 'go': the value must be integer. Nothing was sent."
