"""Programs that fork with a client at hand, as servers with ``preload`` do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("forking.py")


def test_a_client_serves_parent_and_child(database_url: str) -> None:
    """The child has connections of its own, and leaves its parent's alone, also at its end."""
    words = [sys.executable, "-W", "ignore::DeprecationWarning", str(PROGRAM), database_url]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
    said = json.loads(ended.stdout)
    assert said["child"][:2] == [1, 2]
    assert said["after"] == said["before"]
    assert not set(said["child"][2:]) & set(said["before"])
