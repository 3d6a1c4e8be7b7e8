"""Tables that fit, bars, and colour only where a terminal shows it."""

from __future__ import annotations

import pytest
from rich.text import Text

from koken.cli import output
from koken.cli.output import Column

COLUMNS = (Column("A"), Column("N", right=True), Column("ABOUT", gives=True))


def test_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    output.table(COLUMNS, [("one", "1", "short"), (Text("three", "red"), "100", "a\nb")])
    assert capsys.readouterr().out.splitlines() == [
        "A        N  ABOUT",
        "one      1  short",
        "three  100  a ⏎ b",
    ]


def test_what_gives_is_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    output.table(COLUMNS, [("one", "1", "x" * 50), ("two", "2", "日本語日本語日本語")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "one  1  " + "x" * 15 + "…"
    assert max(Text(line).cell_len for line in lines) <= 24


def test_what_does_not_give_stays_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    output.table(COLUMNS, [("a long one", "1", "x" * 50)])
    assert capsys.readouterr().out.splitlines()[1] == "a long one  1  xxxxxxx…"


def test_colour(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    output.say(("red", "red"))
    assert capsys.readouterr().out == "red\n"
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    output.say(("red", "red"))
    assert capsys.readouterr().out == "\x1b[31mred\x1b[0m\n"
    monkeypatch.setenv("NO_COLOR", "1")
    output.say(("red", "red"))
    assert capsys.readouterr().out == "red\n"


@pytest.mark.parametrize(
    ("percent", "text"),
    [(0, "░░░░░░░░░░ 0 %"), (71, "███████░░░ 71 %"), (100, "██████████ 100 %")],
)
def test_bar(percent: int, text: str) -> None:
    assert output.bar(percent) == text


def test_a_cell_that_wraps_keeps_its_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    columns = (output.Column("JOB", gives=True), output.Column("WHEN", wraps=True))
    words = ("a_job_with_a_long_name", "At 02:00, America/Argentina/Buenos_Aires")
    output.table(columns, [words, Text("— between —")])
    assert capsys.readouterr().out.splitlines() == [
        "JOB       WHEN",
        "a_job_w…  At 02:00,",
        "          America/Argentina/Buenos_Aires",
        "— between —",
    ]
