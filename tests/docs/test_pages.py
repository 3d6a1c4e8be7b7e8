"""The docs say what the code says, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from koken.config import KEEP
from koken.executors import capture
from koken.model import codec
from koken.model.policy import Overlap
from koken.model.states import MOVES, State
from koken.model.timing import DEFAULT, FAST
from tests.docs.states_page import ARROWS, DRAWING, PAGE, rendered

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def words(page: str) -> str:
    """A page's text with single spaces."""
    return " ".join((DOCS / page).read_text(encoding="utf-8").split())


def anchors(page: Path) -> set[str]:
    """What a link into a page may name, as GitHub makes it from headings."""
    found = HEADING.findall(page.read_text(encoding="utf-8"))
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in found)
    return {heading.replace(" ", "-") for heading in plain}


def test_states_page_is_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == rendered()


def test_drawing_has_every_move_and_no_other() -> None:
    drawn = [move for moves in ARROWS.values() for move in moves]
    assert sorted(drawn) == sorted(
        (s, target) for s, targets in MOVES.items() for target in targets
    )
    assert all(f"{state.glyph} {state}" in DRAWING for state in State)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def test_index_has_every_page() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    linked = {(DOCS / link.partition("#")[0]).resolve() for link in LINK.findall(index)}
    decisions = DOCS / "decisions"
    own = {page for page in DOCS.rglob("*.md") if page.parent != decisions or page.stem == "README"}
    assert own - {DOCS / "index.md"} <= linked


def test_guarantees_name_the_times() -> None:
    page = words("concepts/guarantees.md")
    assert f"within **{DEFAULT.takeover:.0f} s** ({FAST.takeover:.0f} s with" in page
    assert f"lease ({DEFAULT.lease:.0f} s), confirmation ({DEFAULT.confirm:.0f} s)" in page
    assert f"({DEFAULT.sweep:.0f} s each)" in page
    assert f"has {FAST.lease:.0f}, {FAST.confirm:.0f} and {FAST.sweep:.0f}." in page
    assert f"after {DEFAULT.stop_after:.0f} s without" in page
    assert f"(fast: {FAST.stop_after:.0f})" in page
    assert f"after {DEFAULT.kill_after:.0f} s (fast: {FAST.kill_after:.0f})" in page
    assert f"Below {DEFAULT.stop_after:.0f} s nobody" in page


def test_guarantees_name_the_limits() -> None:
    page = words("concepts/guarantees.md")
    assert f"at most {capture.LINES_KEPT:,} lines" in page
    assert f"{capture.CHARACTERS_KEPT // 1_000_000} million characters" in page
    assert f"at most {codec.VALUE_LIMIT >> 20} MiB" in page
    days = {name: f"{seconds / 86400:.0f}" for name, seconds in KEEP.items()}
    assert f"(succeeded {days['succeeded']} days, failed {days['failed']})" in page


def test_start_page_has_every_overlap_rule() -> None:
    page = (DOCS / "howto" / "start-jobs.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \| [^|]+\|$", page, flags=re.MULTILINE) == list(Overlap)
