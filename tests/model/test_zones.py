from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from koken.errors import DeclarationError
from koken.model import zones


def test_named() -> None:
    assert zones.named("Asia/Tokyo").key == "Asia/Tokyo"


@pytest.mark.parametrize("name", ["", "America", "/etc/passwd", "../UTC", "Nope/Nope", "UTC\0"])
def test_refuses_what_is_no_zone(name: str) -> None:
    with pytest.raises(DeclarationError) as error:
        zones.named(name)
    assert str(error.value).startswith(f"timezone {name!r} is no IANA time zone.")


def test_suggests_the_nearest_name() -> None:
    with pytest.raises(DeclarationError, match="Did you mean 'America/New_York'"):
        zones.named("America/NewYork")


@pytest.mark.parametrize(
    ("zone", "change"),
    [
        ("America/New_York", "2026-11-01T06:00:00+00:00"),
        ("Australia/Lord_Howe", "2026-10-03T15:30:00+00:00"),
        ("Pacific/Apia", "2011-12-30T10:00:00+00:00"),
    ],
)
@pytest.mark.parametrize("lead", [timedelta(seconds=1), timedelta(hours=5, microseconds=7)])
def test_first_change(zone: str, change: str, lead: timedelta) -> None:
    at = datetime.fromisoformat(change)
    there = ZoneInfo(zone)
    assert zones.first_change(there, at - lead, at - lead + zones.DAY) == at
    assert zones.first_change(there, at - lead, at) == at
    assert zones.first_change(there, at, at + zones.DAY) is None
    half = timedelta(seconds=0.5)
    assert zones.first_change(there, at - zones.SECOND, at + half) == at


def test_in_utc_refuses_naive_instants() -> None:
    with pytest.raises(ValueError, match=r"due is naive \(2026-01-01T00:00:00\)"):
        zones.in_utc(datetime(2026, 1, 1), name="due")
    assert zones.in_utc(datetime(2026, 1, 1, tzinfo=UTC), name="due").tzinfo is UTC


def test_tzdata_version_looks_like_one() -> None:
    assert re.fullmatch(r"20\d\d[a-z]+|unknown", zones.tzdata_version())


def test_edition(tmp_path: Path) -> None:
    assert zones.edition(tmp_path) == "unknown"
    (tmp_path / "+VERSION").write_text("2026a\n")
    assert zones.edition(tmp_path) == "2026a"
    (tmp_path / "tzdata.zi").write_text("# version 2026b\n# more\n")
    assert zones.edition(tmp_path) == "2026b"
