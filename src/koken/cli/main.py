"""``koken``: the entry point. What a command needs is imported when it is asked for, not before.

The folder is a door: it prints what ``views`` and ``engine`` answer. One theme a file.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from koken.cli.common import hoist
from koken.cli.stopping import STOP
from koken.errors import InvalidArguments, KokenError

WORKING = ("dev", "web", "worker")
"""Commands that a signal stops in an orderly way, from their first moment on."""
TRACEBACK = "KOKEN_TRACEBACK"
INTERRUPTED = 130
ODD = re.compile("[\x00\ud800-\udfff]")
"""What stands for bytes that are no UTF-8."""


def main() -> None:
    """The entry point: runs a command and exits with its code."""
    sys.exit(run(sys.argv[1:]))


def run(words: Sequence[str]) -> int:
    """Carry out a command line; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without our glyphs shows "?"
    try:
        for word in words:
            refuse_odd(word)
        common, rest = hoist(words)
        if rest[:1] == ["--version"]:
            print(f"koken {version('koken')}")
            return 0
        if rest[:1] and rest[0] in WORKING:
            STOP.listen()
        program = importlib.import_module("koken.cli.program")
        code: int = program.carry_out(rest or ["--help"], common)
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


def refuse_odd(word: str) -> None:
    """Refuse what PostgreSQL has no text for. Raises ``InvalidArguments``."""
    if ODD.search(word):
        raise InvalidArguments(f"{word!a} is no text in UTF-8; nothing was done")


def complain(error: Exception) -> int:
    """Say what went wrong in one line on stderr; returns the exit code that stands for it."""
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    usage = getattr(error, "format_message", None)
    if isinstance(error, KokenError):
        text, code = str(error), error.exit_code
    elif usage is not None:  # typer's errors have no common name across its versions
        text, code = f"{usage().rstrip('.')} (see {path_of(error)} --help)", 2
    else:
        text, code = unexpected(error), 1
    print("koken:", " ".join(map(str.strip, text.splitlines())), file=sys.stderr)
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
