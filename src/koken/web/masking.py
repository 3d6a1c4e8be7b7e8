"""Values that nobody is shown, on their way through the doors: in, out, and in what is said."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from koken.errors import InvalidArguments
from koken.model.fields import Schema
from koken.model.hiding import MASK, NOTHING, given, hidden, masked, secret
from koken.views.query import WORD

PLAIN = ("is ", "its ", "it is ")
"""How texts begin that say what is wrong without the value."""
JSON_SIGNS = '{["'
"""One of them is in each JSON text that holds a value with a name, or a text."""
TOO_DEEP = "values lie too deep in one another"
WAITS = ("signal", "question")
"""Kinds of records of what somebody has sent."""
ONLY_SHOWN = f"{MASK} stands for a value that is not shown; give the value itself, or leave it out"


def masked_text(text: str, words: Sequence[str], name: str = "", schema: Schema = NOTHING) -> str:
    """JSON text that stands under ``name``, without the secrets in it.

    Where it is cut, or only a part of the text, and names one, nothing of it is left.
    """
    try:
        found = masked_under(name, json.loads(text), words, schema)
    except (ValueError, RecursionError):
        hides = any(sign in text for sign in JSON_SIGNS) and secret(f"{name} {text}", words)
        return MASK if hides else text
    return MASK if found == MASK else json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def masked_under(name: str, value: Any, words: Sequence[str], schema: Schema = NOTHING) -> Any:
    """A value that stands under ``name``, without the secrets in it, or hidden as one."""
    return masked({name: value}, words, {"properties": {name: schema}, **definitions(schema)})[name]


def record_shown(key: str, record: Any, words: Sequence[str]) -> Any:
    """What a body has recorded under ``key``, without secrets.

    What came of a wait is one where the signal or the question names one, or wants one.
    """
    shown = masked_under(key, record, words)
    if not isinstance(shown, Mapping) or shown.get("kind") not in WAITS or "value" not in shown:
        return shown
    value = shown["value"]
    if record.get("secret") is True and given(value):
        return {**shown, "value": MASK}
    return {**shown, "value": masked_under(str(record.get("name")), value, words)}


def record_text(key: str, text: str, words: Sequence[str]) -> str:
    """As ``record_shown``, of JSON text; where it is cut, and names a secret, nothing is left."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return masked_text(text, words, key)
    found = record_shown(key, record, words)
    return MASK if found == MASK else json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def definitions(schema: Schema) -> dict[str, Any]:
    """What a schema refers to, for one around it."""
    return {"$defs": schema["$defs"]} if "$defs" in schema else {}


def refuse_masks(plain: Any, words: Sequence[str], schema: Schema = NOTHING) -> None:
    """Raise ``InvalidArguments`` where a secret is given as it is shown: that is no value."""
    try:
        found = hidden(plain, words, schema)
    except RecursionError:
        raise InvalidArguments(TOO_DEEP, {"": TOO_DEEP}) from None
    problems = {path: ONLY_SHOWN for path, value in found.items() if value == MASK}
    if problems:
        raise InvalidArguments(in_one(problems), problems)


def refuse_mask(name: str, value: Any, words: Sequence[str]) -> None:
    """As ``refuse_masks``, of one value: an answer, a signal, a result."""
    if value == MASK:
        raise InvalidArguments(f"{name or 'the value'}: {ONLY_SHOWN}", {name: ONLY_SHOWN})
    refuse_masks({name: value}, words)


def refuse_guesses(query: str, words: Sequence[str]) -> str:
    """A query of runs, as it is. Raises ``InvalidArguments`` where it asks for a secret's value.

    Who may not see a value could find it out by asking which runs have it.
    """
    for match in WORD.finditer(query):
        word = match[1] or ""
        if word.startswith("args.") and any(secret(name, words) for name in word.split(".")[1:]):
            why = f"{word} is a secret, and is not looked for"
            raise InvalidArguments(why, {"q": why})
    return query


def without_values(error: InvalidArguments, words: Sequence[str]) -> InvalidArguments:
    """An error about arguments that does not repeat what was given for a secret."""
    message = str(error)
    hushed = problems_shown(error.problems, words)
    for path, text in error.problems.items():
        if hushed[path] != text and text not in message:
            return InvalidArguments(in_one(hushed), hushed)
        message = message.replace(text, hushed[path])
    return InvalidArguments(message, hushed)


def in_one(problems: Mapping[str, str]) -> str:
    """What is wrong in one text."""
    return "; ".join(f"({path}): {text}" for path, text in problems.items())


def problems_shown(problems: Mapping[str, str], words: Sequence[str]) -> dict[str, str]:
    """What is wrong, by its place, without what was given for a secret.

    A text that repeats a value begins with it; one that begins with a word has none.
    """

    def repeats(path: str, text: str) -> bool:
        if text.startswith((*PLAIN, MASK)):
            return False
        return secret(path, words) or (text.startswith(("{", "[")) and secret(text, words))

    return {
        path: "does not fit" if repeats(path, text) else text for path, text in problems.items()
    }
