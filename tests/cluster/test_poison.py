"""Values that no database takes: the run fails with the reason, the worker and the rest go on."""

from __future__ import annotations

import pytest

from koken.errors import InvalidArguments
from koken.model.states import State
from tests.cluster import poison
from tests.cluster.cluster import Cluster

REASONS = {
    "nul": "NUL",
    "surrogate": "lone surrogate",
    "nan": "is nan, which JSON has no form for",
    "infinity": "is -inf, which JSON has no form for",
    "10 MB": "4,194,304",
    "no JSON": "object",
    "huge number": "4300 digits",
    "deep": "depth",
    "key": "NUL",
    "bytes": "utf",
}
UNTYPED = (poison.result, poison.result_on_loop, poison.result_of_process)


async def test_results(cluster: Cluster) -> None:
    """NUL, lone surrogate, NaN, 10 MB, no JSON, and what only the database refuses (bug-001)."""
    worker = await cluster.worker(app="tests.cluster.poison:app")
    runs = {
        (job.name, kind): await cluster.client.start(job, kind)
        for kind in REASONS
        for job in UNTYPED
    }
    good = await cluster.client.start_many(poison.plain, [{"value": n} for n in range(100)])
    await cluster.all_in("failed", list(runs.values()))
    await cluster.all_in("succeeded", good)
    for (_, kind), run in runs.items():
        ended = await cluster.client.get(run)
        assert ended.error is not None
        assert REASONS[kind] in ended.error.message, kind
        assert ended.attempt == 1
    assert worker.code is None


async def test_what_only_the_database_refuses(cluster: Cluster) -> None:
    """Two poisonous answers in batches of good ones: they fail alone, the others are stored."""
    await cluster.rows("alter table koken.run add check (result not in ('13', '31'))")
    await cluster.worker(app="tests.cluster.poison:app")
    runs = await cluster.client.start_many(poison.plain, [{"value": n} for n in range(100)])
    bad = [runs[13], runs[31]]
    await cluster.all_in("failed", bad)
    await cluster.all_in("succeeded", [run for run in runs if run not in bad])
    for run in bad:
        error = (await cluster.client.get(run)).error
        assert error is not None
        assert error.type == "Unstorable"
        assert "its answer cannot be stored: new row for relation" in error.message


@pytest.mark.parametrize("job", [poison.kept, poison.saved], ids=["step", "save"])
async def test_what_is_kept(cluster: Cluster, job: object) -> None:
    """A step's result or a saved value that cannot be kept fails its own run alone."""
    await cluster.worker(app="tests.cluster.poison:app")
    runs = {kind: await cluster.client.start(job, kind) for kind in REASONS}
    good = [await cluster.client.start(job, "plain") for _ in range(3)]
    await cluster.all_in("failed", list(runs.values()))
    await cluster.all_in("succeeded", good)
    for kind, run in runs.items():
        error = (await cluster.client.get(run)).error
        assert error is not None
        assert REASONS[kind] in error.message, kind


async def test_names_of_steps(cluster: Cluster) -> None:
    """A name that no key can be: the body hears of it, and the others' steps are kept."""
    await cluster.worker(app="tests.cluster.poison:app")
    runs = [await cluster.client.start(poison.named, kind) for kind in ("nul", "surrogate", "long")]
    good = [await cluster.client.start(poison.kept, "plain") for _ in range(3)]
    await cluster.all_in("failed", runs)
    await cluster.all_in("succeeded", good)


async def test_errors(cluster: Cluster) -> None:
    """Errors with odd or endless messages are recorded, escaped and cut (bug-004)."""
    await cluster.worker(app="tests.cluster.poison:app")
    messages = {
        "nul": "a\\x00b",
        "surrogate": "a\\udfffb",
        "3 MB": "y" * 10_000 + "… (cut: 3,000,000 characters)",
        "odd": "<OddError whose message cannot be shown>",
    }
    runs = {kind: await cluster.client.start(poison.raises, kind) for kind in messages}
    await cluster.all_in("failed", list(runs.values()))
    for kind, run in runs.items():
        ended = await cluster.client.get(run)
        assert ended.error is not None
        assert (ended.error.message, ended.attempt) == (messages[kind], 2)
    kept = "select run_id, outcome from koken.attempt order by run_id, lease"
    found = [tuple(row.values()) for row in await cluster.rows(kept)]
    assert found == [(run.id, each) for run in runs.values() for each in ("retry", "failed")]


async def test_logs(cluster: Cluster) -> None:
    """Odd characters, long lines and bytes that are no text stay readable in the log (bug-121)."""
    await cluster.worker(app="tests.cluster.poison:app")
    says = await cluster.client.start(poison.says)
    out = await cluster.client.start(poison.bytes_out)
    assert (await cluster.client.wait(says, 20)).result == "said"
    assert (await cluster.client.wait(out, 20)).state is State.SUCCEEDED
    lines = [line.text for line in await cluster.client.logs(says)]
    assert lines[0] == "print a\\x00b\\ud800c"
    assert [len(line) for line in lines[1:14]] == [8000] * 12 + [4000]
    assert lines[14] == "log a\\x00b \\udfff"
    texts = [(line.stream, line.text) for line in await cluster.client.logs(out)]
    assert sorted(texts) == [("stderr", "d"), ("stdout", "\\x00c"), ("stdout", "a\\xffb")]
    shown = await cluster.client.get(says)
    assert (shown.progress.percent, shown.progress.message) == (10, "progress a\\x00b\\ud800")


@pytest.mark.parametrize("kind", ["nul", "surrogate", "nan", "10 MB", "no JSON"])
async def test_arguments(cluster: Cluster, kind: str) -> None:
    """Arguments that cannot be kept are refused at the door: nothing is started."""
    with pytest.raises((InvalidArguments, ValueError), match=REASONS[kind]):
        await cluster.client.start(poison.plain, poison.VALUES[kind]())
    assert await cluster.value("select count(*) from koken.run") == 0


async def test_arguments_come_whole(cluster: Cluster) -> None:
    """Whole numbers keep their digits (bug-006), payloads of any size start alike (bug-009)."""
    await cluster.worker(app="tests.cluster.poison:app")
    numbers = [899999999999999990, 9007199254740993, -9223372036854775808, 2**70]
    runs = [await cluster.client.start(poison.plain, number) for number in numbers]
    sizes = (7_000, 9_000, 1_000_000, 4_000_000)
    large = [await cluster.client.start(poison.plain, "p" * size) for size in sizes]
    await cluster.all_in("succeeded", [*runs, *large])
    assert [(await cluster.client.get(run)).result for run in runs] == numbers
    assert [len((await cluster.client.get(run)).result) for run in large] == list(sizes)


async def test_a_flood_of_lines(cluster: Cluster) -> None:
    """100,000 lines at once: all are kept, in order."""
    await cluster.worker(app="tests.cluster.poison:app")
    run = await cluster.client.start(poison.floods, 100_000)
    assert (await cluster.client.wait(run, 60)).state is State.SUCCEEDED
    rows = await cluster.rows("select text from koken.log_line order by id")
    assert [row["text"] for row in rows] == [str(n) for n in range(100_000)]
