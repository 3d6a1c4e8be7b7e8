"""What is done to many runs, asked for over HTTP."""

from __future__ import annotations

from typing_extensions import override

from koken.client.arguments import said
from koken.client.bulks import AsyncBulks, bulk_id, check_bulk
from koken.client.remoteasking import RemoteAsking, whole
from koken.model.bulk import Bulk, BulkVerb


class RemoteBulks(RemoteAsking, AsyncBulks):
    """The verbs of ``AsyncBulks`` over HTTP."""

    @override
    async def made_bulk(self, verb: BulkVerb, query: str, rate: str | float, reason: str) -> Bulk:
        speed = check_bulk(verb, query, rate, reason)
        given = {"verb": verb, "q": query, "rate": speed, "reason": reason}
        return whole(Bulk.from_json, await self.write("bulks", given), "query")

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
        after = await self.write(f"bulks/{bulk_id(number)}/{path}", given)
        return whole(Bulk.from_json, after, "query")
