"""``koken``: finds the command, imports what it needs and nothing else, and says errors in a line.

The folder is a door: it prints what ``views`` and ``engine`` answer. One theme a file.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import typer
from typer.main import get_command

from koken.cli.common import EVERYWHERE, Common, hoist
from koken.cli.stopping import STOP
from koken.errors import KokenError

THEMES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "work": {
        "koken.cli.dev": ("dev",),
        "koken.cli.worker": ("worker",),
        "koken.cli.upkeep": ("migrate", "prune"),
        "koken.cli.doctor": ("doctor",),
    },
    "start": {"koken.cli.start": ("run",)},
    "read": {
        "koken.cli.lists": ("jobs", "runs"),
        "koken.cli.show": ("show", "why"),
        "koken.cli.follow": ("logs", "watch", "wait"),
        "koken.cli.calendar": ("schedules", "ticks"),
        "koken.cli.expressions": ("next",),
        "koken.cli.floor": ("queues", "workers"),
    },
    "mend": {
        "koken.cli.mend": ("cancel", "retry", "acknowledge"),
        "koken.cli.lanes": ("queue", "pause", "resume"),
    },
}
"""Theme → module → its commands, in the order in which they are listed."""
WORKING = ("dev", "worker")
"""Commands that a signal stops in an orderly way, from their first moment on."""
TRACEBACK = "KOKEN_TRACEBACK"
INTERRUPTED = 130
Command = Callable[..., int | None]


def main() -> None:
    """The entry point: runs a command and exits with its code."""
    sys.exit(run(sys.argv[1:]))


def run(words: Sequence[str]) -> int:
    """Carry out a command line; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without our glyphs shows "?"
    try:
        common, rest = hoist(words)
        if rest[:1] == ["--version"]:
            print(f"koken {version('koken')}")
            return 0
        if rest[:1] and rest[0] in WORKING:
            STOP.listen()
        code = carry_out(rest or ["--help"], common)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read us has left; the interpreter's own last flush must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return complain(error)


def carry_out(words: Sequence[str], common: Common) -> int:
    """Find the command and call it."""
    program = get_command(program_for(words[0]))
    result = program.main(list(words), prog_name="koken", standalone_mode=False, obj=common)
    return result if isinstance(result, int) else 0


def program_for(name: str) -> typer.Typer:
    """A program with the command ``name``; with all of them where that is none of ours."""
    program = typer.Typer(
        add_completion=False,
        rich_markup_mode="rich",
        help="Koken runs an application's background work on time, once, and where it can be seen.",
        epilog=EVERYWHERE,
    )
    program.callback()(nothing)
    wanted = [module for module, names in modules().items() if name in names]
    for theme, found in THEMES.items():
        for module in found:
            if not wanted or module in wanted:
                for command, function in commands(module).items():
                    program.command(command, rich_help_panel=theme, epilog=EVERYWHERE)(function)
    return program


def nothing() -> None:
    """A group needs a function of its own."""


def modules() -> dict[str, Sequence[str]]:
    """Module → its commands."""
    return {module: names for theme in THEMES.values() for module, names in theme.items()}


def commands(module: str) -> Mapping[str, Command]:
    """The commands of a module, by name."""
    found: Mapping[str, Command] = importlib.import_module(module).COMMANDS
    return found


def complain(error: Exception) -> int:
    """Say what went wrong in one line on stderr; returns the exit code that stands for it."""
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    usage = getattr(error, "format_message", None)
    if isinstance(error, KokenError):
        text, code = str(error), error.exit_code
    elif usage is not None:  # typer's errors have no common name across its versions
        text, code = f"{usage().rstrip('.')}. Try: {path_of(error)} --help", 2
    else:
        text, code = unexpected(error), 1
    print("koken:", " ".join(text.split()), file=sys.stderr)
    return code


def path_of(error: Any) -> str:
    """The command that a usage error is about."""
    return error.ctx.command_path if getattr(error, "ctx", None) else "koken"


def unexpected(error: Exception) -> str:
    """An error that nobody foresaw, with its place."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    return f"{said}{place}. {TRACEBACK}=1 shows how it came to this"
