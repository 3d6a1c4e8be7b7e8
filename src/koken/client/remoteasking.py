"""What every verb over HTTP goes through: the console, the workspace, and what was answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from koken.client.asker import NOTHING_SENT, Asker
from koken.client.looking import number
from koken.define.checks import NAME
from koken.errors import Forbidden, InvalidArguments, NotFound
from koken.model import codec
from koken.model.run import Run
from koken.views.query import is_id

R = TypeVar("R")
T = TypeVar("T")
PAGE = 1000
"""Members of one page."""


class RemoteAsking:
    """Reads and writes at a console."""

    asker: Asker
    workspace: str

    async def read(self, path: str, **parameters: Any) -> Any:
        """What stands at a path."""
        return await self.asker.read(path, self.workspace, **parameters)

    async def whole(self, path: str) -> list[Any]:
        """All items of a list, page by page."""
        found = await self.read(path, limit=PAGE)
        items: list[Any] = found["items"]
        while found["next"] is not None:
            found = await self.read(path, limit=PAGE, cursor=found["next"])
            items += found["items"]
        return items

    async def foresee(self, path: str, plain: Mapping[str, Any]) -> Any:
        """What a change would do."""
        return await self.asker.foresee(f"{path}?dry_run=1", self.workspace, plain)

    async def write(self, path: str, plain: Mapping[str, Any]) -> Any:
        """The answer to a change."""
        return await self.asker.write(path, self.workspace, plain)

    async def changed(self, run: Run[R] | int | str, what: str, **given: Any) -> Run[R]:
        """A run as it stands after a change, or the new one."""
        return run_of(await self.write(f"{way(run)}/{what}", given))


def way(run: Run[Any] | int | str) -> str:
    """Where a run stands. Raises ``NotFound`` for what names none."""
    found = number(run)
    if isinstance(found, int) or found.isdigit():
        if not is_id(str(found)):
            raise NotFound(f"there is no run {found}")
    elif not NAME.fullmatch(found):
        raise NotFound(f"there is no run of a job {found!r}; `koken jobs` lists the jobs")
    return f"runs/{found}"


def run_of(plain: Any) -> Run[Any]:
    """A run that a console has told of. Raises ``Forbidden`` where the token may not read it."""
    return whole(Run.from_json, plain, "args")


def whole(make: Callable[[Any], T], plain: Any, last: str) -> T:
    """What a change has come to; ``last`` is a field that is told to those who may read.

    Raises ``Forbidden`` for others: it was done, but there is no snapshot for them.
    """
    if last not in plain:
        known = ", ".join(f"{name} {plain[name]}" for name in plain if name != "url")
        raise Forbidden(f"it was done, but this token may not read what came of it: {known}")
    return make(plain)


def jsonable(name: str, value: Any) -> Any:
    """A value given as ``name`` in JSON's types. Raises ``InvalidArguments`` where it has none."""
    try:
        return codec.decode(codec.encode(value, name=name))
    except codec.Unstorable as error:
        raise InvalidArguments(f"{error}. {NOTHING_SENT}", {name: str(error)}) from None
