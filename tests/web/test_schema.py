"""The published description against the API itself: requests made from it, by the hundred.

Whatever is sent, no answer may be a 500, and each must be one that the description knows, with the
content type and the shape that it says.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from koken import Job
from koken.app import App
from koken.engine.tokens import make
from koken.model.rights import Right
from tests.web.browser.conftest import Site, served

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = 12
"""Requests to each route."""
ENDLESS = "/stream"
"""Answers that do not end."""


async def furnish(site: Site) -> str:
    """Runs to ask about, and a token that may do everything."""
    client = site.house.client
    for job in ("greet", "nightly", "broken"):
        run = await client.start(Job(job))
        if job != "nightly":
            await client.wait(run, timeout=20)
    made = await make(site.house.db, "schema", list(Right), by="test")
    return made.token


def test_requests_made_from_the_description(
    shop: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # it leaves notes where it runs
    with served(shop) as site:
        token = site.call(furnish(site))
        headers = {"Authorization": f"Bearer {token}"}
        schema = schemathesis.openapi.from_url(
            f"{site.address}/api/v1/openapi.json", headers=headers
        )
        asked: Counter[str] = Counter()
        for found in schema.get_all_operations():
            operation = found.ok()
            if operation.path.endswith(ENDLESS):
                continue

            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                database=None,
                derandomize=True,
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy())
            def ask(case: schemathesis.Case) -> None:
                case.call_and_validate(headers=headers, checks=CHECKS)
                asked[case.method] += 1

            ask()
    assert asked["GET"] > 100
    assert asked["POST"] > 100
