from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import httpx
from starlette.datastructures import QueryParams

from koken.views.drawingstyle import LOOKS, sheet
from koken.views.drawingsvg import part
from koken.views.graph import Edge, Graph, Node
from koken.views.marks import Mark
from koken.web.console.application import STATIC
from koken.web.console.rungraph import pictured
from koken.web.house import House
from tests.web.console.mill import HOSTILE
from tests.web.console.test_run_page import ended, page

Mill = tuple[House, httpx.AsyncClient]
DONE, FAILED = Mark("✓", "succeeded", "succeeded"), Mark("✗", "failed", "failed")


def many(number: int) -> Graph:
    steps = [Node(name=f"resize_{no}", mark=DONE, run_id=no + 2) for no in range(number)]
    steps[41] = replace(steps[41], mark=FAILED)
    nodes = (Node(name="files", mark=DONE, run_id=1), *steps)
    edges = tuple(Edge(source="files", target=node.name) for node in steps)
    return Graph(title="thumbnails 1", nodes=nodes, edges=edges)


def drawn(graph: Graph) -> ET.Element:
    def leads(node: Node) -> str:
        return f"?unfold={node.name}" if node.tally else f"?step={node.name}"

    return ET.fromstring(part(graph, leads=leads))


def names(picture: ET.Element) -> list[str]:
    return [each.text or "" for each in picture.iter() if each.get("class") == "name"]


def test_the_rules_are_those_of_pictures_within_their_scope() -> None:
    text = (STATIC / "graph.css").read_text()
    assert text == sheet(".graph").lstrip()
    for look, (light, dark) in LOOKS.items():
        assert f".graph .{look} .box{{stroke:{light}}}" in text
        assert f".graph .{look} .box{{stroke:{dark}}}" in text
    rules = [rule for rule in re.findall(r"([^{}]+)\{[a-z-]+:", text) if "%" not in rule]
    assert [rule for rule in rules if not rule.strip().startswith(".graph ")] == []


def test_a_part_of_a_page_has_no_style_of_its_own() -> None:
    hostile = Graph(title=HOSTILE, nodes=(Node(name=HOSTILE, mark=DONE, run_id=1),), edges=())
    picture = drawn(hostile)
    assert {each.tag for each in picture.iter()} == {"svg", "a", "g", "title", "rect", "text"}
    assert [each for each in picture.iter() if "style" in each.attrib] == []
    assert picture.get("aria-label") == HOSTILE
    assert picture[0].get("href") == f"?step={HOSTILE}"


def test_a_thousand_steps_fold_and_unfold() -> None:
    graph = many(1000)
    folded = names(drawn(graph))
    group = "… 988 more like resize_11"
    assert folded == ["files", *(f"resize_{no}" for no in range(11)), group, "resize_41"]
    whole = names(drawn(replace(graph, unfolded=frozenset({group}))))
    assert len(whole) == 1001


def test_chains_fold_to_what_a_window_shows_and_unfold_one_by_one() -> None:
    nodes = [
        Node(name=f"c{row}_{no}", mark=DONE, run_id=1) for row in range(10) for no in range(30)
    ]
    nodes[4 * 30 + 12] = replace(nodes[4 * 30 + 12], mark=FAILED)
    edges = tuple(
        Edge(source=f"c{row}_{no}", target=f"c{row}_{no + 1}")
        for row in range(10)
        for no in range(29)
    )
    graph = Graph(title="chains 1", nodes=tuple(nodes), edges=edges)
    found = pictured(graph, "/runs/1", QueryParams(""), lambda node: f"?step={node.name}")
    assert (found.steps, len(found.folded), sum(found.folded)) == (300, 11, 259)
    shown = names(ET.fromstring(found.svg))
    assert shown[:5] == ["c0_0", "c0_1", "… 26 more like c0_2", "c0_28", "c0_29"]
    assert "c4_12" in shown
    params = QueryParams({"unfold": "… 26 more like c0_2"})
    whole = pictured(graph, "/runs/1", params, lambda node: f"?step={node.name}")
    assert (len(whole.folded), sum(whole.folded)) == (10, 233)
    assert "c0_17" in names(ET.fromstring(whole.svg))
    assert whole.fold == "/runs/1?#graph"


async def test_steps_of_a_page_lead_to_themselves(mill_house: Mill) -> None:
    house, http = mill_house
    run = await ended(house, "daily-report")
    found = await page(http, f"/runs/{run.id}")
    to_load = f'<a href="/runs/{run.id}?step=load&amp;tab=log"><g class="step failed"'
    assert to_load in found.source
    assert "style=" not in found.source
    step = await page(http, f"/runs/{run.id}?step=extract&tab=log")
    assert "Log of step extract" in step.text
