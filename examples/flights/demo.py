"""``make demo``: the daily delay report from beginning to end, with all that it needs.

On a terminal it goes on until Ctrl-C; elsewhere it ends once a run has been healed by its retry.
It exits with 0 when that was shown, with 130 when it was interrupted before, with 1 when
something went wrong. Nothing is left running in any case.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path

INTERRUPTED = 130
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    """The demo; returns its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing runs yet: Ctrl-C may simply end us
    parser = argparse.ArgumentParser(prog="python -m examples.flights.demo", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(".koken/demo"), help="for its files")
    folder = parser.parse_args().folder
    for name in [name for name in os.environ if name.startswith("KOKEN_")]:
        del os.environ[name]  # the demo brings its own settings
    return asyncio.run(perform(folder))


async def perform(folder: Path) -> int:
    """The show, until its end or the first signal."""
    from examples.flights.screen import Screen  # noqa: PLC0415  # slow to load: see main
    from examples.flights.show import Show, ShowFailed  # noqa: PLC0415  # as above
    from koken.errors import KokenError  # noqa: PLC0415  # as above

    with Screen().on() as screen:
        show = Show(screen, folder, encore=screen.terminal)
        playing = asyncio.ensure_future(show.play())
        for ending in ENDINGS:
            asyncio.get_running_loop().add_signal_handler(ending, end, playing)
        try:
            await playing
        except asyncio.CancelledError:
            screen.say()
            screen.say("Ended; nothing is left running.")
            return 0 if show.healed else INTERRUPTED
        except (ShowFailed, KokenError) as error:
            screen.say()
            screen.say(f"The demo ends here: {error}")
            return 1
        return 0


def end(playing: asyncio.Task[None]) -> None:
    """Begin to tidy up; asking again neither hurries that nor breaks it off."""
    if not playing.cancelling():
        playing.cancel()


if __name__ == "__main__":
    sys.exit(main())
