"""A first job."""

from __future__ import annotations

import urllib.request

import koken

app = koken.App("hello")


@app.job(schedule="every day at 2am", timezone="Asia/Tokyo", max_attempts=3)
def greet(url: str = "https://example.org") -> int:
    """Fetch one page. If it fails: nothing depends on it, retry at leisure."""
    return len(urllib.request.urlopen(url).read())
