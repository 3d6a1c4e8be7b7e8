"""How a query is written: words, values, quotes."""

from __future__ import annotations

import pytest

from koken.store.database import Database
from koken.views import runs
from koken.views.query import asking, having, says, values, without
from tests.support.house import House


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a,b", ["a", "b"]),
        ('"a, b",c', ["a, b", "c"]),
        ('c,"a \\"b\\""', ["c", 'a "b"']),
        ('"not closed', ['"not closed']),
        ('5"x"', ['5"x"']),
        ("", [""]),
    ],
)
def test_quotes_keep_a_value_whole(written: str, meant: list[str]) -> None:
    assert values(written) == meant


def test_a_query_is_asked_as_it_is_written() -> None:
    query = 'job:report error:"a state:failed b" state:"failed" by:"Mira M",lea x'
    assert says(query, "state", "failed")
    assert not says(query, "by", "lea")
    assert without(query, "state") == 'job:report error:"a state:failed b" by:"Mira M",lea x'
    assert without("tag:a tag:b,a", "tag", "a") == "tag:b,a"
    assert having("x", "by", "Mira M") == 'x by:"Mira M"'
    assert asking(queue="a b", state=("ready", "running")) == 'queue:"a b" state:ready,running'


async def test_one_of_several_values_may_stand_in_quotes(house: House, views: Database) -> None:
    await house.job()
    first = (await house.start(by="Mira M, lead")).run_id
    second = (await house.start(by="lea")).run_id
    await house.start(by="kim")
    found = await runs.find(views, 'by:lea,"Mira M, lead"', workspace="default")
    assert [run.id for run in found] == [second, first]
