"""Pages as tests read them: text, links and forms of HTML."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

INLINE = {"a", "abbr", "code", "em", "kbd", "span", "strong", "time"}


@dataclass(slots=True)
class Form:
    """A form, with the values it has."""

    action: str
    values: dict[str, str] = field(default_factory=dict)


class Page(HTMLParser):
    """What stands in the ``main`` of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.tags: list[str] = []
        self.links: dict[str, str] = {}
        """Words of a link → where it leads."""
        self.forms: dict[str, Form] = {}
        """By their addresses."""
        self.rows: list[str] = []
        self.words: list[str] = []
        self.link: tuple[str, list[str]] | None = None
        self.form: Form | None = None
        self.row: list[str] | None = None
        self.feed(main(source))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Links, forms, rows."""
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        if tag == "a":
            self.link = (given.get("href", ""), [])
        elif tag == "form":
            self.form = Form(given.get("action", ""))
            self.forms[self.form.action] = self.form
        elif tag == "input" and self.form is not None and "name" in given:
            self.form.values[given["name"]] = given.get("value", "")
        elif tag == "tr":
            self.row = []

    def handle_endtag(self, tag: str) -> None:
        """The end of these."""
        if tag not in INLINE:
            self.handle_data(" ")
        if tag == "a" and self.link is not None:
            self.links[joined(self.link[1])] = self.link[0]
            self.link = None
        elif tag == "form":
            self.form = None
        elif tag == "tr" and self.row is not None:
            self.rows.append(joined(self.row))
            self.row = None

    def handle_data(self, data: str) -> None:
        """Text."""
        self.words.append(data)
        if self.link is not None:
            self.link[1].append(data)
        if self.row is not None:
            self.row.append(data)

    @property
    def text(self) -> str:
        """All of it, in one line."""
        return joined(self.words)

    @property
    def sentence(self) -> str:
        """The line with which the page begins."""
        found = re.search(r'<h1 class="sentence">(.*?)</h1>', self.source, re.DOTALL)
        assert found, "the page has no sentence"
        return joined([html.unescape(re.sub(r"<[^>]*>", "", found[1]))])


def main(source: str) -> str:
    """The part of a page that is its own."""
    found = re.search(r"<main\b.*?</main>", source, re.DOTALL)
    assert found, f"no page: {source[:200]}"
    return found[0]


def joined(words: list[str]) -> str:
    """In one line."""
    return " ".join("".join(words).split())
