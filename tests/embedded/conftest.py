from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from koken.embedded.binaries import Binaries, installed
from tests.embedded.holder import Person, myself, somebody
from tests.support.postgres import scratch_directory

FOUND = installed()
PEOPLE = ("myself", "somebody") if os.geteuid() == 0 else ("myself",)


@pytest.fixture(params=FOUND, ids=[f"postgres-{found.version}" for found in FOUND])
def binaries(request: pytest.FixtureRequest) -> Binaries:
    """Each PostgreSQL that this machine has."""
    found: Binaries = request.param
    return found


@pytest.fixture(params=PEOPLE)
def person(request: pytest.FixtureRequest) -> Iterator[Person]:
    """Whoever runs the tests and, where that is root, a user without rights."""
    if request.param == "myself":
        yield myself()
        return
    with somebody() as person:
        yield person


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data folder yet to be made."""
    with scratch_directory() as directory:
        directory.chmod(0o777)
        yield directory / "data"
