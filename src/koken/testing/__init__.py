"""For the tests of programs: the public part of this package."""

from __future__ import annotations

from koken.testing.alone import call
from koken.testing.client import TestClient

__all__ = ["TestClient", "call"]
