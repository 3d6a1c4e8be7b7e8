"""SQL is source code: one statement a file in ``sql/``, named as what it does.

The files name the schema ``koken``; an installation under another name has it replaced when the
text is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

SCHEMA = "koken"
PREFIX = re.compile(r"\bkoken\.(?=[a-z_])")
CHANNEL = re.compile(r"pg_notify\('koken'")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement by its name; its text is read once for each schema."""

    name: str

    def text(self, schema: str) -> str:
        """The statement for an installation in ``schema``."""
        return read(f"sql/{self.name}.sql", schema)


@cache
def read(path: str, schema: str) -> str:
    """A file of SQL below this folder, for ``schema``."""
    text = resources.files(__package__).joinpath(path).read_text(encoding="utf-8")
    return in_schema(text, schema)


def in_schema(text: str, schema: str) -> str:
    """SQL written for the schema ``koken``, for ``schema``."""
    if schema == SCHEMA:
        return text
    name = quoted(schema)
    text = PREFIX.sub(lambda _: f"{name}.", text)
    text = re.sub(r"(create schema (?:if not exists )?)koken\b", lambda m: m[1] + name, text)
    return CHANNEL.sub(lambda _: f"pg_notify({literal(schema)}", text)


def quoted(name: str) -> str:
    """An identifier, quoted."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
