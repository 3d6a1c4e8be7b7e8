"""One request as the doors see it: who asks, where, and with what they act."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypedDict

from koken.client.awaiting import AsyncClient
from koken.errors import Forbidden, NotFound
from koken.model.rights import EVERYWHERE, Right
from koken.model.run import Run
from koken.store.database import Database
from koken.views import runs
from koken.views.query import is_id
from koken.web.access.principal import Kind, Principal
from koken.web.house import House
from koken.web.masking import refuse_guesses


class Deed(TypedDict):
    """Who does something, and why: what every verb that changes something takes, for the record."""

    by: str
    reason: str | None


class Grant(Deed):
    """A deed about who may come in: nobody gives what they do not have."""

    holds: Mapping[str, Collection[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """Who asks, in which workspace."""

    house: House
    principal: Principal
    workspace: str
    csrf: str = ""
    """What a form of the console must bring back."""
    base: str = ""
    """What stands before each of our paths, for who reaches us as they do."""
    needed: set[tuple[str, Right]] = field(default_factory=set, compare=False, repr=False)
    """The rights that were looked for and found, and where: the same for this visit elsewhere."""

    @property
    def client(self) -> AsyncClient:
        """A client that acts as who asks, in their workspace."""
        return self.house.client.using(by=self.principal.name, workspace=self.workspace)

    @property
    def db(self) -> Database:
        """For the engine's verbs."""
        return self.house.db

    @property
    def views(self) -> Database:
        """For reading."""
        return self.house.views

    def may(self, right: Right) -> bool:
        """Whether that is allowed here; decides which buttons a page has."""
        return self.found(right, self.workspace)

    def found(self, right: Right, workspace: str) -> bool:
        """Whether that is allowed there; noted where it is."""
        allowed = self.principal.may(right, workspace)
        if allowed:
            self.needed.add((workspace, right))
        return allowed

    def need(self, right: Right) -> None:
        """Raise ``Forbidden`` where it is not."""
        if not self.may(right):
            raise Forbidden(
                f"{self.principal.name} may not {right} in workspace {self.workspace!r}; "
                "somebody who administers it can change that"
            )

    def need_everywhere(self, right: Right, what: str) -> None:
        """Raise ``Forbidden`` where who asks has the right in some workspaces only."""
        if not self.found(right, EVERYWHERE):
            raise Forbidden(
                f"{what} belong to all workspaces; {self.principal.name} may not {right} everywhere"
            )

    @property
    def hears_common(self) -> bool:
        """Whether who asks is told what belongs to no workspace: of users, roles, tokens."""
        return self.found(Right.ADMINISTER, EVERYWHERE)

    def deed(self, reason: str | None) -> Deed:
        """What is done here, for the record: who does it, and why, where that is said."""
        return {"by": self.principal.name, "reason": reason or None}

    def grant(self, reason: str | None) -> Grant:
        """What is done here about who may come in, with what they may do themselves who do it."""
        return {**self.deed(reason), "holds": self.principal.rights}

    @property
    def gives_until(self) -> datetime | None:
        """Until when a key is good at most that is made here: a program gives no time it lacks."""
        return self.principal.until if self.principal.kind is Kind.TOKEN else None

    def query(self, text: str) -> str:
        """A query of runs, as it is. Raises ``InvalidArguments`` where it asks for a secret."""
        return refuse_guesses(text, self.house.web.mask)

    async def run(self, named: str, right: Right = Right.READ) -> tuple[Visit, Run[Any]]:
        """A run by its number, in whichever workspace, and the visit there.

        Where it is no number: the last run of the job of that name in this workspace. Raises
        ``NotFound``, also for a run in a workspace that does not exist for who asks, and
        ``Forbidden`` without the right.
        """
        if not is_id(named):
            self.need(right)
            return self, await runs.get(self.views, named, workspace=self.workspace)
        found = (await runs.get_many(self.views, [int(named)])).get(int(named))
        if found is None or not self.principal.sees(found.workspace):
            raise NotFound(f"there is no run {named} here")
        there = self if found.workspace == self.workspace else self.at(found.workspace)
        there.need(right)
        return there, found

    def at(self, workspace: str) -> Visit:
        """The same visit in another workspace."""
        return replace(self, workspace=workspace)
