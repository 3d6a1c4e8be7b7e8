"""Graphs as text and as SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from datetime import UTC

import pytest

from koken.model.runparts import Children
from koken.model.states import State
from koken.views.drawing import Drawing, draw, summary
from koken.views.drawingfold import TELLING, chains, layers, stems, twins
from koken.views.drawingnet import net_of
from koken.views.drawingstyle import LOOKS
from koken.views.drawingsvg import svg
from koken.views.graph import Edge, Graph, Node
from koken.views.marks import IDLE, Mark, of_step
from tests.support.nights import at

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>",
    "a & b \"c\" 'd' ]]>",
    "\x00\x1b[31m\ufffe\ud800",
    "名前の長い手順" * 9,
    "&lt;",
]


def step(name: str, state: State = State.SUCCEEDED, **rest: object) -> Node:
    mark = of_step(state, None, over=False, cancelling=False)
    return Node(**{"name": name, "state": state, "mark": mark, **rest})  # type: ignore[arg-type]


def graph(nodes: Iterable[Node], *edges: str) -> Graph:
    """Edges are two names with a space between them."""
    pairs = [each.split(" ") for each in edges]
    made = tuple(Edge(source=source, target=target) for source, target in pairs)
    return Graph(title="g", nodes=tuple(nodes), edges=made)


def planned(names: str, *edges: str) -> Graph:
    return graph([Node(name=name) for name in names], *edges)


def text(drawing: Drawing) -> list[str]:
    return ["".join(part for part, _ in line) for line in drawing.lines]


def night() -> Graph:
    nodes = [
        step("files", attempt=1, max_attempts=2),
        step("table", items=Children(made=214, going=0, bad=5), spreads="files"),
        step("size", attempt=1, max_attempts=2),
        step(
            "crunch",
            State.FAILED,
            attempt=2,
            max_attempts=2,
            tried_again=True,
            reason="OSError: full",
        ),
        step("add_up", State.SKIPPED, reason='size is not "small"'),
        step("publish", State.BLOCKED, mark=IDLE, gate="gate 30 4 * * *", until=at(16.5)),
        step("site", State.BLOCKED, mark=IDLE, starts="publish_site"),
    ]
    labels = {("size", "crunch"): 'size is "big"', ("size", "add_up"): 'size is "small"'}
    made = graph(
        nodes, "files table", "table size", "table crunch", "size crunch", "table add_up",
        "size add_up", "crunch publish", "add_up publish", "publish site",
    )  # fmt: skip
    edges = tuple(
        Edge(
            source=edge.source, target=edge.target,
            label=labels.get((edge.source, edge.target), ""), hard=edge.target != "publish",
        )
        for edge in made.edges
    )  # fmt: skip
    return Graph(title="nightly 412", nodes=made.nodes, edges=edges)


def test_a_night() -> None:
    drawing = draw(night(), UTC)
    assert text(drawing) == [
        "✓      files    succeeded",
        "✓      table    succeeded  209/214",
        "├─┬─╮",
        "✓ │ │  size     succeeded",
        "╰─┼─┤",
        "  ✗ │  crunch   failed     2/2      OSError: full",
        '  │ –  add_up   skipped             size is not "small"',
        "  ├─╯",
        "  ·    publish  not begun           not before 04:30 (gate 30 4 * * *)",
        "  ·    site     not begun           starts publish_site",
    ]
    assert (drawing.hidden, drawing.left_out) == ([], 0)
    assert drawing.lines[5][1] == ("✗", "failed")
    assert [part for part, _ in summary(night())] == ["3 ✓", "2 ·", "1 ✗", "1 –"]


def test_a_job() -> None:
    nodes = [
        Node(name="size"),
        Node(name="crunch", max_attempts=2),
        Node(name="each_one", spreads="files"),
        Node(name="late", gate="gate 30 4 * * *", starts="site", when="it rains"),
    ]
    edges = (Edge(source="size", target="crunch", label='size is "big"'),)
    drawing = draw(Graph(title="g", nodes=tuple(nodes), edges=edges))
    assert text(drawing) == [
        "○  size",
        '○  crunch    when size is "big"',
        "",
        "○  each_one  each of files",
        "",
        "○  late      when it rains  starts site  gate 30 4 * * *",
    ]


@pytest.mark.parametrize(
    ("made", "lines"),
    [
        (planned("a"), ["○  a"]),
        (planned("ab", "a b"), ["○  a", "○  b"]),
        (planned("ab"), ["○  a", "", "○  b"]),
        (planned("abcd", "a b", "a c", "b d", "c d"),
         ["○    a", "├─╮", "○ │  b", "│ ○  c", "├─╯", "○    d"]),
        (planned("abc", "a c", "b c"), ["○    a", "│ ○  b", "├─╯", "○    c"]),
        (planned("abcde", "a b", "a c", "a d", "b e", "d e"),
         ["○      a", "├─┬─╮", "○ │ │  b", "│ ○ │  c", "│   ○  d", "├───╯", "○      e"]),
        (planned("abcd", "a b", "a c", "a d", "b d"),
         ["○      a", "├─┬─╮", "○ │ │  b", "╰─│─┤", "  │ ○  d", "  ○    c"]),
    ],
)  # fmt: skip
def test_rails(made: Graph, lines: list[str]) -> None:
    assert text(draw(made)) == lines


def fan(count: int, *bad: int) -> Graph:
    names = [f"resize_{n}" for n in range(count)]
    nodes = [
        step(name, State.FAILED if n in bad else State.SUCCEEDED, reason="x" if n in bad else "")
        for n, name in enumerate(names)
    ]
    edges = [f"split {name}" for name in names] + [f"{name} join" for name in names]
    return graph([step("split"), *nodes, step("join", State.BLOCKED)], *edges)


def test_steps_that_are_alike_are_folded() -> None:
    drawing = draw(fan(100, 50, 60, 70, 80, 90))
    assert text(drawing) == [
        "✓        split                    succeeded",
        "├─┬─┬─╮",
        "✗ │ │ │  … 97 more like resize_0  95 ✓ 2 ✗",
        "│ ✗ │ │  resize_50                failed     x",
        "├─╯ │ │",
        "│   ✗ │  resize_60                failed     x",
        "├───╯ │",
        "│     ✗  resize_70                failed     x",
        "├─────╯",
        "◌        join                     blocked",
    ]
    assert [node.name for node in drawing.hidden] == ["resize_80", "resize_90"]
    many = draw(fan(100, *range(50)))
    assert (len(many.hidden), many.left_out) == (10, 37)


def test_a_long_chain() -> None:
    nodes = [step(f"s{n}", State.RUNNING if n == 500 else State.SUCCEEDED) for n in range(1000)]
    edges = [f"s{n} s{n + 1}" for n in range(999)]
    assert text(draw(graph(nodes, *edges))) == [
        "✓  s0                    succeeded",
        "✓  s1                    succeeded",
        "✓  s2                    succeeded",
        "✓  … 497 more like s3    497 ✓",
        "●  s500                  running",
        "✓  … 496 more like s501  496 ✓",
        "✓  s997                  succeeded",
        "✓  s998                  succeeded",
        "✓  s999                  succeeded",
    ]


def test_folds() -> None:
    """Names with numbers become one; whole layers do; nothing is lost on the way."""
    nodes = [step(f"{stem}_{n}") for stem in ("load", "clean") for n in range(50)]
    edges = [f"load_{n} clean_{m}" for n in range(50) for m in (n, (n * 7 + 1) % 50)]
    made = graph(nodes, *edges)
    net = net_of(made)
    assert list(stems(net, 3).nodes) == ["load × 50", "clean × 50"]
    assert list(layers(net, 1).nodes) == ["50 steps, layer 1", "50 steps, layer 2"]
    assert len(twins(net, 3).nodes) == len(chains(net, 3).nodes) == 100
    assert text(draw(made)) == ["✓  load × 50   50 ✓", "✓  clean × 50  50 ✓"]
    assert [edge.hard for edge in stems(net, 3).edges.values()] == [True]


@pytest.mark.parametrize("made", [fan(10_000, 3)])
def test_ten_thousand_steps(made: Graph) -> None:
    assert len(text(draw(made))) == 10
    assert len(svg(made)) < 30_000


def parse(made: Graph) -> ET.Element:
    return ET.fromstring(svg(made, UTC).encode())


def test_svg() -> None:
    root = parse(night())
    steps = [each for each in root.iter(f"{SVG}g") if "step" in each.get("class", "")]
    told = [(each.get("class"), *[part.text for part in each.iter(f"{SVG}text")]) for each in steps]
    assert told == [
        ("step succeeded", "✓", "files", "succeeded"),
        ("step succeeded", "✓", "table", "succeeded · 209/214"),
        ("step succeeded", "✓", "size", "succeeded"),
        ("step failed", "✗", "crunch", "failed · 2/2"),
        ("step skipped", "–", "add_up", "skipped"),
        ("step idle", "·", "publish", "not begun · not before 04:30 (gate 30 4 * * *)"),
        ("step idle", "·", "site", "not begun · starts publish_site"),
    ]
    titles = [each.text for each in root.iter(f"{SVG}title")]
    assert titles[0] == "nightly 412"
    assert 'size → crunch: size is "big"' in titles
    assert "crunch · failed · 2/2 · OSError: full" in titles
    labels = [each.text for each in root.iter(f"{SVG}text") if each.get("class") == "label"]
    assert labels == ['size is "big"', 'size is "small"']
    kinds = [each.get("class") for each in root.iter(f"{SVG}path") if each.get("class") != "tip"]
    assert (kinds.count("edge"), kinds.count("edge soft")) == (7, 2)


def test_svg_goes_from_left_to_right_and_nothing_lies_on_another() -> None:
    root = parse(night())
    boxes = {}
    for each in root.iter(f"{SVG}g"):
        x, y = map(float, each.get("transform", "")[10:-1].split(" "))
        box = next(rect for rect in each.iter(f"{SVG}rect") if rect.get("class") == "box")
        name = [part.text for part in each.iter(f"{SVG}text")][1]
        boxes[name] = (x, y, x + float(box.get("width", "")), y + float(box.get("height", "")))
    assert boxes["files"][2] < boxes["table"][0] < boxes["size"][0] < boxes["crunch"][0]
    assert boxes["crunch"][0] == boxes["add_up"][0] < boxes["publish"][0]
    over, under = sorted((boxes["crunch"], boxes["add_up"]), key=lambda box: box[1])
    assert over[3] < under[1]
    assert root.get("width") == "100%"
    width, height = map(float, root.get("viewBox", "").split(" ")[2:])
    assert root.get("style") == f"max-width:{width:.0f}px;height:auto"
    assert all(
        x > 0 and right < width and y > 0 and low < height for x, y, right, low in boxes.values()
    )


def test_labels_of_conditions_hide_what_is_below_them() -> None:
    """Each lies on a piece of the page's ground, as wide as it is."""
    parts = list(parse(night()))
    for place, part in enumerate(parts):
        if part.get("class") != "label":
            continue
        below = parts[place - 1]
        assert below.get("class") == "ground"
        left, top = float(below.get("x", "")), float(below.get("y", ""))
        assert left + float(below.get("width", "")) == float(part.get("x", "")) + 3
        assert top < float(part.get("y", "")) < top + float(below.get("height", ""))
        assert not any(other.tag == f"{SVG}path" for other in parts[place:])


def test_a_join_is_named_at_its_step() -> None:
    made = graph([step("a"), Node(name="b", join="any_failed"), Node(name="c")], "a b", "a c")
    assert text(draw(made))[2:] == ["○ │  b             join any_failed", "  ○  c"]
    assert "join any_failed" in svg(made)


def test_a_step_names_the_run_that_it_stands_for() -> None:
    node = step("sub", starts="inner", child="inner 7")
    assert text(draw(graph([node]))) == ["✓  sub  succeeded  → inner 7"]
    assert "→ inner 7" in svg(graph([node]))
    assert "starts" not in svg(graph([node]))


def test_svg_in_light_and_dark() -> None:
    style = parse(night()).find(f"{SVG}style")
    assert style is not None
    assert style.text is not None
    light, _, dark = style.text.partition("@media (prefers-color-scheme:dark)")
    for look, (in_light, in_dark) in LOOKS.items():
        assert f".{look} .box{{stroke:{in_light}}}" in light
        assert f".{look} .box{{stroke:{in_dark}}}" in dark
    assert set(LOOKS) == set(TELLING)


def test_svg_needs_nothing_else() -> None:
    for name, value in (pair for each in parse(night()).iter() for pair in each.attrib.items()):
        assert "href" not in name
        assert "://" not in value
    assert "@import" not in svg(night())
    assert "url(" not in svg(night())


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(name: str) -> None:
    other = f"{name}2"
    node = step(other, State.FAILED, reason=name, gate=name, starts=name, spreads=name, when=name)
    edge = Edge(source=name, target=other, label=name)
    made = Graph(title=name, nodes=(step(name), node), edges=(edge,))
    root = ET.fromstring(svg(made).encode())
    assert {each.tag.removeprefix(SVG) for each in root.iter()} == {
        "svg", "title", "style", "rect", "text", "tspan", "path", "g",
    }  # fmt: skip
    assert len(text(draw(made))) == 2


def test_marks_have_a_look_with_a_colour() -> None:
    marks = [
        of_step(state, None, over=over, cancelling=cancelling)
        for state in (*State, None)
        for over in (False, True)
        for cancelling in (False, True)
    ]
    assert {mark.look for mark in marks} <= set(LOOKS)
    assert all(isinstance(mark, Mark) and mark.glyph and mark.word for mark in marks)
