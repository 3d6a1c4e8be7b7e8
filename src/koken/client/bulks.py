"""What people do to many runs at a rate: the verbs of bulks, for a program that awaits."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from koken.client.arguments import said
from koken.client.asked import speed_of
from koken.client.link import Link
from koken.define.problems import shown
from koken.engine import bulk
from koken.errors import InvalidArguments, NotFound
from koken.model.bulk import Bulk, BulkVerb
from koken.views import bulks


def check_bulk(verb: BulkVerb, query: str, rate: str | float, reason: str) -> float:
    """The rate of a bulk, when all that is said of it can be. Raises ``InvalidArguments``."""
    said("query", query)
    if not said("reason", reason):
        raise InvalidArguments(f"a {verb} of many runs wants a reason, for the record")
    return speed_of(rate)


def bulk_id(number: Bulk | int) -> int:
    """The number of a bulk. Raises ``NotFound`` for what no bulk has."""
    found: Any = number.id if isinstance(number, Bulk) else number
    if not isinstance(found, int) or not 0 <= found < 2**63:
        raise NotFound(f"there is no bulk {shown(found)}; `koken bulk` lists them")
    return found


class AsyncBulks:
    """The verbs of bulks. Each takes ``reason``, for the record, beside who acts."""

    link: Link
    workspace: str

    @property
    @abstractmethod
    def who(self) -> str:
        """Who acts."""

    @abstractmethod
    def alone(self, verb: str) -> None:
        """Refuse a verb that has a transaction of its own inside a caller's, by a TypeError."""

    async def retry_where(self, query: str, *, rate: str | float = "5/s", reason: str) -> Bulk:
        """Have all runs retried that match ``query`` now, as ``find`` would, at a rate.

        Workers do so. It stops by itself once ten of those have ended, and more than half of the
        last twenty that have failed again. Raises ``InvalidArguments``.
        """
        return await self.made_bulk("retry", query, rate, reason)

    async def cancel_where(self, query: str, *, rate: str | float = "5/s", reason: str) -> Bulk:
        """Have all runs cancelled that match ``query`` now and have not ended, at a rate."""
        return await self.made_bulk("cancel", query, rate, reason)

    async def skip_where(self, query: str, *, rate: str | float = "5/s", reason: str) -> Bulk:
        """Of all workflows' runs that match ``query`` and failed, have the failed steps skipped.

        The steps after them go on, at a rate of so many runs.
        """
        return await self.made_bulk("skip", query, rate, reason)

    async def acknowledge_where(
        self, query: str, *, rate: str | float = "5/s", reason: str
    ) -> Bulk:
        """Have all open failures acknowledged that match ``query`` now, at a rate."""
        return await self.made_bulk("acknowledge", query, rate, reason)

    async def made_bulk(self, verb: BulkVerb, query: str, rate: str | float, reason: str) -> Bulk:
        """Have something done to many runs."""
        self.alone(f"{verb}_where")
        speed = check_bulk(verb, query, rate, reason)
        found = await bulks.preview(self.link.views, query, workspace=self.workspace, verb=verb)
        made = await bulk.make(
            self.link.db,
            verb,
            query,
            found.ids,
            workspace=self.workspace,
            rate=speed,
            by=self.who,
            reason=reason,
        )
        return await self.bulk(made)

    async def bulks(self) -> list[Bulk]:
        """What is done to many runs, newest first."""
        return await bulks.bulks(self.link.views, workspace=self.workspace)

    async def bulk(self, number: Bulk | int) -> Bulk:
        """Something that is done to many runs, as it stands now. Raises ``NotFound``."""
        return await bulks.bulk(self.link.views, bulk_id(number), workspace=self.workspace)

    async def pause_bulk(self, number: Bulk | int, *, reason: str = "") -> Bulk:
        """Have it do nothing more for now. Raises ``Refused`` when it does not go."""
        return await self.moved_bulk(number, "pause", reason)

    async def resume_bulk(self, number: Bulk | int, *, reason: str = "") -> Bulk:
        """Let it go on; failures from before do not count any more."""
        return await self.moved_bulk(number, "resume", reason)

    async def stop_bulk(self, number: Bulk | int, *, reason: str = "") -> Bulk:
        """End it; what it has done stays."""
        return await self.moved_bulk(number, "stop", reason)

    async def moved_bulk(self, number: Bulk | int, verb: str, reason: str) -> Bulk:
        """Pause, resume or stop it."""
        self.alone(f"{verb}_bulk")
        why = said("reason", reason) or None
        found = await self.bulk(number)
        await bulk.move(self.link.db, found.id, verb, by=self.who, reason=why)
        return await self.bulk(found.id)
