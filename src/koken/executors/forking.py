"""A process that forks keepers in a moment, where a new interpreter would take long.

``main`` is what runs for commands; it imports the standard library only, see ``keeper``.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

from koken.executors import table
from koken.executors.keeper import Keeper, Order, Start, Unstarted


def main() -> None:
    """Fork keepers of commands; the argument is the number of the line."""
    serve(socket.socket(fileno=int(sys.argv[1])), command)


def command(order: Order, _: list[int], __: int) -> None:
    """Becomes the program that ``order`` names; the last descriptor closes by itself then."""
    try:
        if order["cwd"] is not None:
            os.chdir(order["cwd"])
    except OSError as error:
        raise Unstarted("cwd", error.errno or 0) from None
    try:
        table.limit(order["memory"])
        os.execvpe(order["argv"][0], order["argv"], order["env"])
    except OSError as error:
        raise Unstarted("exec", error.errno or 0) from None


def serve(line: socket.socket, start: Start) -> None:
    """Fork a keeper for each set of descriptors that comes: control, stdout, stderr, others.

    Returns when the line ends. The worker's death ends this process at once.
    """
    table.be_deaf()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    table.die_with_parent()
    line.sendall(b"ready\n")
    while True:
        data, descriptors, _, _ = socket.recv_fds(line, 1, 8)
        if not data:
            return
        fork_keeper(line, start, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def fork_keeper(line: socket.socket, start: Start, descriptors: list[int]) -> None:
    """Fork a keeper; when that cannot be, its worker is told."""
    try:
        child = os.fork()
    except OSError as error:
        os.write(descriptors[0], json.dumps({"failed": error.errno, "where": "fork"}).encode())
        return
    if child:
        return
    try:
        line.close()
        control, out, err, *extra = descriptors
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.close(out)
        os.close(err)
        Keeper(socket.socket(fileno=control)).keep(start, extra)
    finally:
        os._exit(0)
