"""The verbs of repair for a program that blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from koken.client.asked import Named
from koken.client.portal import Portal
from koken.client.repairs import AsyncRepairs
from koken.client.results import NO_RESULT
from koken.model.bulk import Bulk
from koken.model.plan import Plan
from koken.model.run import Run

R = TypeVar("R")


class Repairs:
    """As ``AsyncRepairs``."""

    portal: Portal
    awaiting: AsyncRepairs

    def plan(
        self,
        verb: str,
        run: Run[Any] | int | str,
        step: Named = None,
        *,
        from_step: Named = None,
        args: Mapping[str, Any] | None = None,
        result: Any = NO_RESULT,
    ) -> Plan:
        """As ``AsyncClient.plan``."""
        work = self.awaiting.plan(verb, run, step, from_step=from_step, args=args, result=result)
        return self.portal.call("plan", work)

    def retry(
        self,
        run: Run[R] | int | str,
        *,
        from_step: Named = None,
        args: Mapping[str, Any] | None = None,
        reason: str = "",
        force: bool = False,
    ) -> Run[R]:
        """As ``AsyncClient.retry``."""
        work = self.awaiting.retry(run, from_step=from_step, args=args, reason=reason, force=force)
        return self.portal.call("retry", work)

    def rerun(self, run: Run[R] | int | str, *, reason: str = "", force: bool = False) -> Run[R]:
        """As ``AsyncClient.rerun``."""
        return self.portal.call("rerun", self.awaiting.rerun(run, reason=reason, force=force))

    def skip(
        self,
        run: Run[R] | int | str,
        step: Named = None,
        *,
        reason: str = "",
        force: bool = False,
    ) -> Run[R]:
        """As ``AsyncClient.skip``."""
        return self.portal.call("skip", self.awaiting.skip(run, step, reason=reason, force=force))

    def resolve(
        self,
        run: Run[R] | int | str,
        step: Named = None,
        *,
        result: Any = NO_RESULT,
        reason: str = "",
        force: bool = False,
    ) -> Run[R]:
        """As ``AsyncClient.resolve``."""
        work = self.awaiting.resolve(run, step, result=result, reason=reason, force=force)
        return self.portal.call("resolve", work)

    def fork(
        self, run: Run[R] | int | str, from_step: Named, *, reason: str = "", force: bool = False
    ) -> Run[R]:
        """As ``AsyncClient.fork``."""
        work = self.awaiting.fork(run, from_step, reason=reason, force=force)
        return self.portal.call("fork", work)

    def mark(
        self,
        run: Run[R] | int | str,
        step: Named,
        code: int,
        *,
        reason: str = "",
        force: bool = False,
    ) -> Run[R]:
        """As ``AsyncClient.mark``."""
        work = self.awaiting.mark(run, step, code, reason=reason, force=force)
        return self.portal.call("mark", work)

    def acknowledge(self, run: Run[R] | int | str, *, reason: str = "") -> Run[R]:
        """As ``AsyncClient.acknowledge``."""
        return self.portal.call("acknowledge", self.awaiting.acknowledge(run, reason=reason))

    def retry_where(self, query: str, *, rate: str | float = "5/s", reason: str) -> Bulk:
        """As ``AsyncClient.retry_where``."""
        work = self.awaiting.retry_where(query, rate=rate, reason=reason)
        return self.portal.call("retry_where", work)

    def cancel_where(self, query: str, *, rate: str | float = "5/s", reason: str) -> Bulk:
        """As ``AsyncClient.cancel_where``."""
        work = self.awaiting.cancel_where(query, rate=rate, reason=reason)
        return self.portal.call("cancel_where", work)

    def skip_where(self, query: str, *, rate: str | float = "5/s", reason: str) -> Bulk:
        """As ``AsyncClient.skip_where``."""
        work = self.awaiting.skip_where(query, rate=rate, reason=reason)
        return self.portal.call("skip_where", work)

    def acknowledge_where(self, query: str, *, rate: str | float = "5/s", reason: str) -> Bulk:
        """As ``AsyncClient.acknowledge_where``."""
        work = self.awaiting.acknowledge_where(query, rate=rate, reason=reason)
        return self.portal.call("acknowledge_where", work)

    def bulks(self) -> list[Bulk]:
        """As ``AsyncClient.bulks``."""
        return self.portal.call("bulks", self.awaiting.bulks())

    def bulk(self, number: Bulk | int) -> Bulk:
        """As ``AsyncClient.bulk``."""
        return self.portal.call("bulk", self.awaiting.bulk(number))

    def pause_bulk(self, number: Bulk | int, *, reason: str = "") -> Bulk:
        """As ``AsyncClient.pause_bulk``."""
        return self.portal.call("pause_bulk", self.awaiting.pause_bulk(number, reason=reason))

    def resume_bulk(self, number: Bulk | int, *, reason: str = "") -> Bulk:
        """As ``AsyncClient.resume_bulk``."""
        return self.portal.call("resume_bulk", self.awaiting.resume_bulk(number, reason=reason))

    def stop_bulk(self, number: Bulk | int, *, reason: str = "") -> Bulk:
        """As ``AsyncClient.stop_bulk``."""
        return self.portal.call("stop_bulk", self.awaiting.stop_bulk(number, reason=reason))
