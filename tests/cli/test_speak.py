"""``koken signal answer``: what they say, and who is on record."""

from __future__ import annotations

import psycopg

from tests.cli.conftest import Koken


def test_signal(koken: Koken, database_url: str) -> None:
    koken("run", "greet")
    said = koken("signal", "greet", "go", "7")
    assert said.lines == ["greet 1  ○ signal 'go' is sent; the run is ready"]
    koken("signal", "1", "go", "plain text")
    koken("signal", "1", "go")
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("select name, value, by from koken.signal order by id").fetchall()
    assert rows == [("go", 7, "anna"), ("go", "plain text", "anna"), ("go", None, "anna")]
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "insert into koken.checkpoint (run_id, key, lease, value) values (1, 'wait:1', 1, "
            '\'{"kind": "signal", "name": "paid", "until": null, "schema": {"type": "integer"}}\')'
        )
    wrong = koken("signal", "1", "paid", "xx")
    assert (wrong.code, wrong.err) == (
        2,
        "koken: signal 'paid': the value must be integer. Nothing was sent.\n",
    )
    koken("cancel", "1")
    assert koken("signal", "1", "go").code == 4
    assert koken("signal", "77", "go").code == 3


def test_answer(koken: Koken, database_url: str) -> None:
    koken("run", "greet")
    nothing = koken("answer", "greet", "true")
    assert (nothing.code, nothing.err) == (3, "koken: run 1 of greet asks nothing\n")
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "insert into koken.question (run_id, key, text, schema)"
            " values (1, 'wait:1', 'Ship it?', '{\"type\": \"boolean\"}'),"
            " (1, 'wait:2', 'How many?', '{\"type\": \"integer\"}')"
        )
    assert koken("answer", "1", "true").code == 3
    wrong = koken("answer", "1", "perhaps", "--question", "Ship it?")
    assert (wrong.code, wrong.err) == (
        2,
        "koken: answer to 'Ship it?': the value must be boolean. Nothing was sent.\n",
    )
    said = koken("answer", "1", "true", "--question", "Ship it?")
    assert said.lines == ["greet 1  ○ answered; the run is ready"]
    assert koken("answer", "1", "7").code == 0
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("select answer, answered_by from koken.question order by key")
        assert rows.fetchall() == [(True, "anna"), (7, "anna")]
