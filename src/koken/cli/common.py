"""What every command accepts, before or after its name: ``--app --json --workspace --by``."""

from __future__ import annotations

import getpass
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from koken.errors import InvalidArguments

EVERYWHERE = (
    "Everywhere, before or after the command: --app module:name · --json · "
    "--workspace NAME · --by NAME (default: who you are here)"
)
NAMES = ("app", "workspace", "by")


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """The options that all commands share."""

    app: str = ""
    """Where the app is, ``module:name``; empty: as the settings say."""
    json: bool = False
    workspace: str = ""
    by: str = ""

    def having(self, name: str, value: str) -> Common:
        """A copy with one of the named options."""
        changes: dict[str, Any] = {name: value}
        return replace(self, **changes)

    @property
    def who(self) -> str:
        """Who acts: as told, else the user of the operating system."""
        return self.by or os_user()


def os_user() -> str:
    """The name of this process's user; a container may know only a number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def hoist(words: Sequence[str]) -> tuple[Common, list[str]]:
    """The common options, wherever they stand, and the words without them.

    What follows ``--`` is left alone. Raises ``InvalidArguments`` for an option without its value.
    """
    common = Common()
    rest: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        if word == "--":
            return common, [*rest, word, *left]
        if word == "--json":
            common = replace(common, json=True)
        elif word.startswith("--") and name in NAMES:
            common = common.having(name, value if equals else following(word, left))
        else:
            rest.append(word)
    return common, rest


def following(word: str, left: list[str]) -> str:
    """The value that stands after an option."""
    if not left or left[0].startswith("--"):
        raise InvalidArguments(f"{word} wants a value: {word} NAME")
    return left.pop(0)
