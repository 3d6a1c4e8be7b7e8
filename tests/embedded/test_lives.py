"""Several processes and one server: whose it is, and what becomes of it when they end."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from koken.embedded.binaries import Binaries, find
from koken.embedded.server import Server
from koken.errors import Refused
from tests.embedded.holder import Person, holding, launched, myself, told
from tests.embedded.test_server import ask, do, gone
from tests.support.moments import until_sync


@pytest.mark.parametrize("binding", ["death signal", "watchdog"])
def test_ends_with_its_starter_however_that_ends(
    person: Person, data_dir: Path, binaries: Binaries, binding: str
) -> None:
    with holding(person, data_dir, binaries, binding=binding) as holder:
        assert holder.owned
        do(holder.url, "create table kept ()", "insert into kept default values")
        with psycopg.connect(holder.url):
            holder.kill()
            until_sync(lambda: gone(data_dir))
    with holding(person, data_dir, binaries, binding=binding) as holder:
        assert ask(holder.url, "select count(*) from kept") == 1
        holder.let_go()
        assert gone(data_dir)


def test_recovers_when_server_and_starter_were_killed(
    person: Person, data_dir: Path, binaries: Binaries
) -> None:
    with holding(person, data_dir, binaries) as holder:
        do(holder.url, "create table kept ()", "insert into kept default values")
        os.kill(holder.pid, signal.SIGKILL)
        holder.kill()
    with holding(person, data_dir, binaries) as holder:
        assert holder.owned
        assert ask(holder.url, "select count(*) from kept") == 1


def test_a_dead_servers_number_may_be_another_programs(
    person: Person, data_dir: Path, binaries: Binaries
) -> None:
    note = data_dir / "pgdata" / "postmaster.pid"
    with holding(person, data_dir, binaries) as holder:
        said = note.read_text()
        os.kill(holder.pid, signal.SIGKILL)
    with subprocess.Popen(["sleep", "600"], user=person.account.uid) as other:
        try:
            note.write_text(said.replace(str(holder.pid), str(other.pid), 1))
            with holding(person, data_dir, binaries) as holder:
                assert holder.owned
        finally:
            other.kill()


def test_a_guest_leaves_the_server_running(data_dir: Path) -> None:
    with Server.start(data_dir) as server:
        with holding(myself(), data_dir, find()) as guest:
            assert (guest.url, guest.pid, guest.owned) == (server.url, server.pid, False)
            guest.let_go()
        assert ask(server.url, "select 1") == 1
        with holding(myself(), data_dir, find()) as guest:
            guest.kill()
        assert ask(server.url, "select 1") == 1


def test_the_server_leaves_its_guests(data_dir: Path) -> None:
    with holding(myself(), data_dir, find()) as holder:
        guest = Server.start(data_dir)
        assert not guest.owned
        assert guest.version == find().version
        guest.stop()
        assert ask(guest.url, "select 1") == 1
        with pytest.raises(Refused, match="another process"):
            guest.restart()
        holder.let_go()
        with pytest.raises(psycopg.OperationalError):
            ask(guest.url, "select 1")


def test_of_several_that_start_at_once_one_is_the_owner(person: Person, data_dir: Path) -> None:
    with ExitStack() as stack:
        starting = [stack.enter_context(launched(person, data_dir, find())) for _ in range(3)]
        holders = [told(process) for process in starting]
        assert sorted(holder.owned for holder in holders) == [False, False, True]
        assert len({holder.url for holder in holders}) == 1
