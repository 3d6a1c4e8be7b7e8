"""PgBouncer before a server, as many installations have it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import pytest

from koken.embedded.account import account_for
from koken.embedded.boot import free_port
from koken.embedded.guardian import Guarded
from tests.support.moments import until_sync
from tests.support.postgres import scratch_directory

INI = """
[databases]
* = host={host} port={port} user={user}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen_port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
max_client_conn = 200
default_pool_size = {size}
ignore_startup_parameters = extra_float_digits
pidfile = {directory}/pid
"""


@contextmanager
def pgbouncer(server_url: str, mode: str = "transaction", size: int = 20) -> Iterator[str]:
    """The same address through a PgBouncer with so many connections to the server.

    ``mode`` is its ``pool_mode``. The test is skipped where there is none to run; not so in
    continuous integration, which installs it.
    """
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("pgbouncer is missing: .ci/run installs it")
        pytest.skip("pgbouncer is not installed (on Debian: apt install pgbouncer)")
    with scratch_directory() as directory:
        account = account_for(directory / "none yet")
        account.give(directory)
        port = free_port()
        ini = directory / "pgbouncer.ini"
        ini.write_text(
            settings(server_url, directory=directory, listen_port=port, mode=mode, size=size)
        )
        log = directory / "log"
        child = Guarded([program, str(ini)], account=account, log=log, pid_file=directory / "pid")
        try:
            until_sync(lambda: child.ended or listens(port))
            assert not child.ended, log.read_text()
            yield through(server_url, port)
        finally:
            child.stop(signal.SIGINT, patience=10)


def settings(server_url: str, **places: object) -> str:
    """The configuration: every database of the server, as its user."""
    server = urlsplit(server_url)
    return INI.format(
        host=server.hostname,
        port=server.port or 5432,
        user=server.username or "postgres",
        **places,
    )


def through(server_url: str, port: int) -> str:
    """The address by way of another port on this machine."""
    server = urlsplit(server_url)
    return urlunsplit(server._replace(netloc=f"{server.username or 'postgres'}@127.0.0.1:{port}"))


def listens(port: int) -> bool:
    """Whether somebody accepts connections there."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
