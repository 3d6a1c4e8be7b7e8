"""Commands: programs that are started with arguments, in an environment of their own.

A command is split into its words when it is declared, and never given to a shell unless
``shell=True`` says so. What an argument holds can neither add a word nor end one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from typing_extensions import override

from koken.define.arguments import Arguments
from koken.define.body import Body
from koken.define.signature import Parameter
from koken.errors import DeclarationError
from koken.executors.base import Assignment

SHELL = "/bin/sh"
PLACE = re.compile(r"\{\{|\}\}|(?<!\$)\{([A-Za-z_]\w*)(?::([^{}]*))?\}")
"""``{name}``, ``{name:format}``; doubled braces stand for themselves, ``${NAME}`` is left alone."""
FACTS = ("run_id", "job", "attempt", "workspace", "logical_time", "subject")
"""What may stand in braces beside the arguments."""


class Command(Body):
    """A program as the body of a job: ``app.job(Command("./load {month}"), name="load")``.

    ``words``: a text, split as a shell would split it, or a list of words. ``{name}`` in a word is
    filled with the argument of that name, or with one of ``FACTS``; the word stays one word.
    ``shell``: give the whole text to ``/bin/sh -c``; what is filled in is quoted. ``env``: more
    environment variables, with places as well. ``cwd``: the folder to run in. ``ok_codes``: exit
    statuses that are a success, ``skip_codes``: those that end the run skipped.

    Raises ``DeclarationError`` when it cannot be as it is declared.
    """

    usual_executor = "process"

    def __init__(
        self,
        words: str | Sequence[str],
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        ok_codes: Collection[int] = (0,),
        skip_codes: Collection[int] = (),
    ) -> None:
        self.given = words
        self.words = words_of(words, shell)
        self.shell = shell
        self.env = dict(env or {})
        self.cwd = None if cwd is None else str(cwd)
        self.ok_codes = frozenset(ok_codes)
        self.skip_codes = frozenset(skip_codes)
        self.call = self.arguments_of("command")
        self.learn()

    def learn(self) -> None:
        """What a start must know of the arguments."""
        self.parameters = self.call.schema
        self.required = self.call.required

    def arguments_of(self, label: str) -> Arguments:
        """The arguments: what stands in braces and is no fact of the run, as text."""
        names: dict[str, None] = {}
        for text in (*self.words, *self.env.values()):
            names |= dict.fromkeys(found[1] for found in PLACE.finditer(text) if found[1])
        return texts(tuple(name for name in names if name not in FACTS)).named(label)

    @override
    def named(self, label: str) -> Self:
        other = super().named(label)
        other.call = self.call.named(label)
        return other

    @override
    def check_executor(self, name: str) -> None:
        if name not in ("process", "command"):
            raise DeclarationError(f"executor {name!r} does not carry out commands; leave it out.")

    @override
    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return self.call.bind(args, kwargs)

    @override
    def bind_plain(self, plain: Mapping[str, Any]) -> dict[str, Any]:
        return self.call.bind_plain(plain)

    @override
    def bind_text(self, texts: Mapping[str, str]) -> dict[str, Any]:
        return self.call.bind_text(texts)

    def __repr__(self) -> str:
        return f"Command({self.given!r})"

    def argv(self, assignment: Assignment) -> list[str]:
        """The words to start, filled in. Raises ``ValueError`` when one cannot be."""
        values = values_of(assignment)
        if self.shell:
            return [SHELL, "-c", fill(self.words[0], values, quote=True)]
        return [fill(word, values) for word in self.words]

    def environment(self, assignment: Assignment) -> dict[str, str]:
        """What ``env`` adds, filled in. Raises ``ValueError`` when a value cannot be."""
        values = values_of(assignment)
        return {name: fill(text, values) for name, text in self.env.items()}


@lru_cache(maxsize=256)
def texts(names: tuple[str, ...]) -> Arguments:
    """Arguments that are texts; many commands of a workflow have the same."""
    return Arguments([Parameter(name=name, hint=str) for name in names], job="command")


def words_of(words: object, shell: bool) -> tuple[str, ...]:
    """The words of a command; one, the text, when it is for a shell."""
    if shell:
        if not isinstance(words, str):
            raise DeclarationError("with shell=True a command is one text")
        found = [words] if words.strip() else []
    elif isinstance(words, str):
        found = split(words)
    else:
        found = list(words) if isinstance(words, Sequence) else []
    if not found or not all(isinstance(word, str) for word in found) or not found[0]:
        raise DeclarationError(f"a command is a text or a list of texts, not {words!r}")
    return tuple(found)


def split(text: str) -> list[str]:
    """The words of a text, as a shell would split it."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise DeclarationError(f"command {text!r} cannot be split: {error}") from None


def values_of(assignment: Assignment) -> dict[str, Any]:
    """What may stand in braces: the facts of the run, and the arguments."""
    facts = {name: getattr(assignment, name) for name in FACTS}
    return facts | dict(assignment.args)


def fill(text: str, values: Mapping[str, Any], *, quote: bool = False) -> str:
    """``text`` with its places filled in. Raises ``ValueError`` when one cannot be."""

    def filled(found: re.Match[str]) -> str:
        name, form = found[1], found[2]
        if name is None:
            return found[0][0]
        if name not in values:
            raise ValueError(f"the command names {name!r}, which the run does not have")
        value = shown(values[name], form or "")
        return shlex.quote(value) if quote else value

    whole = PLACE.sub(filled, text)
    if "\x00" in whole:
        raise ValueError(f"{text!r} was filled with a NUL character, which no argument can hold")
    try:
        whole.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ValueError(
            f"{text!r} was filled with a lone surrogate, which is no character"
        ) from None
    return whole


def shown(value: Any, form: str) -> str:
    """A value as a part of a word."""
    if isinstance(value, datetime) and not form:
        return value.isoformat()
    return "" if value is None else format(value, form)
