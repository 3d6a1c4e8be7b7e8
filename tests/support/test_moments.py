from __future__ import annotations

import itertools

import pytest

from tests.support.moments import until, until_sync


async def test_answers_with_what_it_waited_for() -> None:
    turns = itertools.chain([None, 0, ""], itertools.repeat("now"))
    assert await until(lambda: next(turns)) == "now"


async def test_awaits_a_question_that_takes_time() -> None:
    turns = itertools.count()

    async def ask() -> bool:
        return next(turns) > 2

    assert await until(ask) is True


def test_waits_without_a_loop() -> None:
    turns = itertools.count()
    assert until_sync(lambda: next(turns)) == 1


async def test_a_moment_that_never_comes_names_the_question() -> None:
    with pytest.raises(AssertionError, match=r"not within 0 s: .*test_moments\.py:\d+\); .* False"):
        await until(lambda: False, timeout=0)
    with pytest.raises(AssertionError, match="last answer: False"):
        until_sync(lambda: False, timeout=0)
