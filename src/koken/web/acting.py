"""What people do to runs through the doors: which right each verb takes."""

from __future__ import annotations

from collections.abc import Mapping

from koken.model.rights import Right

RIGHT_OF: Mapping[str, Right] = {
    "cancel": Right.OPERATE,
    "retry": Right.OPERATE,
    "skip": Right.OPERATE,
    "resolve": Right.OPERATE,
    "mark": Right.OPERATE,
    "rerun": Right.OPERATE,
    "fork": Right.OPERATE,
    "acknowledge": Right.OPERATE,
    "answer": Right.START,
    "signal": Right.START,
}
"""Verb → the right that it takes where the run is."""
