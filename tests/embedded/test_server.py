from __future__ import annotations

import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from koken.embedded import boot
from koken.embedded.binaries import Binaries
from koken.embedded.server import Server
from koken.errors import DatabaseUnreachable
from tests.support.moments import until_sync


def ask(url: str, question: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(question.encode()).fetchone()
    return row[0] if row else None


def do(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def gone(data_dir: Path) -> bool:
    return not (data_dir / "pgdata" / "postmaster.pid").exists()


def test_starts_answers_and_stops(data_dir: Path, binaries: Binaries) -> None:
    with Server.start(data_dir, binaries=binaries.directory) as server:
        assert server.owned
        assert server.version == binaries.version
        assert str(ask(server.url, "show server_version")).startswith(server.version)
        assert ask(server.url, "show server_encoding") == "UTF8"
        assert ask(server.url, "show listen_addresses") == "127.0.0.1"
        by_socket = f"host={server.socket_dir} port={server.port} user=postgres"
        assert ask(by_socket, "select 1") == 1
    assert gone(data_dir)
    with pytest.raises(psycopg.OperationalError):
        ask(server.url, "select 1")
    server.stop()


def test_keeps_what_was_written(data_dir: Path, binaries: Binaries) -> None:
    with Server.start(data_dir, binaries=binaries.directory) as server:
        do(server.url, "create table kept ()", "insert into kept default values")
    with Server.start(data_dir, binaries=binaries.directory) as server:
        assert ask(server.url, "select count(*) from kept") == 1


def test_is_durable_unless_told_otherwise(data_dir: Path) -> None:
    with Server.start(data_dir) as server:
        assert ask(server.url, "show fsync") == "on"
    settings = {"fsync": "off", "timezone": "Pacific/Chatham"}
    with Server.start(data_dir, settings=settings) as server:
        assert ask(server.url, "show fsync") == "off"
        assert ask(server.url, "show timezone") == "Pacific/Chatham"


def test_restarts_on_the_same_port(data_dir: Path) -> None:
    with Server.start(data_dir) as server:
        url, pid = server.url, server.pid
        with psycopg.connect(url) as client:
            server.restart()
            with pytest.raises(psycopg.OperationalError):
                client.execute("select 1")
        assert server.url == url
        assert server.pid != pid
        assert ask(url, "select 1") == 1


def test_recovers_when_its_process_was_killed(data_dir: Path, binaries: Binaries) -> None:
    with Server.start(data_dir, binaries=binaries.directory) as server:
        do(server.url, "create table kept ()", "insert into kept default values")
        os.kill(server.pid, signal.SIGKILL)
        server.restart()
        assert ask(server.url, "select count(*) from kept") == 1
        os.kill(server.pid, signal.SIGKILL)
    with Server.start(data_dir, binaries=binaries.directory) as server:
        assert ask(server.url, "select count(*) from kept") == 1


def test_stops_as_told(data_dir: Path) -> None:
    with Server.start(data_dir) as server:
        do(server.url, "create table kept ()", "insert into kept default values")
        server.stop("immediate")
        server.restart()
        assert ask(server.url, "select count(*) from kept") == 1
        server.stop("smart")
        assert gone(data_dir)


def test_outlives_the_thread_that_started_it(data_dir: Path) -> None:
    with ThreadPoolExecutor(1) as thread:
        server = thread.submit(Server.start, data_dir).result()
    with server:
        assert ask(server.url, "select 1") == 1


def test_ctrl_c_is_not_for_the_database(data_dir: Path) -> None:
    with Server.start(data_dir) as server:
        assert os.getpgid(server.pid) != os.getpgid(0)


def test_tries_another_port_when_its_first_is_taken(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = boot.free_port()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = iter([taken.getsockname()[1], free])
        monkeypatch.setattr(boot, "free_port", lambda: next(ports))
        with Server.start(data_dir) as server:
            assert server.port == free


def test_finds_room_for_its_socket_under_a_long_name(data_dir: Path) -> None:
    deep = data_dir / ("deep" * 20) / ("down" * 20)
    with Server.start(deep) as server:
        assert not server.socket_dir.is_relative_to(data_dir)
        assert ask(f"host={server.socket_dir} port={server.port} user=postgres", "select 1") == 1
    server.socket_dir.rmdir()


def test_says_what_the_server_said_when_it_does_not_start(data_dir: Path) -> None:
    with pytest.raises(DatabaseUnreachable, match="shared_buffers") as caught:
        Server.start(data_dir, settings={"shared_buffers": "plenty"})
    assert str(data_dir / "postgres.log") in str(caught.value)


def test_begins_again_after_a_half_made_folder(data_dir: Path) -> None:
    half = data_dir / "pgdata.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    with Server.start(data_dir) as server:
        assert ask(server.url, "select 1") == 1


def test_tells_who_it_is(data_dir: Path) -> None:
    with Server.start(data_dir) as server, Server.start(data_dir) as joined:
        assert repr(server).endswith(f", own, data in {data_dir}>")
        assert repr(joined).endswith(f", shared, data in {data_dir}>")
    until_sync(lambda: gone(data_dir))
