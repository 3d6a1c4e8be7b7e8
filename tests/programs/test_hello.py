from __future__ import annotations

import io
import urllib.request
from collections.abc import Iterator
from datetime import datetime

import pytest

from koken.testing import TestClient, call
from tests.programs.hello import app, greet


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(app) as client:
        yield client


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that were fetched; each page has as many bytes as its address."""
    asked: list[str] = []

    def urlopen(url: str) -> io.BytesIO:
        asked.append(url)
        return io.BytesIO(url.encode())

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return asked


def test_body_alone(fetched: list[str]) -> None:
    assert call(greet) == 19
    assert call(greet, "https://example.com/") == 20
    assert fetched == ["https://example.org", "https://example.com/"]


def test_goes_at_two_in_tokyo(client: TestClient, fetched: list[str]) -> None:
    client.now = datetime.fromisoformat("2026-03-08T01:59:00+09:00")
    assert client.advance(59) == []
    (run,) = client.advance(1)
    assert (run.state, run.result, run.trigger.kind) == ("succeeded", 19, "schedule")
    assert run.started_at == datetime.fromisoformat("2026-03-08T02:00:00+09:00")
    assert fetched == ["https://example.org"]


def test_is_tried_three_times(client: TestClient, fetched: list[str]) -> None:
    client.failing(greet, OSError("no route to host"), times=3)
    run = client.fast_forward(client.start(greet))
    assert (run.state, run.reason) == ("failed", "OSError: no route to host")
    assert (client.attempts(run), fetched) == (3, [])
