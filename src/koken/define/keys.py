"""Keys with places in them, such as ``customer:{customer_id}``: which names they use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import Formatter

from koken.define.spelling import did_you_mean
from koken.errors import DeclarationError

ALWAYS = ("workspace", "logical_time")
"""Names that every run has, beside its arguments."""


def check_key(option: str, key: str, arguments: Sequence[str] | None) -> None:
    """Refuse a key that names what the job does not have.

    ``option`` is where the key stands; ``arguments`` are the job's, None when they are free.
    Raises ``DeclarationError`` whose message goes on from "job 'x': ".
    """
    for name in names_in(option, key, formats=False):
        root = name.split(".")[0]
        if arguments is None or root in arguments or root in ALWAYS:
            continue
        has = f"the arguments are {', '.join(arguments)}" if arguments else "there are no arguments"
        meant = did_you_mean(root, [*arguments, *ALWAYS])
        raise DeclarationError(f"{option} {key!r} names {root!r}; {has}.{meant}")


def check_filled(option: str, text: str) -> bool:
    """Whether a schedule's argument has places; refuses names that a due time does not have."""
    names = list(names_in(option, text, formats=True))
    for name in names:
        if name not in ALWAYS:
            meant = did_you_mean(name, ALWAYS)
            raise DeclarationError(
                f"{option} {text!r} names {name!r}; it may name {', '.join(ALWAYS)}.{meant}"
            )
    return bool(names)


def names_in(option: str, key: str, *, formats: bool) -> Iterator[str]:
    """The names in the places of a key: ``request.id`` of ``{request.id}``.

    ``formats``: whether a place may say how it is written, as in ``{logical_time:%Y-%m}``.
    """
    try:
        parts = list(Formatter().parse(key))
    except ValueError as error:
        raise DeclarationError(f"{option} {key!r}: {error}.") from None
    for _, name, form, conversion in parts:
        if name is None:
            continue
        if form and not formats:
            raise DeclarationError(
                f"{option} {key!r}: {{{name}:{form}}} has a format; a key has plain names."
            )
        if conversion or not all(part.isidentifier() for part in name.split(".")):
            place = f"{{{name}!{conversion}}}" if conversion else f"{{{name}}}"
            raise DeclarationError(
                f"{option} {key!r}: {place} is no name. Write {{name}} or {{name.field}}, and "
                "{{ for a brace that is meant as one."
            )
        yield name
