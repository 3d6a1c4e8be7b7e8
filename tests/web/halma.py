"""Halma, a believable company that sells boots by advertising: its program, and its troubles."""

from __future__ import annotations

import koken

app = koken.App("halma")
HOSTILE = "<script>alert(1)</script>"
PICTURE = "<img src=x onerror=alert(2)>"
DRAWING = "<svg onload=alert(3)>"
LINK = "javascript:alert(4)"
ALL_HOSTILE = (HOSTILE, PICTURE, DRAWING, LINK)
"""Texts that must stay texts wherever a page shows them."""
TROUBLE: set[str] = {"halma-fr", "wien"}
"""What is out of order: a shop, an account, a day."""
