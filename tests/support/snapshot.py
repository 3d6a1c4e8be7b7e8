"""A schema as text: tables, columns, constraints, indexes, triggers and functions.

``python -m tests.support.snapshot`` prints the one that the migrations make.
"""

from __future__ import annotations

import asyncio
import sys

import asyncpg

from koken.embedded.server import Server
from koken.store.migrate import migrate
from koken.store.statements import quoted
from tests.support.postgres import FAST, scratch_directory

PARTS = {
    "columns": """
        select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
               || case when a.attnotnull then ' not null' else '' end
               || case when a.attidentity <> '' then ' identity' else '' end
               || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
          from pg_attribute a join pg_class c on c.oid = a.attrelid
          left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
         where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0
           and not a.attisdropped
         order by c.relname, a.attnum""",
    "settings": """
        select relname || ' ' || array_to_string(reloptions, ', ') from pg_class
         where relnamespace = $1::regnamespace and reloptions is not null order by relname""",
    "constraints": """
        select conrelid::regclass::text || ' ' || pg_get_constraintdef(oid) from pg_constraint
         where connamespace = $1::regnamespace and contype <> 'n'
         order by conrelid::regclass::text, conname""",
    "indexes": "select indexdef from pg_indexes where schemaname = $2 order by indexname",
    "triggers": """
        select pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = t.tgrelid
         where c.relnamespace = $1::regnamespace and not t.tgisinternal order by t.tgname""",
    "functions": """
        select pg_get_functiondef(oid) from pg_proc
         where pronamespace = $1::regnamespace order by proname""",
}


async def snapshot(url: str, schema: str) -> str:
    """The schema as text, whatever it is called."""
    connection = await asyncpg.connect(url, server_settings={"search_path": ""})
    try:
        lines = []
        for part, text in PARTS.items():
            lines.append(f"-- {part}")
            args = [quoted(schema)] if "$2" not in text else [quoted(schema), schema]
            if part == "indexes":
                text, args = text.replace("$2", "$1"), [schema]
            lines += [row[0] for row in await connection.fetch(text, *args)]
        whole = "\n".join(lines) + "\n"
    finally:
        await connection.close()
    return whole.replace(quoted(schema), "koken").replace(
        f"'{schema.replace(chr(39), chr(39) * 2)}'", "'koken'"
    )


async def print_it(url: str) -> None:
    """Migrate a fresh database and print what came of it."""
    await migrate(url)
    sys.stdout.write(await snapshot(url, "koken"))


if __name__ == "__main__":
    with scratch_directory() as directory, Server.start(directory, settings=FAST) as server:
        asyncio.run(print_it(server.url))
