"""What a service says of itself: one line a record on stderr, with the time in UTC.

2026-11-30T18:02:50.123Z INFO koken.worker: worker 3 (web-1-77) serves default:50
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from koken.executors.capture import outside


class Lines(logging.Formatter):
    """Plain lines; what is below the first line of a traceback is indented."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as a line."""
        text = super().format(record).replace("\n", "\n    ")
        return f"{instant(record)} {record.levelname} {record.name}: {text}"


class Objects(logging.Formatter):
    """A JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as JSON."""
        plain = {
            "at": instant(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "text": record.getMessage(),
        }
        if record.exc_info:
            plain["traceback"] = self.formatException(record.exc_info)
        return json.dumps(plain, ensure_ascii=False)


def instant(record: logging.LogRecord) -> str:
    """When a record was made."""
    at = datetime.fromtimestamp(record.created, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


def begin(*, as_json: bool, level: int = logging.INFO) -> None:
    """Send the log of this process to stderr; what bodies log goes into their runs' logs."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Objects() if as_json else Lines())
    handler.addFilter(outside)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level)
