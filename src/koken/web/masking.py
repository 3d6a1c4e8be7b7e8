"""Values that nobody is shown: passwords and their like among arguments, by the names they have."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from koken.errors import InvalidArguments
from koken.views.query import WORD

PLAIN = ("is ", "its ", "it is ")
"""How texts begin that say what is wrong without the value."""
JSON_SIGNS = '{["'
"""One of them is in each JSON text that holds a value with a name, or a text."""
MASK = "•••"
"""What stands in place of such a value."""


def masked(plain: Any, parts: Sequence[str]) -> Any:
    """Plain values without the secrets among them: what stands under a key with one of ``parts``.

    However deep they are, and without regard to case. None and what is empty stay: that nothing
    was given is no secret.
    """
    return hidden(plain, tuple(spelled(part) for part in parts))


def hidden(plain: Any, parts: Sequence[str]) -> Any:
    """As ``masked``, with the parts as they are compared."""
    if isinstance(plain, Mapping):
        return {
            key: MASK if secret(key, parts) and given(item) else hidden(item, parts)
            for key, item in plain.items()
        }
    if isinstance(plain, list | tuple):
        return [hidden(item, parts) for item in plain]
    return plain


def secret(key: Any, parts: Sequence[str]) -> bool:
    """Whether a key names something that nobody is shown."""
    name = spelled(str(key))
    return any(part in name for part in parts)


def spelled(name: str) -> str:
    """A name as it is compared: ``API-Key`` and ``api_key`` are one."""
    return name.lower().replace("-", "_")


def given(item: Any) -> bool:
    """Whether there is anything to hide."""
    return item is not None and item not in ("", [], {})


def masked_text(text: str, parts: Sequence[str], name: str = "") -> str:
    """JSON text that stands under ``name``, without the secrets in it.

    Where it is cut, or only a part of the text, and names one, nothing of it is left.
    """
    try:
        found = masked({name: json.loads(text)}, parts)[name]
    except (ValueError, RecursionError):
        names = [spelled(part) for part in parts]
        hides = any(sign in text for sign in JSON_SIGNS) and secret(f"{name} {text}", names)
        return MASK if hides else text
    return MASK if found == MASK else json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def refuse_guesses(query: str, parts: Sequence[str]) -> str:
    """A query of runs, as it is. Raises ``InvalidArguments`` where it asks for a secret's value.

    Who may not see a value could find it out by asking which runs have it.
    """
    names = [spelled(part) for part in parts]
    for match in WORD.finditer(query):
        word = match[1] or ""
        if word.startswith("args.") and any(secret(name, names) for name in word.split(".")[1:]):
            why = f"{word} is a secret, and is not looked for"
            raise InvalidArguments(why, {"q": why})
    return query


def without_values(error: InvalidArguments, parts: Sequence[str]) -> InvalidArguments:
    """An error about arguments that does not repeat what was given for a secret."""
    message = str(error)
    hushed = problems_shown(error.problems, parts)
    for path, text in error.problems.items():
        if hushed[path] != text and text not in message:
            return InvalidArguments(in_one(hushed), hushed)
        message = message.replace(text, hushed[path])
    return InvalidArguments(message, hushed)


def in_one(problems: Mapping[str, str]) -> str:
    """What is wrong in one text."""
    return "; ".join(f"({path}): {text}" for path, text in problems.items())


def problems_shown(problems: Mapping[str, str], parts: Sequence[str]) -> dict[str, str]:
    """What is wrong, by its place, without what was given for a secret.

    A text that repeats a value begins with it; one that begins with a word has none.
    """
    names = [spelled(part) for part in parts]

    def repeats(path: str, text: str) -> bool:
        if text.startswith(PLAIN):
            return False
        return secret(path, names) or (text.startswith(("{", "[")) and secret(text, names))

    return {
        path: "does not fit" if repeats(path, text) else text for path, text in problems.items()
    }
