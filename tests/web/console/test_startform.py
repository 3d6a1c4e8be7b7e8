from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import httpx
from pydantic import BaseModel, Field

import koken
from koken.web.house import House
from tests.web.console.reading import Page
from tests.web.console.sending import sent
from tests.web.console.test_jobs_page import HOSTILE, declare
from tests.web.console.test_stars import known
from tests.web.forms import hidden


async def test_a_job_is_started_from_its_form(house: House, http: httpx.AsyncClient) -> None:
    await known(house, "report")
    source = (await http.get("/jobs/report/start")).text
    names = [part.split('"')[0] for part in source.split('name="a.')[1:]]
    assert names == ["day", "customer.name", "customer.number", "size", "password"]
    assert 'type="date"' in source
    assert 'type="password"' in source
    got = await sent(
        http,
        "/jobs/report/start",
        {
            "a.day": "2026-12-24",
            "g.customer": "1",
            "a.customer.name": "Ada",
            "a.customer.number": "7",
            "a.size": '"big"',
            "a.password": "s3cr3t",
        },
    )
    (run,) = await house.client.find("job:report")
    assert (got.status_code, got.headers["location"]) == (303, f"/runs/{run.id}")
    assert run.args == {
        "day": "2026-12-24",
        "customer": {"name": "Ada", "number": 7},
        "size": "big",
        "password": "s3cr3t",
    }
    assert (run.trigger.kind.value, run.trigger.by) == ("user", "mira")


async def test_one_form_starts_once_and_a_changed_one_again(
    house: House, http: httpx.AsyncClient
) -> None:
    await known(house, "greet")
    source = (await http.get("/jobs/greet/start")).text
    form = {name: hidden(source, name) for name in ("csrf", "once")}
    places = [
        (await http.post("/jobs/greet/start", data={**form, "a.name": name})).headers["location"]
        for name in ("ada", "ada", "lea")
    ]
    assert places[0] == places[1] != places[2]
    assert [run.args["name"] for run in await house.client.find("job:greet")] == ["lea", "ada"]
    listed = Page((await http.get("/runs?q=job:greet")).text)
    assert "name=ada" in listed.text
    assert "form:" not in listed.text


async def test_problems_stand_beside_the_fields_with_what_was_typed(
    house: House, http: httpx.AsyncClient
) -> None:
    await known(house, "report")
    got = await sent(
        http,
        "/jobs/report/start",
        {
            "a.day": HOSTILE,
            "g.customer": "1",
            "a.customer.name": "Ada",
            "a.password": "s3cr3t",
            "o.priority": "high",
            "o.when": "at",
        },
    )
    assert got.status_code == 422
    assert await house.client.find("job:report") == []
    assert "s3cr3t" not in got.text
    assert "<script>alert" not in got.text
    text = Page(got.text).text
    assert "✗ 'high' is not a whole number" in text
    assert "✗ is empty: choose a date and a time" in text
    assert "password: a value that is never shown, and so has to be given again." in text
    got = await sent(
        http,
        "/jobs/report/start",
        {"a.day": "soon", "g.customer": "1", "a.customer.name": "Ada"},
    )
    assert 'value="soon"' in got.text
    assert 'value="Ada"' in got.text
    assert "✗ 'soon' is not a date (YYYY-MM-DD)" in Page(got.text).text
    assert 'id="problem-customer.number">✗ is missing' in got.text


async def test_all_problems_are_told_at_once(house: House, http: httpx.AsyncClient) -> None:
    """What cannot be read, what its type refuses, what is missing, and the options."""
    await known(house, "report")
    form = {
        "a.day": "soon",
        "g.customer": "1",
        "a.customer.number": "seven",
        "o.priority": "high",
    }
    got = await sent(http, "/jobs/report/start", form)
    told = re.findall(r'id="problem-([^"]*)">✗ ([^<]*)<', got.text)
    assert [(place, html.unescape(text)) for place, text in told] == [
        ("day", "'soon' is not a date (YYYY-MM-DD)"),
        ("customer.name", "is missing"),
        ("customer.number", "'seven' is not a whole number"),
        ("priority", "'high' is not a whole number"),
    ]


class Place(BaseModel):
    """Where somebody lives."""

    street: str = "Main Street"
    no: int = 1


class Person(BaseModel):
    """Fields in an order that is neither that of length nor that of letters."""

    name: str
    age: int
    address: Place = Place()
    tags: list[str] = []
    others: list[Place] = []


SOMEBODY = Person(name="x", age=1)


async def test_fields_stand_in_the_order_of_declaration(open_house: Callable[..., Any]) -> None:
    """In forms, also of what another program declares, and where a run's arguments are shown."""
    app = koken.App("people")

    @app.job
    def register(zone: str, person: Person, at: Person = SOMEBODY) -> None: ...

    house, http = await open_house(program=app)
    await house.client.link.publish(app.registry.get("register"), "mira")
    source = (await http.get("/jobs/register/start")).text
    names = [part.split('"')[0] for part in source.split('name="a.')[1:]]
    fields = ("name", "age", "address.street", "address.no", "tags", "others")
    assert names == [
        "zone",
        *(f"person.{each}" for each in fields),
        *(f"at.{each}" for each in fields),
    ]
    whole = html.unescape((await http.get("/jobs/register/start?as=json")).text)
    assert re.findall(r'^ +"(\w+)":', whole, re.MULTILINE) == [
        "zone",
        "person", "name", "age", "address", "street", "no", "tags", "others",
        "at", "name", "age", "address", "street", "no", "tags", "others",
    ]  # fmt: skip
    ann = Person(name="Ann", age=7, others=[Place(no=3)])
    run = await house.client.start(app.registry.get("register"), zone="CET", person=ann)
    text = Page((await http.get(f"/runs/{run.id}")).text).text
    assert (
        'zone=CET person={"name":"Ann","age":7,"address":{"street":"Main Street","no":1},'
        '"tags":[],"others":[{"street":"Main Street","no":3}]}'
    ) in text
    assert list((await house.client.get(run)).args) == ["zone", "person", "at"]
    values = html.unescape((await http.get(f"/runs/{run.id}?tab=values")).text)
    places = [values.index(f'"{name}": ') for name in ("zone", "person", "name", "age", "address")]
    assert places == sorted(places)


async def test_options_of_a_start(house: House, http: httpx.AsyncClient) -> None:
    await known(house, "greet")
    await sent(
        http,
        "/jobs/greet/start",
        {
            "zone": "Europe/Berlin",
            "o.when": "at",
            "o.run_at": "2031-07-01T12:00",
            "o.delay": "10m",
            "o.logical_time": "2026-01-01T00:00",
            "o.priority": "-3",
            "o.idempotency_key": "mine",
        },
    )
    (run,) = await house.client.find("job:greet")
    assert run.wait is not None
    assert run.wait.until == datetime(2031, 7, 1, 10, tzinfo=UTC)
    assert run.logical_time == datetime(2025, 12, 31, 23, tzinfo=UTC)
    assert (run.priority, run.idempotency_key) == (-3, "mine")
    got = await sent(http, "/jobs/greet/start", {"a.name": "x", "o.idempotency_key": "mine"})
    assert got.status_code == 409
    got = await sent(http, "/jobs/greet/start", {"o.when": "delay", "o.delay": "soon"})
    assert "delay is 'soon'; write it as" in Page(got.text).text
    got = await sent(http, "/jobs/greet/start", {"o.overlap": "refuse"})
    assert got.status_code == 409
    assert f"Run {run.id} has stood in the way for " in Page(got.text).text


async def test_arguments_as_json(house: House, http: httpx.AsyncClient) -> None:
    await known(house, "report")
    source = (await http.get("/jobs/report/start?as=json")).text
    assert "&#34;size&#34;: &#34;small&#34;" in source
    form = {"as": "json", "json": '{"day": "2026-12-24", "password": "s3cr3t"}'}
    got = await sent(http, "/jobs/report/start?as=json", form, "/jobs/report/start")
    assert got.status_code == 303
    for text, problem in (
        ("{", "is no JSON"),
        ("[]", "is no object"),
        ('{"dya": 1}', "is not an argument. Did you mean day?"),
    ):
        form = {"as": "json", "json": text}
        got = await sent(http, "/jobs/report/start?as=json", form, "/jobs/report/start")
        assert got.status_code == 422
        assert problem in Page(got.text).text


async def test_again_like_a_run(house: House, http: httpx.AsyncClient) -> None:
    await known(house, "report", "greet")
    form = {
        "as": "json",
        "json": '{"password": "s3cr3t", "customer": {"name": "Ada", "number": 7}}',
    }
    got = await sent(http, "/jobs/report/start?as=json", form, "/jobs/report/start")
    run = got.headers["location"].removeprefix("/runs/")
    for more in ("", "&as=json"):
        got = await http.get(f"/jobs/report/start?from_run={run}{more}")
        found = Page(got.text)
        assert found.sentence == f"Start report again like run {run}."
        assert "Ada" in got.text
        assert "s3cr3t" not in got.text
        assert "password: a value that is never shown, and so has to be given again." in found.text
    assert (await http.get(f"/jobs/greet/start?from_run={run}")).status_code == 422
    assert (await http.get("/jobs/greet/start?from_run=99999")).status_code == 404


async def test_a_job_of_another_program_has_a_form_too(
    house: House, http: httpx.AsyncClient
) -> None:
    properties = {"b": {"type": "integer"}, "aa": {"enum": ["x", HOSTILE]}}
    schema = {"type": "object", "properties": properties, "required": ["b"]}
    await declare(house, "other", parameters=schema)
    await declare(house, "open", parameters={})
    source = (await http.get("/jobs/other/start")).text
    assert source.index('name="a.b"') < source.index('name="a.aa"')
    assert "<script>alert" not in source
    got = await sent(http, "/jobs/other/start", {"a.b": "", "a.aa": ""})
    assert 'id="problem-b">✗ is missing' in got.text
    assert (await sent(http, "/jobs/other/start", {"a.b": "4"})).status_code == 303
    assert 'name="json"' in (await http.get("/jobs/open/start")).text


async def test_a_form_is_turned_into_json_and_back_with_what_was_typed(
    house: House, http: httpx.AsyncClient
) -> None:
    """Also what cannot be read; options stay, secrets go and that is said."""
    await known(house, "report")
    form = {
        "turn": "yes",
        "a.day": "2026-12-24",
        "g.customer": "1",
        "a.customer.name": "Ada",
        "a.customer.number": "seven",
        "a.size": '"big"',
        "a.password": "s3cr3t",
        "o.priority": "4",
    }
    got = await sent(http, "/jobs/report/start", form)
    assert (got.status_code, "s3cr3t" in got.text) == (200, False)
    (text,) = re.findall(r'<textarea id="json"[^>]*>(.*?)</textarea>', got.text, re.DOTALL)
    assert json.loads(html.unescape(text)) == {
        "day": "2026-12-24",
        "customer": {"name": "Ada", "number": "seven"},
        "size": "big",
    }
    told = Page(got.text).text
    assert "password: a value that is never shown, and so has to be given again." in told
    assert "customer.number whole number, required" in told
    whole = {"turn": "yes", "as": "json", "json": html.unescape(text), "o.priority": "4"}
    got = await sent(http, "/jobs/report/start", whole)
    assert 'value="seven"' in got.text
    assert 'value="Ada"' in got.text
    assert '<option value="&#34;big&#34;" selected>' in got.text
    assert 'name="o.priority" type="text" value="4"' in got.text
    assert await house.client.find("job:report") == []


async def test_json_that_fields_cannot_show_stays_json(
    house: House, http: httpx.AsyncClient
) -> None:
    await known(house, "report")
    for text, problem in (
        ("{", "is no JSON"),
        ('{"customer": {"nmae": "Ada"}}', "customer.nmae has no field"),
        ('{"customer": "Ada"}', "customer is no object"),
        ('{"size": "huge"}', "size is not one of the choices"),
    ):
        form = {"turn": "yes", "as": "json", "json": text}
        got = await sent(http, "/jobs/report/start", form)
        assert 'name="json"' in got.text
        assert html.escape(text, quote=False) in got.text.replace("&#34;", '"')
        assert problem in Page(got.text).text


async def test_a_template_shows_all_but_secrets(open_house: Callable[..., Any]) -> None:
    app = koken.App("people")

    @app.job
    def register(
        person: Person, amount: Annotated[float, Field(ge=0)] = 1.5, password: str = "hunter2"
    ) -> None: ...

    house, http = await open_house(program=app)
    await house.client.link.publish(app.registry.get("register"), "mira")
    source = (await http.get("/jobs/register/start?as=json")).text
    (text,) = re.findall(r'<textarea id="json"[^>]*>(.*?)</textarea>', source, re.DOTALL)
    assert json.loads(html.unescape(text)) == {
        "person": {
            "name": None,
            "age": None,
            "address": {"street": "Main Street", "no": 1},
            "tags": [],
            "others": [],
        },
        "amount": 1.5,
    }
    text = Page(source).text
    assert "person.others list of objects with street, no" in text
    assert "password text; a secret, which is left out here" in text
    found = Page((await http.get("/jobs/register/start")).text).text
    assert "amount number, at least 0" in found
    assert "tags list of texts, one on each line" in found
