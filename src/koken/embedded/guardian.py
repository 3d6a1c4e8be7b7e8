"""A child process that does not outlive this one, however this one ends.

Linux sends the child a signal when its parent dies (``setpriv --pdeathsig``). It means the
parent's *thread*, so a thread of its own starts the child and waits for it. Where ``setpriv`` is
missing, a small shell waits for the end of a pipe that this process holds open.
"""

from __future__ import annotations

import functools
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread

from koken.embedded.account import Account, plain_environment

# The end of standard input is the end of the parent. A number alone could by then be another's.
WATCHDOG = """
read -r _
[ "$(head -n 1 "$2" 2>/dev/null)" = "$1" ] && kill -INT "$1"
"""


class Guarded:
    """A running child; ``pid_file`` holds its number in the first line while it runs."""

    def __init__(
        self, command: Sequence[str], *, account: Account, log: Path, pid_file: Path
    ) -> None:
        self.account = account
        self.log = log
        self.command = [*death_signal(), *command]
        self.launched = Event()
        self.failure: OSError | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.keeper = Thread(target=self.keep, name="koken-postgres", daemon=True)
        self.keeper.start()
        self.launched.wait()
        if self.failure:
            raise self.failure
        self.watchdog = None if death_signal() else watch(self.pid, pid_file)

    @property
    def pid(self) -> int:
        """The child's number."""
        assert self.process is not None
        return self.process.pid

    @property
    def ended(self) -> bool:
        """Whether the child has ended."""
        return not self.keeper.is_alive()

    def keep(self) -> None:
        """The thread's work: start the child, wait for its end."""
        try:
            with self.log.open("ab") as log:
                self.process = self.launch(log.fileno())
        except OSError as error:
            self.failure = error
            return
        finally:
            self.launched.set()
        self.process.wait()

    def launch(self, log: int) -> subprocess.Popen[bytes]:
        """Start the child in a session of its own: Ctrl-C is for the program, not its database."""
        return subprocess.Popen(
            self.command,
            user=self.account.uid,
            group=self.account.gid,
            extra_groups=self.account.groups,
            cwd="/",
            env=plain_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def stop(self, first: signal.Signals, patience: float) -> None:
        """Signal the child until it has ended, with more force each time."""
        for force in (first, signal.SIGQUIT, signal.SIGKILL):
            if not self.ended and self.process is not None:
                self.process.send_signal(force)
                self.keeper.join(patience)
        if self.watchdog is not None:
            self.watchdog.communicate()
            self.watchdog = None


@functools.cache
def death_signal() -> tuple[str, ...]:
    """The words before a command that bind it to its parent's life; none where they do not work."""
    setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
    if setpriv is None:
        return ()
    words = (setpriv, "--pdeathsig", "INT")
    tried = subprocess.run([*words, "true"], check=False, capture_output=True)
    return words if tried.returncode == 0 else ()


def watch(pid: int, pid_file: Path) -> subprocess.Popen[bytes]:
    """A shell that stops the process when this one is gone."""
    return subprocess.Popen(
        ["/bin/sh", "-c", WATCHDOG, "koken-watchdog", str(pid), str(pid_file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
