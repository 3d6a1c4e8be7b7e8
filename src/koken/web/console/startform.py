"""What stands in the fields of a start form, and what is read back from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Any

from koken.errors import DeclarationError
from koken.model import codec, instants, zones
from koken.web.console import forms
from koken.web.console.startfields import MISSING, Field, dump

VALUE, GIVEN = "a.", "g."
"""Before a field's path: its value, and whether a group that may be left out is given."""
TYPED = "%Y-%m-%dT%H:%M:%S"
"""How browsers give an instant, without a zone."""
OPTIONS = ("priority", "queue", "overlap", "idempotency_key")


class Unreadable(ValueError):
    """What was typed cannot be read; the message goes on from the field's name."""


@dataclass(slots=True)
class Filled:
    """What stands in a form: texts by path, and the paths of what is ticked."""

    texts: dict[str, str] = field(default_factory=dict)
    ticked: set[str] = field(default_factory=set)
    kept_back: list[str] = field(default_factory=list)
    """Secrets that were there, and are not shown."""


def filled(
    fields: Iterable[Field], values: Mapping[str, Any], zone: tzinfo, into: Filled | None = None
) -> Filled:
    """A form with values in it, and the defaults where there is none; secrets are left out."""
    found = into or Filled()
    for each in fields:
        value = values.get(each.name, each.default)
        if each.kind == "group":
            inner = value if isinstance(value, Mapping) else {}
            if inner or not each.optional:
                found.ticked.add(each.path)
            filled(each.fields, inner, zone, found)
        elif each.secret:
            if each.name in values and values[each.name] not in (None, ""):
                found.kept_back.append(each.path)
        elif each.kind == "switch":
            if value is True:
                found.ticked.add(each.path)
        else:
            found.texts[each.path] = shown(each, value, zone)
    return found


def shown(each: Field, value: Any, zone: tzinfo) -> str:
    """A value as it stands in its field; empty for none."""
    if value is MISSING or value is None:
        return ""
    if each.kind == "instant" and isinstance(value, str):
        return wall_clock(value, zone)
    if each.kind == "lines":
        return listed(each, value)
    if each.kind in ("choice", "json"):
        return json.dumps(value) if each.kind == "choice" else dump(value)
    return value if isinstance(value, str) else json.dumps(value)


def listed(each: Field, value: Any) -> str:
    """A list with a line for each of its items; as JSON where lines cannot tell it."""
    if value == []:
        return "" if each.default == [] else "[]"
    if not isinstance(value, list):
        return dump(value)
    lines = [item if isinstance(item, str) else json.dumps(item) for item in value]
    text = "\n".join(lines)
    told = Reader({VALUE + each.path: text}, UTC)
    return (
        text if told.values([replace(each, default=MISSING)]) == {each.name: value} else dump(value)
    )


def wall_clock(text: str, zone: tzinfo) -> str:
    """An instant as a clock in ``zone`` shows it; one without an offset is such already."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return text
    if found.utcoffset() is not None:
        found = found.astimezone(zone)
    return f"{found:{TYPED}}"


def typed(fields: Iterable[Field], form: Mapping[str, Any]) -> Filled:
    """A form as it was sent, for showing it again; secrets are left out."""
    every = [each for one in fields for each in one.within()]
    return Filled(
        texts={
            each.path: forms.text(form, VALUE + each.path)
            for each in every
            if not each.secret and each.kind not in ("switch", "group")
        },
        ticked={
            each.path
            for each in every
            if (each.kind == "switch" and VALUE + each.path in form)
            or (each.kind == "group" and (not each.optional or GIVEN + each.path in form))
        },
        kept_back=[each.path for each in every if each.secret and form.get(VALUE + each.path)],
    )


@dataclass(slots=True)
class Reader:
    """Reads values from a form as it was sent; ``problems`` says what is wrong with which."""

    form: Mapping[str, Any]
    zone: tzinfo
    problems: dict[str, str] = field(default_factory=dict)
    keeps: bool = False
    """Whether what cannot be read is kept as the text that was typed."""

    def values(self, fields: Iterable[Field]) -> dict[str, Any]:
        """The values of these fields by name; what is as its default says is left out."""
        found = {}
        for each in fields:
            try:
                value = self.group(each) if each.kind == "group" else self.value(each)
            except Unreadable as error:
                self.problems[each.path] = str(error)
                if not self.keeps:
                    continue
                value = forms.text(self.form, VALUE + each.path)
            if value is not MISSING:
                found[each.name] = value
        return found

    def group(self, each: Field) -> Any:
        """An object, if it is given."""
        if not each.optional or GIVEN + each.path in self.form:
            return self.values(each.fields)
        return None if each.nullable and each.default not in (None, MISSING) else MISSING

    def value(self, each: Field) -> Any:
        """What was typed into a field, chosen or ticked."""
        name = VALUE + each.path
        if each.kind == "switch":
            ticked = name in self.form
            return MISSING if ticked is (each.default is True) else ticked
        typed = forms.text(self.form, name)
        if not each.secret and typed == shown(each, each.default, self.zone):
            return MISSING
        if typed == "":
            return self.nothing(each)
        return READERS[each.kind](self, each, typed)

    def nothing(self, each: Field) -> Any:
        """What an empty field says: nothing, or an empty text instead of the default."""
        if each.secret or each.default is MISSING:
            return None if each.nullable and each.required else MISSING
        if each.nullable:
            return None
        return "" if each.kind == "text" else [] if each.kind == "lines" else MISSING

    def instant(self, text: str) -> str:
        """An instant with the form's zone, as ISO 8601."""
        try:
            return instants.on_clock(text, self.zone).isoformat()
        except ValueError as error:
            raise Unreadable(str(error)) from None

    def options(self) -> dict[str, Any]:
        """The options of the start; problems stand under their names."""
        found: dict[str, Any] = {
            name: forms.text(self.form, f"o.{name}").strip() or None for name in OPTIONS
        }
        when = forms.text(self.form, "o.when")
        if when == "delay":
            found["delay"] = forms.text(self.form, "o.delay").strip() or None
            if found["delay"] is None:
                self.problems["delay"] = "is empty: write how long, such as 10m"
        instants = ["logical_time", *(["run_at"] if when == "at" else [])]
        for name in instants:
            typed = forms.text(self.form, f"o.{name}")
            try:
                found[name] = self.instant(typed) if typed else None
            except Unreadable as error:
                self.problems[name] = str(error)
            if name == "run_at" and not typed:
                self.problems[name] = "is empty: choose a date and a time"
        if found["priority"] is not None:
            try:
                found["priority"] = int(found["priority"])
            except ValueError:
                self.problems["priority"] = f"{found['priority']!r} is not a whole number"
        return {name: value for name, value in found.items() if value is not None}


def whole(_: Reader, __: Field, text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise Unreadable(f"{text!r} is not a whole number") from None


def number(_: Reader, __: Field, text: str) -> float:
    """A number."""
    try:
        return int(text) if text.strip().lstrip("+-").isdecimal() else float(text)
    except ValueError:
        raise Unreadable(f"{text!r} is not a number") from None


def choice(_: Reader, each: Field, text: str) -> Any:
    """One of the choices."""
    for one in each.choices:
        if json.dumps(one) == text:
            return one
    raise Unreadable(f"{text!r} is not one of the choices")


def from_json(_: Reader, __: Field, text: str) -> Any:
    """Any JSON."""
    try:
        return codec.decode(text)
    except ValueError as error:
        raise Unreadable(f"is no JSON: {error}") from None


def lines(reader: Reader, each: Field, text: str) -> Any:
    """A list with an item on each line, or the whole as JSON."""
    if text.lstrip().startswith("["):
        try:
            found = from_json(reader, each, text)
        except Unreadable:
            if each.item != "text":
                raise
        else:
            if each.item != "text" or all(isinstance(item, str) for item in found):
                return found
    kept = [line.strip() for line in text.split("\n") if line.strip()]
    return [READERS[each.item](reader, each, line) for line in kept]


def as_it_is(_: Reader, __: Field, text: str) -> str:
    """A text, which the job's own type reads."""
    return text


READERS: Mapping[str, Callable[[Reader, Field, str], Any]] = {
    "text": as_it_is,
    "date": as_it_is,
    "time": as_it_is,
    "decimal": as_it_is,
    "integer": whole,
    "number": number,
    "choice": choice,
    "json": from_json,
    "lines": lines,
    "instant": lambda reader, _, text: reader.instant(text),
}


def zone_named(name: str, otherwise: tzinfo) -> tzinfo:
    """The zone that a form names."""
    try:
        return zones.named(name) if name else otherwise
    except DeclarationError:
        return otherwise


def without_secrets(plain: Any, masked: Any, mask: str, path: str = "") -> tuple[Any, list[str]]:
    """Plain values without those that ``masked`` hides, and the paths of what was left out."""
    if isinstance(masked, Mapping):
        kept, left = {}, []
        for key, item in masked.items():
            at = f"{path}.{key}" if path else str(key)
            if item == mask and plain[key] != mask:
                left.append(at)
                continue
            kept[key], more = without_secrets(plain[key], item, mask, at)
            left += more
        return kept, left
    if isinstance(masked, list):
        pairs = [
            without_secrets(one, other, mask, f"{path}[{place}]")
            for place, (one, other) in enumerate(zip(plain, masked, strict=True))
        ]
        return [kept for kept, _ in pairs], [at for _, left in pairs for at in left]
    return masked, []
