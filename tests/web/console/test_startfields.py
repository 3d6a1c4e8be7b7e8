from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel, Field, SecretStr

import koken
from koken.model.hiding import MASK, masked, secret
from koken.web.console.startfields import Field as Made
from koken.web.console.startfields import fields_of
from koken.web.console.startform import Reader, filled, typed, without_secrets

BERLIN = ZoneInfo("Europe/Berlin")
PARTS = ("password", "token")


class Size(StrEnum):
    """How much."""

    SMALL = "small"
    BIG = "big"


class Address(BaseModel):
    """Where."""

    street: str
    number: int = 1
    password: str = "hunter2"


class Node(BaseModel):
    """Of a tree."""

    name: str
    child: Node | None = None


app = koken.App("forms")


@app.job
def many(
    must: str,
    sure: bool,
    home: Address,
    tree: Node,
    name: str = "world",
    count: int | None = None,
    share: float = 0.5,
    price: Decimal = Decimal("9.90"),
    dry: bool = True,
    maybe: bool | None = None,
    day: date = date(2026, 11, 30),
    at: datetime = datetime(2026, 7, 1, 12, tzinfo=UTC),
    size: Size = Size.SMALL,
    mode: Literal["a", 2] = "a",
    work: Address | None = None,
    rows: list[int] = [1, 2],  # noqa: B006
    either: int | str = 3,
    anything: Any = None,
    token: str = "hunter2",
    key: SecretStr = SecretStr("hunter2"),  # noqa: B008
    password_known: Annotated[bool, Field(json_schema_extra={"writeOnly": True})] = True,
    max_tokens: int = 100,
    token_count: int = 7,
) -> None:
    """All kinds of arguments."""


def fields() -> tuple[Made, ...]:
    return fields_of(app.registry.spec(many).parameters, lambda name: secret(name, PARTS))


def read(form: dict[str, str], zone: Any = BERLIN) -> tuple[dict[str, Any], dict[str, str]]:
    reader = Reader(form, zone)
    return reader.values(fields()), reader.problems


def test_each_argument_has_the_field_that_fits_it() -> None:
    told = {each.name: each.kind for each in fields()}
    assert told == {
        "must": "text",
        "sure": "choice",
        "home": "group",
        "tree": "group",
        "name": "text",
        "count": "integer",
        "share": "number",
        "price": "decimal",
        "dry": "switch",
        "maybe": "choice",
        "day": "date",
        "at": "instant",
        "size": "choice",
        "mode": "choice",
        "work": "group",
        "rows": "lines",
        "either": "json",
        "anything": "json",
        "token": "text",
        "key": "text",
        "password_known": "choice",
        "max_tokens": "integer",
        "token_count": "integer",
    }
    by_name = {each.name: each for each in fields()}
    assert [each.name for each in by_name.values() if each.secret] == [
        "token", "key", "password_known",
    ]  # fmt: skip
    assert by_name["size"].choices == ("small", "big")
    assert [(each.path, each.secret) for each in by_name["home"].fields] == [
        ("home.street", False),
        ("home.number", False),
        ("home.password", True),
    ]
    deepest = [each for each in by_name["tree"].within() if each.path.count(".") == 4]
    assert [each.kind for each in deepest] == ["text", "json"]


def test_defaults_stand_in_the_form_and_secrets_do_not() -> None:
    found = filled(fields(), {}, BERLIN)
    assert found.texts["name"] == "world"
    assert found.texts["at"] == "2026-07-01T14:00:00"
    assert found.texts["mode"] == '"a"'
    assert found.texts["rows"] == "1\n2"
    assert found.ticked == {"dry", "home", "tree"}
    assert "hunter2" not in repr(found)


def test_a_form_that_is_sent_as_it_came_leaves_all_to_the_defaults() -> None:
    stands = filled(fields(), {}, BERLIN)
    form = {f"a.{path}": text for path, text in stands.texts.items()}
    form |= {f"a.{path}": "1" for path in stands.ticked if path == "dry"}
    assert read(form) == ({"home": {}, "tree": {}}, {})


def test_what_is_typed_becomes_values() -> None:
    values, problems = read(
        {
            "a.must": "text\r\nmore",
            "a.sure": "false",
            "a.home.street": "Canal 7",
            "a.home.password": "n3w",
            "a.name": "",
            "a.count": "12",
            "a.share": "1e-3",
            "a.price": "12.50",
            "a.maybe": "true",
            "a.day": "2026-12-24",
            "a.at": "2026-12-24T18:00",
            "a.size": '"big"',
            "a.mode": "2",
            "g.work": "1",
            "a.work.street": "Mill 1",
            "a.rows": "[3]",
            "a.either": '"x"',
            "a.anything": '{"a": [null]}',
            "a.token": "",
            "a.key": "k",
            "a.password_known": "false",
        }
    )
    assert problems == {}
    assert values == {
        "must": "text\nmore",
        "sure": False,
        "home": {"street": "Canal 7", "password": "n3w"},
        "tree": {},
        "name": "",
        "count": 12,
        "share": 0.001,
        "price": "12.50",
        "dry": False,
        "maybe": True,
        "day": "2026-12-24",
        "at": "2026-12-24T18:00:00+01:00",
        "size": "big",
        "mode": 2,
        "work": {"street": "Mill 1"},
        "rows": [3],
        "either": "x",
        "anything": {"a": [None]},
        "key": "k",
        "password_known": False,
    }


def test_what_cannot_be_read_is_told_by_its_path() -> None:
    _, problems = read(
        {
            "a.count": "many",
            "a.share": "half",
            "a.home.number": "1.5",
            "a.at": "2026-03-29T02:30:00",
            "a.size": '"huge"',
            "a.rows": "[1,",
        }
    )
    assert problems == {
        "home.number": "'1.5' is not a whole number",
        "count": "'many' is not a whole number",
        "share": "'half' is not a number",
        "at": "'2026-03-29T02:30:00' does not exist in Europe/Berlin: the clock goes forward",
        "size": "'\"huge\"' is not one of the choices",
        "rows": "is no JSON: EOF while parsing a value at line 1 column 3",
    }


@pytest.mark.parametrize("text", ["0001-01-01T00:00", "9999-12-31T23:59", "nonsense"])
def test_instants_out_of_this_world_are_problems(text: str) -> None:
    for zone in ("Asia/Tokyo", "America/New_York"):
        values, problems = read({"a.at": text}, ZoneInfo(zone))
        assert "at" in values or "at" in problems


def test_what_was_typed_stays_but_for_secrets() -> None:
    found = typed(fields(), {"a.count": "many", "a.token": "n3w", "g.work": "1", "a.dry": "1"})
    assert found.texts["count"] == "many"
    assert found.ticked == {"dry", "work", "home", "tree"}
    assert found.kept_back == ["token"]
    assert "n3w" not in repr(found)


def test_secrets_of_a_run_are_left_out_wherever_they_are() -> None:
    plain = {"a": 1, "password": "x", "rows": [{"token": "y", "n": 1}], "fake": MASK}
    kept, left = without_secrets(plain, masked(plain, PARTS), MASK)
    assert kept == {"a": 1, "rows": [{"n": 1}], "fake": MASK}
    assert left == ["password", "rows[0].token"]


def listing(names: list[str] = ["a"], ids: list[int] = []) -> None:  # noqa: B006
    """Lists that are written one a line."""


@pytest.mark.parametrize(
    ("form", "values"),
    [
        ({"a.names": "a", "a.ids": ""}, {}),
        (
            {"a.names": "b \r\n\r\n[urgent] c", "a.ids": "1\r\n2"},
            {"names": ["b", "[urgent] c"], "ids": [1, 2]},
        ),
        ({"a.names": "", "a.ids": "[3]"}, {"names": [], "ids": [3]}),
        ({"a.names": '["x\\ny"]', "a.ids": ""}, {"names": ["x\ny"]}),
    ],
)
def test_lists_are_written_one_a_line(form: dict[str, str], values: dict[str, Any]) -> None:
    lists = koken.App("lists")
    made = fields_of(lists.registry.spec(lists.job(listing)).parameters, lambda _: False)
    assert [(each.kind, each.takes) for each in made] == [
        ("lines", "list of texts"),
        ("lines", "list of whole numbers"),
    ]
    reader = Reader(form, BERLIN)
    assert (reader.values(made), reader.problems) == (values, {})
    again = {f"a.{path}": text for path, text in filled(made, values, BERLIN).texts.items()}
    assert Reader(again, BERLIN).values(made) == values
