"""Forms of pages as tests fill them."""

from __future__ import annotations

import html
import re


def hidden(source: str, name: str) -> str:
    """The value of a hidden field of a page."""
    found = re.search(rf'name="{name}" value="([^"]*)"', source)
    assert found, f"no field {name}"
    return html.unescape(found[1])
