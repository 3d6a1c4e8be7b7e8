"""Settings: where they come from, what is refused, and that the page names them all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from koken.config import ENVIRONMENT, READERS, WEB_ENVIRONMENT, Config, load
from koken.errors import DeclarationError
from koken.model.timing import FAST
from koken.model.web import READERS as WEB_READERS

PAGE = Path("docs/reference/settings.md").read_text(encoding="utf-8")
EXAMPLE = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0]


def test_the_page_names_every_setting_and_no_other() -> None:
    whole, _, doors = PAGE.partition("\n## web\n")
    for text, readers, environment in (
        (whole, READERS, ENVIRONMENT),
        (doors, WEB_READERS, WEB_ENVIRONMENT),
    ):
        rows = re.findall(r"^\| `(\w+)` \| (?:`(\w+)`|see below)? ?\|", text, re.MULTILINE)
        assert [key for key, _ in rows] == list(readers)
        assert {variable: key for key, variable in rows if variable} == environment


def test_the_example_of_the_page_is_read(tmp_path: Path) -> None:
    (tmp_path / "koken.toml").write_text(EXAMPLE)
    config = load(environment={}, folder=tmp_path)
    assert config.app == "flights.jobs:app"
    assert config.modules == ("flights.jobs", "flights.imports")
    assert (config.queues, config.grace) == ({"reports": 4, "default": 50}, 300.0)
    assert config.limits == {"google": {"limit": 4, "rate": 10.0}}
    assert config.keep["failed"] == 180 * 86400
    assert config.keep["ticks"] == 90 * 86400


def test_the_later_source_wins(tmp_path: Path) -> None:
    (tmp_path / "koken.toml").write_text('schema = "file"\nworkspace = "file"\napp = "a:b"')
    environment = {"KOKEN_SCHEMA": "environment", "KOKEN_WORKSPACE": "environment"}
    config = load({"schema": "argument"}, environment=environment, folder=tmp_path)
    assert (config.schema, config.workspace, config.app) == ("argument", "environment", "a:b")


def test_pyproject_serves_where_there_is_no_own_file(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.koken]\ntiming = "fast"')
    assert load(environment={}, folder=tmp_path).timing == FAST


def test_nothing_given_is_the_default(tmp_path: Path) -> None:
    assert load(environment={}, folder=tmp_path) == Config()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('databse_url = "x"', "there is no setting 'databse_url'. Did you mean 'database_url'"),
        ("worker = {queues = {a = 0}}", "worker: queue a has 0 slots; slots count from 1"),
        ("worker = {queues = {a = 100001}}", "slots count from 1 to 100000"),
        ("worker = {slots = 4}", "there is no worker setting 'slots'"),
        ('timing = "slow"', "timing: 'slow' is no profile; there are default, fast"),
        ("timing = {lease = 51}", "kill_after"),
        ('keep = {done = "1d"}', "keep: nothing is called 'done'"),
        ('keep = {failed = "soon"}', "failed is 'soon'; write it as '90s'"),
        ('queues.g = {rate = "ten"}', "rate is 'ten'; write it as 10/s"),
        ("queues.g = {rate = inf}", "rate is inf; it is more than 0 and at most 1000000/s"),
        ("queues.g = {limit = -1}", "queue g: limit is -1; it is a whole number from 0"),
        ("queues.g = {limit = 4294967296}", "limit is 4294967296; it is a whole number from 0"),
        ("queues.g = {burst = 0}", "queue g: burst is 0; it is a whole number from 1"),
        ("queues.g = {speed = 3}", "queue g has no 'speed'"),
        ("schema = 3", "schema: 3 is no text"),
        ('pooled = "maybe"', "pooled: 'maybe' is neither true nor false"),
        ("not toml", "koken.toml is no TOML"),
    ],
)
def test_bad_settings_are_refused_with_file_and_key(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "koken.toml").write_text(text)
    with pytest.raises(DeclarationError) as caught:
        load(environment={}, folder=tmp_path)
    assert message in str(caught.value)
