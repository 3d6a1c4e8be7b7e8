"""The docs' examples, carried out as a reader would: in order, in a folder of their own.

A fenced block is carried out when its first line says so: ``python file=NAME`` (any language) is
written to that file, ``python run`` is run as a script, ``console run`` are commands after ``$ ``,
each with what it prints (``…`` stands for anything), ``console dev`` is one that stays up.
``exit=N`` is the exit code of the block's last command.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.postgres import scratch_directory

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+) ([^\n`]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WRITES = "file="
ACTIONS = ("run", "dev")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block with what is to be done with it."""

    language: str
    words: tuple[str, ...]
    text: str
    line: int

    @property
    def action(self) -> str:
        """The first word that says what to do."""
        return self.words[0]

    @property
    def exit_code(self) -> int:
        """The exit code that its last command has."""
        given = [word.removeprefix("exit=") for word in self.words if word.startswith("exit=")]
        return int(given[0]) if given else 0


def blocks(page: Path) -> list[Block]:
    """The blocks of a page that are carried out, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[1], tuple(found[2].split()), found[3], text.count("\n", 0, found.start()) + 2)
        for found in FENCE.finditer(text)
    ]


def pages() -> list[Path]:
    """The pages with such blocks."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if blocks(page)]


@dataclass(slots=True)
class Reader:
    """Somebody who types what a page says."""

    folder: Path
    environment: dict[str, str]
    up: list[subprocess.Popen[str]] = field(default_factory=list)

    def carry_out(self, block: Block) -> None:
        """Do what a block is for."""
        if block.action.startswith(WRITES):
            (self.folder / block.action.removeprefix(WRITES)).write_text(block.text)
        elif block.language == "python":
            self.expect([sys.executable, "-c", block.text], "…", block.exit_code)
        elif block.action == "dev":
            self.put_up(*commands(block.text))
        else:
            *before, last = commands(block.text)
            for command, printed in before:
                self.type(command, printed, 0)
            self.type(*last, block.exit_code)

    def type(self, command: str, printed: str, exit_code: int) -> None:
        """Give a command to the shell."""
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            self.environment[name] = value
        else:
            self.expect(["bash", "-c", command], printed, exit_code)

    def expect(self, command: list[str], printed: str, exit_code: int) -> None:
        """Run a command to its end and compare what it prints."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
        assert done.returncode == exit_code, f"{command}\n{done.stdout}"
        assert matches(done.stdout, printed), f"{command}\n{done.stdout}"

    def put_up(self, command: tuple[str, str]) -> None:
        """Start a command that stays up, in place of the one before, and wait for its greeting."""
        self.take_down()
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command[0]}"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.up.append(process)
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if matches(said, command[1]):
                return
        pytest.fail(f"{command[0]} ended:\n{said}")

    def take_down(self) -> None:
        """End what is up, as Ctrl-C does."""
        for process in self.up:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        self.up.clear()


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what it prints."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    found = []
    for part in parts:
        lines = part.splitlines()
        count = next(n for n, line in enumerate(lines, 1) if not line.endswith("\\"))
        found.append(("\n".join(lines[:count]), "\n".join(lines[count:])))
    return found


def matches(said: str, printed: str) -> bool:
    """Whether a command said what the page shows, white space and ``…`` aside."""
    pattern = r"\s+".join(re.escape(word) for word in printed.split())
    pattern = re.sub(r"(\\s\+)?…(\\s\+)?", lambda _: ".*?", pattern)
    return re.fullmatch(rf"\s*{pattern}\s*", said, flags=re.DOTALL) is not None


@pytest.fixture
def reader(database_url: str, postgres_url: str) -> Iterator[Reader]:
    """A reader with an empty folder and a database."""
    with scratch_directory() as folder:
        binaries = Path(sys.executable).parent
        reader = Reader(
            folder,
            {
                **{key: text for key, text in os.environ.items() if not key.startswith("KOKEN_")},
                "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
                "KOKEN_DATABASE_URL": database_url,
                "KOKEN_TEST_DATABASE_URL": postgres_url,
                "COLUMNS": "100",
                "PYTHONDONTWRITEBYTECODE": "1",
            },
        )
        yield reader
        reader.take_down()


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, reader: Reader) -> None:
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        assert block.action in ACTIONS or block.action.startswith(WRITES), where
        try:
            reader.carry_out(block)
        except AssertionError as error:
            raise AssertionError(f"{where}: {error}") from None


def test_pages_are_found() -> None:
    assert {page.name for page in pages()} >= {"README.md", "tutorial.md", "start-jobs.md"}


@pytest.mark.parametrize(
    ("said", "printed", "same"),
    [
        ("a  b\nc", "a b\nc", True),
        ("took 12 ms now", "took … now", True),
        ("took 12 ms", "took 12 s", False),
        ("one\ntwo\n", "…", True),
        ("(x)", "(x)", True),
        ("", "", True),
        ("more", "", False),
    ],
)
def test_what_counts_as_the_same(said: str, printed: str, same: bool) -> None:
    assert matches(said, printed) is same
