"""What is done to many runs, asked for over HTTP."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from koken.client.arguments import said
from koken.client.bulks import AsyncBulks
from koken.model.bulk import Bulk, BulkVerb


class RemoteBulks(AsyncBulks):
    """The verbs of ``AsyncBulks`` over HTTP."""

    @abstractmethod
    async def read(self, path: str, **parameters: Any) -> Any:
        """What stands at a path."""

    @abstractmethod
    async def write(self, path: str, plain: Mapping[str, Any], **how: Any) -> Any:
        """The answer to a change."""

    @override
    async def made_bulk(self, verb: BulkVerb, query: str, rate: str | float, reason: str) -> Bulk:
        given = {"verb": verb, "q": said("query", query), "rate": rate, "reason": reason}
        return Bulk.from_json(await self.write("bulks", given))

    @override
    async def bulks(self) -> list[Bulk]:
        found = await self.read("bulks")
        return [Bulk.from_json(plain) for plain in found["items"]]

    @override
    async def bulk(self, number: Bulk | int) -> Bulk:
        return Bulk.from_json(await self.read(f"bulks/{bulk_id(number)}"))

    @override
    async def moved_bulk(self, number: Bulk | int, verb: str, reason: str) -> Bulk:
        path = {"pause": "pauses", "resume": "resumptions", "stop": "stops"}[verb]
        given = {"reason": said("reason", reason)}
        return Bulk.from_json(await self.write(f"bulks/{bulk_id(number)}/{path}", given))


def bulk_id(number: Bulk | int) -> int:
    """The number of a bulk."""
    return number.id if isinstance(number, Bulk) else number
