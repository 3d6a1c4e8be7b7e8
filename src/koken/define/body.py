"""What a job carries out, as far as a start must know it: its arguments and its result."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

from koken.define.problems import invalid
from koken.model import codec
from koken.model.job import JobSpec

NOT_STARTED = "Nothing was started."


class Body:
    """A body whose arguments are free: any names, any JSON values.

    That is all that is known of a job of another program. ``Function`` knows a Python function's
    arguments; commands and other bodies may say more about theirs.
    """

    usual_executor: str = "thread"
    """Where it is carried out when the job does not say."""

    label: str = "job"
    """The job's name, for messages; see ``named``."""

    description: str = ""
    """What the body says of itself, where it says something."""

    parameters: Mapping[str, Any] = {}
    """The arguments as a JSON Schema; empty when they are free."""

    defaults: Mapping[str, Any] = {}
    """Arguments that a start may leave out, with the plain value that they then have."""

    required: tuple[str, ...] = ()
    """Arguments that a start must give."""

    @property
    def argument_names(self) -> tuple[str, ...] | None:
        """The names of the arguments, in order; None when they are free."""
        return tuple(self.parameters["properties"]) if self.parameters else None

    def named(self, label: str) -> Self:
        """The same body, as that of the job ``label``."""
        other = copy.copy(self)
        object.__setattr__(other, "label", label)
        return other

    def check_executor(self, name: str) -> None:
        """Refuse an executor that cannot carry this body out, with ``DeclarationError``."""

    def complete(self, spec: JobSpec) -> JobSpec:
        """The job's spec with what the body adds to it."""
        return spec

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The plain values, by name, of a call with these arguments.

        Raises ``InvalidArguments`` when the body cannot be called so.
        """
        if args:
            problem = "which arguments it takes is not known here, so give them by name"
            raise invalid(self.label, {"": problem}, end=NOT_STARTED)
        return self.bind_plain(kwargs)

    def bind_plain(self, plain: Mapping[str, Any]) -> dict[str, Any]:
        """As ``bind``, of JSON values, as they come over HTTP or from a file."""
        try:
            values: dict[str, Any] = codec.decode(codec.encode(dict(plain), name="the whole"))
        except codec.Unstorable as error:
            raise invalid(self.label, {"": str(error)}, end=NOT_STARTED) from None
        return values

    def bind_text(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """As ``bind``, of texts from a terminal; each is JSON or simply text."""
        return self.bind_plain({name: json_or_text(text) for name, text in texts.items()})

    def dump(self, result: Any) -> str:
        """The result as JSON text. Raises ``Unstorable`` when it has none."""
        return codec.encode(result, name="the result")

    def load(self, plain: Any) -> Any:
        """The result from plain JSON values."""
        return plain


def json_or_text(text: str) -> Any:
    """The value of a JSON text; the text itself when it is none."""
    try:
        return codec.decode(text)
    except ValueError:
        return text
