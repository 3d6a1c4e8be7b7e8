"""Values that nobody is shown: told by the names that they stand under, or by their JSON Schema.

A name is a secret's where a secret word ends where one of its own words does: ``password``,
``DB_PASSWORD``, ``apiKey`` and ``dbpassword`` are, ``max_tokens`` and ``secretary`` are not. A name
hides texts, and what has a text in it: a number, true or false is shown whatever it is called. What
a schema calls secret (``writeOnly``, or the format ``password``) is hidden whatever it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from koken.model.fields import Schema

MASK = "•••"
"""What stands in place of such a value."""
NOTHING: Schema = {}
BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Between the words of ``apiKey`` and of ``APIKey``."""
WORD = re.compile(r"[^\W\d_]+")
LONGEST = 200
"""Letters of a name that is told apart again and again."""
CHOICES = ("anyOf", "oneOf", "allOf")
NUMBERS = ("integer", "number", "boolean", "null")
"""Types of which no value is a text."""


def secret(name: str, words: Sequence[str]) -> bool:
    """Whether a name is that of a secret; ``words`` are those by which it is told."""
    told = tuple(words)
    return remembered(name, told) if len(name) <= LONGEST else tells(name, told)


def tells(name: str, words: tuple[str, ...]) -> bool:
    """As ``secret``, of any text: whether one of its words, or several together, is a secret's."""
    endings = tuple(filter(None, map(plainly, words)))
    longest = max(map(len, endings), default=0)
    so_far = ""
    for word in parts(name):
        so_far = (so_far + word)[-longest:] if longest else ""
        if so_far.endswith(endings):
            return True
    return False


remembered = lru_cache(maxsize=4000)(tells)


def parts(name: str) -> list[str]:
    """The words of a name: of ``API-Key``, ``api_key`` and ``apiKey`` the same."""
    return [word.casefold() for word in WORD.findall(BORDER.sub("_", name))]


def plainly(name: str) -> str:
    """The words of a name in one."""
    return "".join(parts(name))


def given(value: Any) -> bool:
    """Whether there is anything to hide: None and what is empty is no secret."""
    return value is not None and value not in ("", [], {})


def has_text(value: Any) -> bool:
    """Whether a plain value is a text, or has one in it."""
    if isinstance(value, Mapping):
        return any(map(has_text, value.values()))
    if isinstance(value, list | tuple):
        return any(map(has_text, value))
    return isinstance(value, str) and value != ""


def masked(plain: Any, words: Sequence[str], schema: Schema = NOTHING) -> Any:
    """A plain value without the secrets in it; ``schema`` says of it which there are besides."""
    return Hider(words, schema).of(plain, [schema])


def hidden(plain: Any, words: Sequence[str], schema: Schema = NOTHING) -> dict[str, Any]:
    """The secrets in a plain value by their places, such as ``account.keys[0]``."""
    hider = Hider(words, schema)
    hider.of(plain, [schema])
    return hider.found


def at_secret(path: Iterable[int | str], words: Sequence[str], schema: Schema) -> bool:
    """Whether what stands at a place is a secret, or in one; parts that lead nowhere are passed."""
    known = opened([schema], schema)
    for part in path:
        if isinstance(part, str) and secret(part, words):
            return True
        inner = of_items(known) if isinstance(part, int) else of_key(known, part)
        known = opened(inner, schema) or known
        if any(map(calls_secret, known)):
            return True
    return False


@dataclass(slots=True)
class Hider:
    """Goes through one plain value."""

    words: Sequence[str]
    root: Schema = field(default_factory=dict)
    """In which references are looked up."""
    found: dict[str, Any] = field(default_factory=dict)
    """What was hidden, by its place."""

    def of(self, value: Any, schemas: Iterable[Any], path: str = "") -> Any:
        """A value as it is shown; it is of one of ``schemas``."""
        known = opened(schemas, self.root)
        if any(map(calls_secret, known)) and given(value):
            return self.hide(value, path)
        if isinstance(value, Mapping):
            return {key: self.under(key, item, known, path) for key, item in value.items()}
        if isinstance(value, list | tuple):
            items = of_items(known)
            return [self.of(item, items, f"{path}[{no}]") for no, item in enumerate(value)]
        return value

    def under(self, key: Any, value: Any, schemas: Sequence[Schema], path: str) -> Any:
        """What stands under a key."""
        name = str(key)
        at = f"{path}.{name}" if path else name
        if secret(name, self.words) and has_text(value):
            return self.hide(value, at)
        return self.of(value, of_key(schemas, name), at)

    def hide(self, value: Any, path: str) -> str:
        """Note what is hidden."""
        self.found[path] = value
        return MASK


def calls_secret(schema: Schema) -> bool:
    """Whether a schema itself says that its values are not shown."""
    return schema.get("writeOnly") is True or schema.get("format") == "password"


def opened(schemas: Iterable[Any], root: Schema) -> list[Schema]:
    """Schemas with all that they refer to and choose from."""
    todo, seen, found = list(schemas), set[int](), list[Schema]()
    while todo:
        schema = todo.pop()
        if not isinstance(schema, Mapping) or not schema or id(schema) in seen:
            continue
        seen.add(id(schema))
        found.append(schema)
        todo.append(referred(schema, root))
        for key in CHOICES:
            todo += schema.get(key, ())
    return found


def referred(schema: Schema, root: Schema) -> Any:
    """What a schema refers to within the whole."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found: Any = root
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def of_key(schemas: Sequence[Schema], name: str) -> list[Any]:
    """The schemas of what stands under a key."""
    found = []
    for schema in schemas:
        known = schema.get("properties", NOTHING)
        if name in known:
            found.append(known[name])
        else:
            found += [schema.get("additionalProperties"), *of_patterns(schema)]
    return found


def of_patterns(schema: Schema) -> Iterator[Any]:
    """The schemas of what stands under keys of some form: whichever, it is one of these."""
    patterns = schema.get("patternProperties")
    if isinstance(patterns, Mapping):
        yield from patterns.values()


def of_items(schemas: Sequence[Schema]) -> list[Any]:
    """The schemas of the items of a list."""
    found = []
    for schema in schemas:
        items = schema.get("items")
        found += [items, *schema.get("prefixItems", ())] if not isinstance(items, list) else items
    return [each for each in found if isinstance(each, Mapping)]


def holds_secret(schema: Any, root: Schema) -> bool:
    """Whether a value of a schema may have something in it that the schema calls secret."""
    todo, seen = [schema], set[int]()
    while todo:
        known = [each for each in opened([todo.pop()], root) if id(each) not in seen]
        seen |= {id(each) for each in known}
        if any(map(calls_secret, known)):
            return True
        for each in known:
            todo += [*each.get("properties", NOTHING).values(), each.get("additionalProperties")]
            todo += [*of_patterns(each), *of_items([each])]
    return False


def may_be_text(schema: Any, root: Schema) -> bool:
    """Whether a value of a schema may be a text, or have one in it, so that its name hides it."""
    return text_within([schema], root, set())


def text_within(schemas: Iterable[Any], root: Schema, seen: set[int]) -> bool:
    """As ``may_be_text``, of several schemas; those that were ``seen`` say nothing new."""
    known = opened(schemas, root)
    for each in known:
        if id(each) in seen:
            continue
        seen.add(id(each))
        if speaks_of_text(each):
            return True
        inner = [*each.get("properties", NOTHING).values(), *of_patterns(each), *of_items([each])]
        if isinstance(each.get("additionalProperties"), Mapping):
            inner.append(each["additionalProperties"])
        if text_within(inner, root, seen):
            return True
    return False


def speaks_of_text(schema: Schema) -> bool:
    """Whether a schema by itself lets a text be, or anything."""
    if "enum" in schema or "const" in schema:
        return any(map(has_text, schema.get("enum", [schema.get("const")])))
    kind = schema.get("type")
    if isinstance(kind, list):
        return any(speaks_of_text({**schema, "type": each}) for each in kind)
    if kind is None:
        return not any(key in schema for key in ("$ref", *CHOICES))
    if kind == "object":
        return schema.get("additionalProperties", "properties" not in schema) is True
    if kind == "array":
        return not of_items([schema])
    return kind not in NUMBERS
