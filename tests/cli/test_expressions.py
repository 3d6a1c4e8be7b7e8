"""``koken next``: to the letter, fast, and without an app or a database."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.cli.conftest import Koken

CLOCK_CHANGE = (
    *("next", "30 2 * * *", "--timezone", "America/New_York"),
    *("--after", "2026-03-08T00:00:00-05:00", "-n", "2"),
)
ALONE = """
import json, sys, types
from importlib.util import find_spec
package = types.ModuleType("koken")  # only what the command itself imports is looked at
package.__path__ = find_spec("koken").submodule_search_locations
sys.modules["koken"] = package
from koken.cli.main import run
code = run(["next", "5m", "--json", "-n", "1"])
heavy = [name for name in ("asyncpg", "koken.client", "koken.store") if name in sys.modules]
print(json.dumps([code, heavy]))
"""


def test_json_to_the_letter(terminal: Koken) -> None:
    said = terminal(*CLOCK_CHANGE, "--json")
    assert said.out == (
        '{"words":"At 02:30 every day, America/New_York","timezone":"America/New_York",'
        '"items":["2026-03-08T03:00:00-04:00","2026-03-09T02:30:00-04:00"]}\n'
    )
    assert (said.code, said.err) == (0, "")


def test_json_before_the_command(terminal: Koken) -> None:
    assert terminal("--json", *CLOCK_CHANGE).out == terminal(*CLOCK_CHANGE, "--json").out


def test_for_people(terminal: Koken) -> None:
    said = terminal(*CLOCK_CHANGE)
    assert said.lines[0] == "At 02:30 every day, America/New_York"
    assert said.lines[1].startswith("2026-03-08 03:00:00 EDT  ")
    assert said.lines[2].startswith("2026-03-09 02:30:00 EDT  ")


def test_an_end(terminal: Koken) -> None:
    once = ("next", "at(2026-12-24T20:00:00)", "--after", "2026-01-01T00:00:00Z")
    assert terminal(*once).lines[-1] == "and never again"
    assert terminal(*once, "--json").json["items"] == ["2026-12-24T20:00:00+00:00"]
    past = ("next", "at(2026-12-24T20:00:00)", "--after", "2027-01-01T00:00:00Z")
    assert terminal(*past).lines == ["Once, on 2026-12-24 at 20:00, UTC", "never"]
    assert terminal(*past, "--json").json["items"] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["30 25 * * *"],
            (
                "'30 25 * * *': hour 25 is not in 0-23. "
                "(Field 2 of 5; EventBridge's six fields go in cron(…).)"
            ),
        ),
        (["0 0 31 4 *"], "'0 0 31 4 *': day of month 31 never comes in month 4."),
        (["  "], "'  ' is no expression. Write '0 2 * * *' or '5m'."),
        (
            ["5m", "--timezone", "Europa/Berlin"],
            "timezone 'Europa/Berlin' is no IANA time zone. Did you mean 'Europe/Berlin'?",
        ),
        (["5m", "--after", "noon"], "--after is 'noon'; write it as 2026-03-08T00:00:00-05:00"),
        (
            ["5m", "--after", "9999-12-31T23:59:59-12:00"],
            "--after: 9999-12-31T23:59:59-12:00 is outside of the years 1 to 8999",
        ),
        (
            ["5m", "--after", "2026-01-01"],
            "--after '2026-01-01' has no time zone; add one, such as 2026-01-01T00:00:00+00:00",
        ),
        (["5m", "-n", "0"], "-n is 0; it is between 1 and 1,000"),
    ],
)
def test_refusals(terminal: Koken, words: list[str], message: str) -> None:
    said = terminal("next", *words)
    assert (said.code, said.out, said.err) == (2, "", f"koken: {message}\n")


def test_imports_neither_driver_nor_client() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == [0, []]


def test_two_zones_are_a_contradiction(terminal: Koken) -> None:
    text = "every day at 7:30 in Asia/Tokyo"
    said = terminal("next", text, "--timezone", "Europe/Berlin")
    assert (said.code, said.err) == (
        2,
        f"koken: {text!r} names Asia/Tokyo, and --timezone is 'Europe/Berlin'. Keep one of them\n",
    )
    assert terminal("next", text, "--timezone", "Asia/Tokyo").out == terminal("next", text).out
