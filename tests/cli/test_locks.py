"""``koken locks unlock events hook``."""

from __future__ import annotations

import re

from tests.cli.conftest import Koken, change

HELD = """
insert into koken.lock (workspace_id, kind, key, max_holders) values (1, 'lock', 'cluster', 1);
insert into koken.hold (lock_id, run_id, mode, when_held, rank, not_before, granted_at)
select 1, id, 'exclusive', 'wait', koken.now(), koken.now(), case when id = 1 then koken.now() end
  from koken.run
"""


def test_a_lock_is_listed_and_taken_by_force_only(koken: Koken, database_url: str) -> None:
    assert koken("locks").out == "Nobody holds a lock, and nobody waits for one.\n"
    koken("run", "greet")
    koken("run", "greet", "name=b")
    change(database_url, HELD)
    lines = koken("locks").lines
    assert lines[0] == "1 lock; 1 run waits."
    assert lines[1].split("  ")[0] == "LOCK"
    assert re.sub(" +", " ", lines[1]) == "LOCK KIND HELD BY HOW LONG WAITING"
    assert re.fullmatch(r"cluster  lock  greet 1  +for (a moment|\d+ s|\d+ min) +1", lines[2])
    assert koken("locks", "--kind", "subject", "--json").json == {"items": [], "next": None}
    refused = koken("unlock", "cluster")
    assert refused.code == 4
    assert refused.err == (
        "koken: lock 'cluster': run 1 of greet has it and goes; cancel it, and the lock comes free "
        "by itself. Force takes it away at once, though the run may still be at work\n"
    )
    assert koken("unlock", "cluster", "--force").code == 2
    unnamed = koken("unlock", "cluster", "--force", "--reason", "stuck")
    assert (unnamed.code, unnamed.err) == (
        2,
        "koken: say from which run lock 'cluster' is taken by force: run 1 of greet has it\n",
    )
    force = ("--force", "--reason", "stuck", "--json")
    assert koken("unlock", "cluster", "--run", "greet", *force).code == 2
    assert koken("unlock", "cluster", "--run", "2", *force).code == 4
    done = koken("unlock", "cluster", "--run", "1", *force)
    assert done.json == {"lock": "cluster", "runs": ["1"], "stopping": []}
    assert koken("unlock", "none").code == 3
    told = koken("events", "by:anna", "lock cluster", "--json").json["items"]
    assert [(row["verb"], row["run"]) for row in told] == [("cancel", "1")]


def test_hooks_are_added_rotated_and_removed(koken: Koken) -> None:
    assert koken("hook", "list").out == "No hooks. Add one: koken hook add NAME --job JOB\n"
    added = koken("hook", "add", "ships", "--job", "greet", "--reason", "new partner")
    assert added.lines[0] == "Calls go to http://THIS-HOST:7070/api/v1/hooks/ships"
    assert added.lines[1] == "Where that is nobody has said: set url in [web] of koken.toml."
    assert added.lines[2].startswith("Secret: whsec_")
    rotated = koken("hook", "rotate", "ships", "--json").json
    assert (rotated["name"], rotated["url"]) == ("ships", None)
    assert f"Secret: {rotated['secret']}" != added.lines[2]
    assert koken("hook", "list").lines[1].split() == [
        "ships", "greet", "default", "standard", "fields", "–",
    ]  # fmt: skip
    assert koken("hook", "add", "ships", "--job", "greet").code == 4
    assert koken("hook", "add", "x", "--job", "none").code == 3
    assert koken("hook", "add", "x", "--job", "greet", "--argument", "wings").code == 2
    assert koken("hook", "add", "x").err == (
        "koken: say what it starts: koken hook add x --job JOB\n"
    )
    assert koken("hook", "paint", "x").code == 2
    elsewhere = ("--workspace", "acme", "hook")
    assert koken(*elsewhere, "list", "--json").json["items"] == []
    assert koken(*elsewhere, "rotate", "ships").code == 3
    assert koken(*elsewhere, "remove", "ships").code == 3
    assert koken("hook", "remove", "ships").out == (
        "Hook ships is removed; calls to it are refused.\n"
    )
    assert koken("hook", "list", "--json").json["items"] == []
    events = koken("events", "--json").json["items"]
    assert [(row["verb"], row["reason"]) for row in events if "hook" in row["verb"]] == [
        ("remove hook", None),
        ("rotate hook", None),
        ("add hook", "new partner"),
    ]


def test_events_are_listed_in_pages(koken: Koken) -> None:
    assert koken("events", "verb:none").out == "Nothing of that kind is recorded.\n"
    for name in ("a", "b"):
        koken("run", "greet", f"name={name}")
    koken("cancel", "1", "--reason", "disk full")
    koken("cancel", "2")
    lines = koken("events", "verb:cancel").lines
    assert [line.split()[-5:] for line in lines[1:]] == [
        ["anna", "cancel", "greet", "2", "–"],
        ["cancel", "greet", "1", "disk", "full"],
    ]
    page = koken("events", "verb:cancel", "--limit", "1", "--json").json
    rest = koken("events", "verb:cancel", "--limit", "1", "--before", page["next"], "--json").json
    assert [page["items"][0]["run"], rest["items"][0]["run"]] == ["2", "1"]
    assert koken("events", "--before", "x").code == 2
    assert koken("events", "verbs:x").code == 2
