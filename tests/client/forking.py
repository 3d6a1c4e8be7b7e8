"""A program that forks while its client is open; says which connections serve whom.

Arguments: the database's address. It prints, as JSON, what parent and child have found.
"""

from __future__ import annotations

import json
import os
import sys

import koken

app = koken.App("forks", database_url=sys.argv[1])


@app.job
def add(a: int, b: int) -> int:
    return a + b


client = koken.Client(app)


def backends() -> list[int]:
    """The server's processes that serve this process: of starts and of reads."""
    link = client.awaiting.link

    async def ask() -> list[int]:
        text = "select pg_backend_pid() as pid"
        answers = [await db.run(lambda tx: tx.fetch_text(text)) for db in (link.db, link.views)]
        return [rows[0]["pid"] for rows in answers]

    return client.portal.call("ask", ask())


def main() -> None:
    first = client.start(add, 1, 2)
    before = backends()
    reader, writer = os.pipe()
    if os.fork() == 0:
        second = client.start(add, 3, 4)
        seen = [client.get(first).id, second.id, *backends()]
        os.write(writer, json.dumps(seen).encode())
        sys.exit()  # as a server's child ends: all that is left is finalized
    os.wait()
    child = json.loads(os.read(reader, 1000))
    print(json.dumps({"before": before, "child": child, "after": backends()}))
    client.close()


main()
