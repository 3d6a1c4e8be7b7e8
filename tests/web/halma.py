"""Halma, a believable company that sells boots by advertising: its program, and its troubles."""

from __future__ import annotations

import koken

app = koken.App("halma")
HOSTILE = "<script>alert(1)</script>"
TROUBLE: set[str] = {"halma-fr", "wien"}
"""What is out of order: a shop, an account, a day."""
