"""What a body logs and prints goes into its run's log; everything else passes as it always did.

A context variable says whose body is speaking, so threads and loop tasks do not mix. Lines are
joined until their newline, a progress bar drawn with carriage returns becomes its last state, and
the log of one attempt is bounded.
"""

from __future__ import annotations

import io
import logging
import sys
import threading
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any, TextIO

from typing_extensions import override

from koken.executors.base import Host
from koken.model import codec

BODY_LOGGER = "koken.job"
"""``ctx.log`` is the logger of that name and the job's; all that it says is kept."""
OWN_LOGGER = "koken."
LINES_KEPT = 100_000
"""Lines of one attempt's log."""
CHARACTERS_KEPT = 20_000_000
"""Characters of one attempt's log."""
WINDOW = 1 << 20
"""Characters that are split into lines at once, so that one huge text is not doubled."""
PRINTED = "info"
"""The level of printed lines, of stderr too: where a line stands says nothing of its weight."""


class RunLog:
    """The log of one attempt, on its way to the host; safe to use from several threads."""

    __slots__ = ("characters", "host", "lines", "lock", "lost", "open", "partial")

    def __init__(self, host: Host) -> None:
        self.host = host
        self.open = True
        self.lines = 0
        self.characters = 0
        self.lost = 0
        """Characters that found no room."""
        self.partial: dict[str, str] | None = None
        """By stream: what stands on the line that has no newline yet."""
        self.lock = threading.Lock()

    def write(self, stream: str, text: str) -> None:
        """Take what was printed to ``stdout`` or ``stderr``, in pieces of any size."""
        with self.lock:
            for start in range(0, len(text), WINDOW):
                if self.lost or not self.open:
                    self.lost += len(text) - start
                    return
                self.split(stream, text[start : start + WINDOW] if len(text) > WINDOW else text)

    def put(self, level: str, stream: str, text: str) -> None:
        """Take whole lines."""
        with self.lock:
            self.keep(level, stream, text.split("\n"))

    def close(self) -> None:
        """Keep what has no newline yet; whatever comes now is dropped."""
        if self.partial or self.lost:
            with self.lock:
                for stream, rest in (self.partial or {}).items():
                    if rest:
                        self.keep(PRINTED, stream, [last_state(rest)])
                if self.lost:
                    self.note(f"{self.lost:,} characters of the log were not kept")
        self.open = False

    def split(self, stream: str, text: str) -> None:
        """Keep the whole lines of ``text``, and hold back the rest."""
        if self.partial is None:
            self.partial = {}
        *whole, rest = (self.partial.get(stream, "") + text).split("\n")
        if whole:
            self.keep(PRINTED, stream, [last_state(line) for line in whole])
        rest = last_state(rest) + ("\r" if rest.endswith("\r") else "")
        if len(rest) > codec.LINE_LIMIT:
            cut = len(rest) - len(rest) % codec.LINE_LIMIT
            self.keep(PRINTED, stream, [rest[:cut]])
            rest = rest[cut:]
        self.partial[stream] = rest

    def keep(self, level: str, stream: str, lines: Iterable[str]) -> None:
        """Pass lines on, long ones in pieces, as far as there is room."""
        if not self.open:
            return
        kept: list[str] = []
        before = self.lost
        for line in lines:
            for start in range(0, len(line) or 1, codec.LINE_LIMIT):
                if self.lost or not self.room():
                    self.lost += len(line) - start
                    break
                piece = line[start : start + codec.LINE_LIMIT]
                self.lines += 1
                self.characters += len(piece)
                kept.append(piece)
        if kept:
            text = "\n".join(kept)
            self.host.log(level, stream, codec.clean(text, len(text)))
        if self.lost and not before:
            self.note(
                f"the log is cut here, after {self.lines:,} lines and {self.characters:,} "
                "characters of this attempt"
            )

    def room(self) -> bool:
        """Whether another line may be kept."""
        return self.lines < LINES_KEPT and self.characters < CHARACTERS_KEPT

    def note(self, text: str) -> None:
        """Say something about the log in the log."""
        self.host.log("warning", "log", text)


def last_state(line: str) -> str:
    """What a terminal shows of a line that carriage returns wrote over."""
    if "\r" not in line:
        return line
    shown = line.rstrip("\r")
    return shown[shown.rfind("\r") + 1 :]


speaking: ContextVar[RunLog | None] = ContextVar("koken_run_log", default=None)
"""The log of the body that is under way here; None outside of bodies."""


class BodyHandler(logging.Handler):
    """Puts what bodies log into their runs' logs."""

    @override
    def emit(self, record: logging.LogRecord) -> None:
        log = speaking.get()
        if log is None or not of_body(record):
            self.pass_by(record)
            return
        try:
            log.put(record.levelname.lower(), "log", self.format(record))
        except Exception:
            self.handleError(record)

    def pass_by(self, record: logging.LogRecord) -> None:
        """Leave a record to the other handlers; if there are none, do what ``logging`` would."""
        last = logging.lastResort
        if last is None or record.levelno < last.level or self.heard(record):
            return
        token = speaking.set(None)  # so that stderr is the program's own
        try:
            last.handle(record)
        finally:
            speaking.reset(token)

    def heard(self, record: logging.LogRecord) -> bool:
        """Whether another handler takes the record."""
        logger: logging.Logger | None = logging.getLogger(record.name)
        while logger is not None:
            if any(handler is not self for handler in logger.handlers):
                return True
            logger = logger.parent
        return False


def of_body(record: logging.LogRecord) -> bool:
    """Whether a record made while a body is under way is the body's, not Koken's own."""
    return not record.name.startswith(OWN_LOGGER) or record.name.startswith(BODY_LOGGER)


def outside(record: logging.LogRecord) -> bool:
    """A filter for the program's own handlers: keeps out what goes into the log of a run."""
    return speaking.get() is None or not of_body(record)


class Printed(io.TextIOBase):
    """Stands in for ``sys.stdout`` or ``sys.stderr``: a body's text goes into its run's log."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self.label = name
        self.stream = stream

    @override
    def write(self, text: str) -> int:
        log = speaking.get()
        if log is None:
            return self.stream.write(text)
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        log.write(self.label, text)
        return len(text)

    @override
    def flush(self) -> None:
        if speaking.get() is None:
            self.stream.flush()

    @override
    def isatty(self) -> bool:
        return speaking.get() is None and self.stream.isatty()

    @override
    def writable(self) -> bool:
        return True

    @override
    def fileno(self) -> int:
        return self.stream.fileno()

    def close(self) -> None:
        """The stream belongs to the process and stays open."""

    @property
    @override
    def encoding(self) -> str:  # type: ignore[override]  # read only, as the real one is
        return self.stream.encoding

    @property
    @override
    def errors(self) -> str | None:  # type: ignore[override]  # read only, as the real one is
        return self.stream.errors

    @property
    def buffer(self) -> Any:
        """For those who print bytes."""
        return self.stream.buffer if speaking.get() is None else PrintedBytes(self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class PrintedBytes(io.RawIOBase):
    """Takes bytes for a ``Printed``; what is not UTF-8 stays readable."""

    def __init__(self, printed: Printed) -> None:
        self.printed = printed

    @override
    def writable(self) -> bool:
        return True

    @override
    def write(self, data: Any) -> int:
        taken = bytes(data)
        self.printed.write(taken.decode("utf-8", "backslashreplace"))
        return len(taken)


def install() -> None:
    """Begin to capture, for the whole process. A second time is harmless."""
    root = logging.getLogger()
    if not any(isinstance(handler, BodyHandler) for handler in root.handlers):
        if not root.handlers and root.level == logging.WARNING:
            # Nobody listens below a warning yet, and bodies should be heard from INFO on.
            root.setLevel(logging.INFO)
        root.addHandler(BodyHandler())
    logging.getLogger(BODY_LOGGER).setLevel(logging.DEBUG)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, Printed):
            setattr(sys, name, Printed(name, stream))


def uninstall() -> None:
    """Give the process its own streams back. Without ``install`` before, nothing happens."""
    root = logging.getLogger()
    for handler in [kept for kept in root.handlers if isinstance(kept, BodyHandler)]:
        root.removeHandler(handler)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, Printed):
            setattr(sys, name, stream.stream)
