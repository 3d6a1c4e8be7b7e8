"""What stands in a field of a form, and the reason that is kept."""

from __future__ import annotations

import io
import re

import pytest
from starlette.datastructures import UploadFile

from koken.errors import InvalidArguments
from koken.web.console import forms, pages
from koken.web.console.jobs import toggled


def test_a_text_is_taken_as_it_is_and_a_file_is_refused() -> None:
    assert forms.text({"a": "one\r\ntwo "}, "a") == "one\ntwo "
    assert forms.text({}, "a") == ""
    with pytest.raises(InvalidArguments, match=r"^a is a file; write a text\. Nothing was done$"):
        forms.text({"a": UploadFile(io.BytesIO(b"one"))}, "a")


def test_a_reason_is_kept_whole_or_refused() -> None:
    assert forms.reason({"reason": "  stuck since noon \r\n"}) == "stuck since noon"
    assert forms.reason({"reason": " "}) is None
    assert forms.reason({"reason": "x" * 2000}) == "x" * 2000
    with pytest.raises(InvalidArguments) as caught:
        forms.reason({"reason": "x" * 2001})
    assert str(caught.value) == (
        "the reason has 2,001 characters; it may have 2,000. Nothing was done"
    )


def test_every_field_for_a_reason_takes_as_much() -> None:
    found = [
        field
        for file in sorted(pages.TEMPLATES.glob("*.html"))
        for field in re.findall(r'<input[^>]* name="reason"[^>]*>', file.read_text())
    ]
    assert len(found) == 3
    assert [field for field in found if 'maxlength="2000"' not in field] == []


def test_every_form_that_changes_something_is_known_when_it_is_pressed_twice() -> None:
    """But for those that say what shall be, whether it is so or not; and a start has its own."""
    found = {
        f"{file.name} {form[1]}"
        for file in sorted(pages.TEMPLATES.glob("*.html"))
        for form in re.finditer(
            r'<form method="post" action="([^"]*)".*?</form>', file.read_text(), re.DOTALL
        )
        if "{{ once() }}" not in form[0] and 'name="once"' not in form[0]
    }
    assert found == {
        "account.html /account/password",
        "account.html /account/sessions",
        "base.html /sign-out",
        "jobparts.html /jobs/{{ name }}/star",
        "signin.html /sign-in",
        "signin.html /sign-out",
    }


@pytest.mark.parametrize(
    ("query", "word", "value", "expected"),
    [
        ("tag:abc", "tag", "a", "tag:abc tag:a"),
        ("tag:a tag:abc", "tag", "a", "tag:abc"),
        ('tag:"a b" report', "tag", "a b", "report"),
        ('tag:"a b"', "tag", "a", 'tag:"a b" tag:a'),
        ("state:failing report", "state", "late", "report state:late"),
    ],
)
def test_a_word_is_put_into_a_query_or_taken_out_whole(
    query: str, word: str, value: str, expected: str
) -> None:
    assert toggled(query, word, value) == expected
