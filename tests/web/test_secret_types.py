"""What a schema says is a secret reaches the body, and is shown to nobody."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

import httpx
import pytest
from pydantic import BaseModel, Field, SecretStr

import koken
from koken import AsyncContext
from koken.errors import DeclarationError, InvalidArguments
from koken.model.codec import Unstorable, encode
from koken.model.job import JobSpec
from koken.runtime.worker import Worker
from koken.web.house import House
from koken.web.masking import MASK, ONLY_SHOWN
from tests.support.moments import until
from tests.web.forms import hidden

SECRET = "hunter-2-XYZ"
RUNS = "/api/v1/runs"


class Card(BaseModel):
    pin: SecretStr
    label: str = "x"


def program() -> koken.App:
    app = koken.App("till")

    @app.job
    def pay(
        pin: SecretStr,
        card: Card | None = None,
        number: Annotated[int, Field(json_schema_extra={"writeOnly": True})] = 5,
        max_tokens: int = 100,
    ) -> list[str]:
        return [str(pin), str(len(pin.get_secret_value())), f"{type(card).__name__} {max_tokens}"]

    @app.job
    def usage() -> dict[str, Any]:
        return {"text": "a", "total_tokens": 7, "token": SECRET}

    @app.job
    async def ask(ctx: AsyncContext) -> int:
        one = await ctx.ask("Database password?", str)
        two = await ctx.ask("The code?", SecretStr)
        return len(one) + len(two.get_secret_value())

    @app.workflow
    def flow(pin: SecretStr) -> None:
        """Hands it on."""

    @flow.step
    def get_token(pin: SecretStr) -> str:
        return pin.get_secret_value()

    @flow.step
    def sign_in(get_token: str) -> int:
        return len(get_token)

    return app


@pytest.fixture
async def doors(
    database_url: str, monkeypatch: pytest.MonkeyPatch, open_house: Callable[..., Any]
) -> tuple[House, httpx.AsyncClient]:
    monkeypatch.setenv("KOKEN_DATABASE_URL", database_url)
    return await open_house(program=program())


@pytest.fixture
async def at_work(doors: Any) -> AsyncIterator[Worker]:
    worker = Worker(program(), doors[0].config)
    await worker.start()
    yield worker
    await worker.stop(grace=1)


async def start(http: httpx.AsyncClient, job: str, **args: Any) -> str:
    got = await http.post(RUNS, json={"job": job, "args": args})
    assert got.status_code == 201, got.text
    assert SECRET not in got.text
    found: str = got.json()["id"]
    return found


async def everywhere(http: httpx.AsyncClient, run: str) -> str:
    """All that is told of a run."""
    api = [await http.get(f"{RUNS}/{run}/{each}") for each in (
        "", "steps", "checkpoints", "events", "signals", "attempts", "children", "why",
    )]  # fmt: skip
    pages = [await http.get(f"/runs/{run}", params={"tab": each}) for each in (
        "log", "steps", "attempts", "values", "checkpoints", "events",
    )]  # fmt: skip
    lists = [await http.get(each) for each in (RUNS, "/runs", "/api/v1/events", "/events")]
    return "".join(each.text for each in (*api, *pages, *lists))


async def question(http: httpx.AsyncClient, run: str, text: str) -> str:
    """The key of a question that is open; empty where it is not asked yet."""
    open_ = (await http.get(f"{RUNS}/{run}/questions")).json()["items"]
    return next((each["key"] for each in open_ if each["text"] == text), "")


@pytest.mark.usefixtures("at_work")
async def test_a_secret_reaches_the_body_and_nobody_else(doors: Any) -> None:
    house, http = doors
    run = await start(http, "pay", pin=SECRET, card={"pin": SECRET}, number=471147)
    done = await house.client.wait(int(run), timeout=20)
    assert done.result == ["**********", "12", "Card 100"]
    assert done.args["pin"] == SECRET
    shown = (await http.get(f"{RUNS}/{run}")).json()
    assert shown["args"] == {
        "pin": MASK,
        "card": {"pin": MASK, "label": "x"},
        "number": MASK,
        "max_tokens": 100,
    }
    assert shown["masked"] == ["args.pin", "args.card.pin", "args.number"]
    again = {"args": {"pin": f"{SECRET}-2", "number": 471148}, "reason": "once more"}
    assert (await http.post(f"{RUNS}/{run}/retries", json=again)).status_code == 409
    made = (await http.post(f"{RUNS}/{run}/reruns", json={"reason": "x"})).json()["id"]
    await house.client.wait(int(made), timeout=20)
    told = await everywhere(http, run)
    assert SECRET not in told
    assert "47114" not in told
    form = await http.get("/jobs/pay/start", params={"from_run": run})
    assert form.status_code == 200
    assert SECRET not in form.text
    assert 'name="a.max_tokens"' in form.text


@pytest.mark.usefixtures("at_work")
async def test_a_workflow_hands_a_secret_on(doors: Any) -> None:
    house, http = doors
    run = await start(http, "flow", pin=SECRET)
    await house.client.wait(int(run), timeout=20)
    steps = (await http.get(f"{RUNS}/{run}/steps")).json()["items"]
    step = (await http.get(f"{RUNS}/{steps[0]['run']}")).json()
    assert (step["args"], step["result"], step["masked"]) == ({}, MASK, ["result"])
    assert step["step"] == "get_token"
    assert SECRET not in await everywhere(http, run)
    assert SECRET not in await everywhere(http, steps[0]["run"])


@pytest.mark.usefixtures("at_work")
async def test_a_result_keeps_its_numbers(doors: Any) -> None:
    house, http = doors
    run = await start(http, "usage")
    await house.client.wait(int(run), timeout=20)
    shown = (await http.get(f"{RUNS}/{run}")).json()
    assert shown["result"] == {"text": "a", "total_tokens": 7, "token": MASK}
    assert shown["masked"] == ["result.token"]


@pytest.mark.usefixtures("at_work")
async def test_answers_are_told_nowhere_where_the_question_wants_a_secret(doors: Any) -> None:
    house, http = doors
    run = await start(http, "ask")
    for text in ("Database password?", "The code?"):
        asked = await until(lambda text=text: question(http, run, text))
        got = await http.post(
            f"{RUNS}/{run}/answers", json={"question": asked, "value": MASK, "reason": "x"}
        )
        assert (got.status_code, got.json()["problems"]) == (422, {"value": ONLY_SHOWN})
        got = await http.post(f"{RUNS}/{run}/answers", json={"question": asked, "value": SECRET})
        assert got.status_code == 200
    done = await house.client.wait(int(run), timeout=20)
    assert done.result == 24
    assert SECRET not in await everywhere(http, run)


async def test_three_dots_are_no_value_of_a_secret(doors: Any) -> None:
    house, http = doors
    got = await http.post(RUNS, json={"job": "pay", "args": {"pin": MASK}})
    assert (got.status_code, got.json()["problems"]) == (422, {"pin": ONLY_SHOWN})
    rows = [{"pin": "x"}, {"pin": "x", "card": {"pin": MASK}}]
    got = await http.post(f"{RUNS}/batch", json={"job": "pay", "rows": rows})
    assert (got.status_code, got.json()["problems"]) == (422, {"rows[1].card.pin": ONLY_SHOWN})
    run = await start(http, "pay", pin=SECRET)
    await house.client.cancel(int(run))
    shown = (await http.get(f"{RUNS}/{run}")).json()["args"]
    got = await http.post(f"{RUNS}/{run}/retries", json={"args": shown, "reason": "x"})
    assert (got.status_code, sorted(got.json()["problems"])) == (422, ["number", "pin"])
    page = await http.get(f"/runs/{run}/plan/retry")
    form = {"csrf": hidden(page.text, "csrf"), "args": '{"pin": "•••"}', "reason": "x"}
    got = await http.post(f"/runs/{run}/retry", data=form)
    assert (got.status_code, ONLY_SHOWN in got.text) == (422, True)
    got = await http.post(
        f"{RUNS}/{run}/retries", json={"args": {"pin": f"{SECRET}-2"}, "reason": "x"}
    )
    assert got.status_code == 200
    assert SECRET not in await everywhere(http, run)


async def test_what_does_not_fit_is_not_repeated(doors: Any) -> None:
    house, http = doors
    run = await start(http, "pay", pin=SECRET)
    await house.client.cancel(int(run))
    page = await http.get(f"/runs/{run}/plan/retry")
    given = json.dumps({"pin": [SECRET], "number": SECRET})
    form = {"csrf": hidden(page.text, "csrf"), "args": given, "reason": "x"}
    got = await http.post(f"/runs/{run}/retry", data=form)
    assert got.status_code == 422
    assert "does not fit" in got.text
    assert SECRET not in got.text
    plan = await http.get(f"/runs/{run}/plan/retry", params={"args": given})
    note = re.search('<p class="note[^>]*>.*?</p>', plan.text)
    assert note is not None
    assert "does not fit" in note[0]
    assert SECRET not in note[0]


async def test_a_query_does_not_guess_what_a_schema_hides(doors: Any) -> None:
    _, http = doors
    run = await start(http, "pay", pin=SECRET, number=4711)
    for query, found in (
        (f"args.pin:{SECRET}", []),
        ("args.number:4711", []),
        ("args.max_tokens:100", [run]),
    ):
        got = await http.get(RUNS, params={"q": query})
        assert [each["id"] for each in got.json()["items"]] == found, query


def test_arguments_that_no_longer_fit_do_not_say_what_they_are() -> None:
    app = koken.App("old")

    @app.job
    def t(password: str, n: int) -> None:
        """Some job."""

    with pytest.raises(InvalidArguments) as caught:
        t.body.arguments({"password": [SECRET], "n": SECRET})  # type: ignore[attr-defined]
    assert str(caught.value) == "t(password): does not fit; (n): is not a whole number."


def test_which_arguments_are_kept_as_secret() -> None:
    spec: JobSpec = program().registry.spec(program().registry.get("pay"))
    assert spec.secret_arguments == ("pin", "card", "number")


def test_a_secret_is_no_result() -> None:
    app = koken.App("leak")
    with pytest.raises(DeclarationError, match="returns Card, which has a secret in it"):

        @app.job
        def card() -> Card:
            raise NotImplementedError


def test_a_secret_of_no_known_type_is_not_kept_as_asterisks() -> None:
    for value, place in (
        ({"a": [SecretStr("x")]}, r"the result\.a\[0\]"),
        (Card(pin=SecretStr("x")), r"the result\.pin"),
    ):
        with pytest.raises(Unstorable, match=f"{place} is a secret of pydantic"):
            encode(value, name="the result")
    assert encode("**********", name="the result") == '"**********"'
